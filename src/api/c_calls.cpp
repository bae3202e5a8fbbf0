// The C ABI: calls of a kernel.
#include <algorithm>
#include <memory>

#include "api/arguments.h"
#include "api/c_guard.h"
#include "api/enumerators.h"

namespace {

using lanefold::ConstTensor;
using lanefold::Tensor;
using lanefold::api::enumerator;
using lanefold::api::guarded;
using lanefold::api::need;

/// A report with what its pointers point to.
struct WholeReport : lanefold_report {
  lanefold::CheckReport found;
  std::vector<lanefold_output_check> checks;
  std::vector<const lanefold_output_check*> pointers;
};

template <class Elements, class View>
Elements tensor(const View& view) {
  static_assert(sizeof(view.shape) == sizeof(Elements::shape) && sizeof(view.strides) == sizeof(Elements::strides));
  Elements result;
  result.data = view.data;
  result.type = enumerator<lanefold::Type>(view.type);
  result.rank = view.rank;
  std::copy(std::begin(view.shape), std::end(view.shape), result.shape.begin());
  std::copy(std::begin(view.strides), std::end(view.strides), result.strides.begin());
  return result;
}

/// The arguments of a positional call, without an allocation.
struct Arguments {
  lanefold::api::FixedList<ConstTensor, lanefold::ir::kMaxNames> inputs;
  lanefold::api::FixedList<Tensor, lanefold::ir::kMaxNames> outputs;

  Arguments(const lanefold_kernel* kernel, const lanefold_const_view* in, uint64_t input_count,
            const lanefold_view* out, uint64_t output_count) {
    need(kernel, "kernel");
    if (input_count > 0) need(in, "inputs");
    if (output_count > 0) need(out, "outputs");
    // Before any is read: the list has room for as many as a kernel may have.
    lanefold::api::check_counts(kernel->kernel.name(), {input_count, output_count},
                                {kernel->inputs.size(), kernel->outputs.size()});
    for (uint64_t i = 0; i < input_count; ++i) inputs.push_back(tensor<ConstTensor>(in[i]));
    for (uint64_t i = 0; i < output_count; ++i) outputs.push_back(tensor<Tensor>(out[i]));
  }
};

std::span<const float> parameter_span(const float* parameters, uint64_t count) {
  if (count > 0) need(parameters, "parameters");
  return {parameters, static_cast<std::size_t>(count)};
}

}  // namespace

int32_t lanefold_run(const lanefold_kernel* kernel, const lanefold_const_view* inputs, uint64_t input_count,
                     const lanefold_view* outputs, uint64_t output_count, const float* parameters,
                     uint64_t parameter_count, lanefold_error** error) {
  return guarded(error, [&] {
    const Arguments arguments(kernel, inputs, input_count, outputs, output_count);
    kernel->kernel.run(arguments.inputs.span(), arguments.outputs.span(), parameter_span(parameters, parameter_count));
  });
}

int32_t lanefold_run_on_stream(const lanefold_kernel* kernel, const lanefold_const_view* inputs, uint64_t input_count,
                               const lanefold_view* outputs, uint64_t output_count, const float* parameters,
                               uint64_t parameter_count, void* stream, lanefold_error** error) {
  return guarded(error, [&] {
    const Arguments arguments(kernel, inputs, input_count, outputs, output_count);
    kernel->kernel.run(arguments.inputs.span(), arguments.outputs.span(), parameter_span(parameters, parameter_count),
                       lanefold::Stream{stream});
  });
}

int32_t lanefold_run_named(const lanefold_kernel* kernel, const lanefold_named_input* inputs, uint64_t input_count,
                           const lanefold_named_output* outputs, uint64_t output_count,
                           const lanefold_named_parameter* parameters, uint64_t parameter_count,
                           lanefold_error** error) {
  return guarded(error, [&] {
    need(kernel, "kernel");
    if (input_count > 0) need(inputs, "inputs");
    if (output_count > 0) need(outputs, "outputs");
    if (parameter_count > 0) need(parameters, "parameters");
    std::vector<lanefold::NamedInput> named_inputs;
    std::vector<lanefold::NamedOutput> named_outputs;
    std::vector<lanefold::NamedParameter> named_parameters;
    for (uint64_t i = 0; i < input_count; ++i) {
      need(inputs[i].name, "inputs.name");
      named_inputs.push_back({inputs[i].name, tensor<ConstTensor>(inputs[i].view)});
    }
    for (uint64_t i = 0; i < output_count; ++i) {
      need(outputs[i].name, "outputs.name");
      named_outputs.push_back({outputs[i].name, tensor<Tensor>(outputs[i].view)});
    }
    for (uint64_t i = 0; i < parameter_count; ++i) {
      need(parameters[i].name, "parameters.name");
      named_parameters.push_back({parameters[i].name, parameters[i].value});
    }
    kernel->kernel.run(named_inputs, named_outputs, named_parameters);
  });
}

int32_t lanefold_prepare(const lanefold_kernel* kernel, const lanefold_const_view* inputs, uint64_t input_count,
                         const lanefold_view* outputs, uint64_t output_count, lanefold_error** error) {
  return guarded(error, [&] {
    const Arguments arguments(kernel, inputs, input_count, outputs, output_count);
    kernel->kernel.prepare(arguments.inputs.span(), arguments.outputs.span());
  });
}

int32_t lanefold_check(const lanefold_kernel* kernel, const lanefold_const_view* inputs, uint64_t input_count,
                       const lanefold_view* outputs, uint64_t output_count, const float* parameters,
                       uint64_t parameter_count, lanefold_report** report, lanefold_error** error) {
  if (report) *report = nullptr;
  return guarded(error, [&] {
    need(report, "report");
    const Arguments arguments(kernel, inputs, input_count, outputs, output_count);
    auto whole = std::make_unique<WholeReport>();
    whole->found = kernel->kernel.check(arguments.inputs.span(), arguments.outputs.span(),
                                        parameter_span(parameters, parameter_count));
    for (const lanefold::OutputCheck& check : whole->found.outputs)
      whole->checks.push_back({check.name.c_str(), check.elements, check.wrong, check.max_error, check.first_row,
                               check.first_column, check.got, check.expected, check.first_place});
    for (const lanefold_output_check& check : whole->checks) whole->pointers.push_back(&check);
    static_cast<lanefold_report&>(*whole) = {whole->found.ok() ? 1 : 0, 0, whole->pointers.size(),
                                             whole->pointers.data()};
    *report = whole.release();
  });
}

void lanefold_report_free(lanefold_report* report) { delete static_cast<WholeReport*>(report); }
