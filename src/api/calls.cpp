// Calls of a kernel: on matrices, on tensors, by name.
#include <algorithm>

#include <fmt/format.h>

#include "api/failure.h"
#include "api/kernel.h"
#include "api/launches.h"
#include "api/names.h"
#include "driver/call_check.h"
#include "ir/parameters.h"
#include "ir/stages.h"
#include "legality/legality.h"
#include "verify/check.h"
#include "verify/staged_device.h"

namespace lanefold {
namespace {

using api::fail;

/// The arrays of a call as one array per port of the program.
template <class Array, class List>
class Ports {
 public:
  template <class Output>
  Ports(const ir::Program& program, const api::Signature& signature, std::span<const Array> inputs,
        std::span<const Output> outputs) {
    api::check_counts(program.name, {inputs.size(), outputs.size()},
                      {signature.inputs.size(), signature.outputs.size()});
    List read;
    for (const Output& output : outputs) read.push_back(output);
    if (signature.plain) {
      outputs_ = read;
      given_ = inputs;
      return;
    }
    api::take_apart(signature.inputs, inputs, inputs_);
    api::take_apart(signature.outputs, read.span(), outputs_);
    given_ = inputs_.span();
  }
  Ports(const Ports&) = delete;
  Ports& operator=(const Ports&) = delete;

  std::span<const Array> inputs() const { return given_; }
  std::span<const Array> outputs() const { return outputs_.span(); }

 private:
  List inputs_, outputs_;
  std::span<const Array> given_;
};
using MatrixPorts = Ports<ConstMatrix, api::MatrixList>;
using TensorPorts = Ports<ConstTensor, api::TensorList>;

/// A call with the views that it points to.
class BoundCall {
 public:
  BoundCall(const ir::Program& program, const MatrixPorts& ports, std::int64_t rows, std::int64_t cols,
            std::span<const float> parameters) {
    if (rows < 0 || cols < 0)
      fail({Code::call_shape_mismatch, fmt::format("a call of {} rows and {} columns", rows, cols),
            "sizes are not negative", program.name});
    api::fill_views(program, ports.inputs(), ports.outputs(), inputs_, outputs_);
    call_ = {
        .inputs = inputs_.span(), .outputs = outputs_.span(), .parameters = parameters, .rows = rows, .cols = cols};
  }
  BoundCall(const BoundCall&) = delete;
  BoundCall& operator=(const BoundCall&) = delete;

  const runtime::Call& call() const { return call_; }

 private:
  api::ViewList inputs_, outputs_;
  runtime::Call call_;
};

verify::CheckReport compared(const ir::Program& program, const runtime::Call& call,
                             const verify::Tolerance& tolerance) {
  return verify::compare(program,
                         {.inputs = {call.inputs.begin(), call.inputs.end()},
                          .parameters = {call.parameters.begin(), call.parameters.end()},
                          .rows = call.rows,
                          .cols = call.cols},
                         {call.outputs.begin(), call.outputs.end()}, tolerance);
}

/// A launch of a call on tensors, as the house below takes it.
runtime::Call launch_call(const api::Launches& launches, std::span<const float> parameters) {
  return {.inputs = launches.inputs(),
          .outputs = launches.outputs(),
          .parameters = parameters,
          .rows = launches.rows(),
          .cols = launches.cols()};
}

}  // namespace

bool CheckReport::ok() const {
  return std::all_of(outputs.begin(), outputs.end(), [](const OutputCheck& output) { return output.wrong == 0; });
}

void Kernel::run(const std::vector<NamedInput>& inputs, const std::vector<NamedOutput>& outputs,
                 const std::vector<NamedParameter>& parameters) const {
  const api::Arguments arguments =
      api::arrange(implementation_->program, implementation_->signature, inputs, outputs, parameters);
  run(arguments.inputs, arguments.outputs, arguments.parameters);
}

void Kernel::run(const std::vector<NamedInput>& inputs, const std::vector<NamedOutput>& outputs,
                 const std::vector<NamedParameter>& parameters, Stream stream) const {
  const api::Arguments arguments =
      api::arrange(implementation_->program, implementation_->signature, inputs, outputs, parameters);
  run(arguments.inputs, arguments.outputs, arguments.parameters, stream);
}

void Kernel::run(std::span<const ConstMatrix> inputs, std::span<const Matrix> outputs, std::int64_t rows,
                 std::int64_t cols, std::span<const float> parameters) const {
  implementation_->run(inputs, outputs, rows, cols, parameters, std::nullopt);
}

void Kernel::run(std::span<const ConstMatrix> inputs, std::span<const Matrix> outputs, std::int64_t rows,
                 std::int64_t cols, std::span<const float> parameters, Stream stream) const {
  implementation_->run(inputs, outputs, rows, cols, parameters, stream);
}

void Kernel::run(std::span<const ConstTensor> inputs, std::span<const Tensor> outputs,
                 std::span<const float> parameters) const {
  implementation_->run(inputs, outputs, parameters, std::nullopt);
}

void Kernel::run(std::span<const ConstTensor> inputs, std::span<const Tensor> outputs,
                 std::span<const float> parameters, Stream stream) const {
  implementation_->run(inputs, outputs, parameters, stream);
}

void Kernel::prepare(std::span<const ConstMatrix> inputs, std::span<const Matrix> outputs, std::int64_t rows,
                     std::int64_t cols) const {
  const Implementation& self = *implementation_;
  const MatrixPorts ports(self.program, self.signature, inputs, outputs);
  const BoundCall bound(self.program, ports, rows, cols, self.defaults);
  self.prepare(bound.call());
}

void Kernel::prepare(std::span<const ConstTensor> inputs, std::span<const Tensor> outputs) const {
  const Implementation& self = *implementation_;
  const TensorPorts ports(self.program, self.signature, inputs, outputs);
  api::Launches launches(self.program, ports.inputs(), ports.outputs());
  for (std::int64_t number = 0; number < launches.count(); ++number) {
    if (number > 0) launches.go_to(number);
    self.prepare(launch_call(launches, self.defaults));
  }
}

CheckReport Kernel::check(std::span<const ConstMatrix> inputs, std::span<const Matrix> outputs, std::int64_t rows,
                          std::int64_t cols, std::span<const float> parameters) const {
  const Implementation& self = *implementation_;
  const MatrixPorts ports(self.program, self.signature, inputs, outputs);
  const BoundCall bound(self.program, ports, rows, cols, self.parameters_of(parameters));
  return self.declared(self.check(bound.call()));
}

CheckReport Kernel::check(std::span<const ConstTensor> inputs, std::span<const Tensor> outputs,
                          std::span<const float> parameters) const {
  const Implementation& self = *implementation_;
  const TensorPorts ports(self.program, self.signature, inputs, outputs);
  api::Launches launches(self.program, ports.inputs(), ports.outputs());
  verify::CheckReport whole;
  for (std::int64_t number = 0; number < launches.count(); ++number) {
    if (number > 0) launches.go_to(number);
    verify::CheckReport part = self.check(launch_call(launches, self.parameters_of(parameters)));
    for (verify::OutputReport& output : part.outputs)
      if (output.first_row >= 0) output.first_row = launches.row_of_call(output.first_row);
    if (number == 0) {
      whole = std::move(part);
      continue;
    }
    for (std::size_t o = 0; o < whole.outputs.size(); ++o) whole.outputs[o].add(part.outputs[o]);
  }
  return self.declared(std::move(whole));
}

std::span<const float> Kernel::Implementation::parameters_of(std::span<const float> given) const {
  if (given.empty()) return defaults;
  for (const std::size_t i : whole_parameters)
    if (i < given.size())
      if (const auto fault = ir::value_fault(program, i, static_cast<double>(given[i]))) fail(*fault);
  return given;
}

void Kernel::Implementation::run(std::span<const ConstMatrix> given, std::span<const Matrix> written, std::int64_t rows,
                                 std::int64_t cols, std::span<const float> values,
                                 const std::optional<Stream>& stream) const {
  const MatrixPorts ports(program, signature, given, written);
  const BoundCall bound(program, ports, rows, cols, parameters_of(values));
  run(bound.call(), stream);
}

void Kernel::Implementation::run(std::span<const ConstTensor> given, std::span<const Tensor> written,
                                 std::span<const float> values, const std::optional<Stream>& stream) const {
  const TensorPorts ports(program, signature, given, written);
  api::Launches launches(program, ports.inputs(), ports.outputs());
  const std::span<const float> wanted = parameters_of(values);
  const bool prepares = cuda && launches.count() > 1;
  // What a device may refuse of a later launch, such as to compile in a capture, it is to refuse before the first.
  for (std::int64_t number = 0; prepares && number < launches.count(); ++number) {
    launches.go_to(number);
    prepare(launch_call(launches, wanted), stream.value_or(Stream{}));
  }
  for (std::int64_t number = 0; number < launches.count(); ++number) {
    if (launches.count() > 1) launches.go_to(number);
    const runtime::Call call = launch_call(launches, wanted);
    if (!prepares) {
      run(call, stream);
    } else if (const Status status = cuda->run_prepared(call, stream.value_or(Stream{})); !status) {
      fail(status.error());
    }
  }
}

void Kernel::Implementation::run(const runtime::Call& call, const std::optional<Stream>& stream) const {
  if (stream && !cuda)
    fail({Code::call_has_no_stream,
          fmt::format("{} is compiled for the device {}, which has no streams", program.name, options.device),
          "leave the stream out, or compile the kernel with Device::cuda", "stream"});
  if (const Status status = cuda ? cuda->run(call, stream.value_or(Stream{})) : device->run(call); !status)
    fail(status.error());
}

void Kernel::Implementation::prepare(const runtime::Call& call, const std::optional<Stream>& stream) const {
  if (cuda) {
    if (const Status status = cuda->prepare(call, stream); !status) fail(status.error());
    return;
  }
  if (const Status status = driver::check_call(program, call); !status) fail(status.error());
  if (call.rows == 0) return;
  if (const auto plan = device->plan(call); !plan) fail(plan.error());
}

verify::CheckReport Kernel::Implementation::check(const runtime::Call& call) const {
  if (const Status status = driver::check_call(program, call); !status) fail(status.error());
  const auto refused = legality::program_violation(program, options.order, call.cols, options.target);
  if (refused && !ir::needs_stages(program)) fail(*refused);
  if (const auto empty = verify::nothing_to_fold(program, call.rows, call.cols)) fail(*empty);
  if (cuda) return compared(program, api::value_or_fail(cuda->on_host(call)).call, tolerance);
  return compared(program, call, tolerance);
}

CheckReport Kernel::Implementation::declared(verify::CheckReport found) const {
  CheckReport report;
  for (const verify::OutputReport& output : verify::declared_report(program, std::move(found)).outputs)
    report.outputs.push_back({.name = output.name,
                              .elements = output.elements,
                              .wrong = output.wrong,
                              .max_error = output.max_error,
                              .first_row = output.first_row,
                              .first_column = output.first_column,
                              .got = output.got,
                              .expected = output.expected,
                              .first_place = output.first_place});
  return report;
}

}  // namespace lanefold
