#include "verify/check.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/load_store.h"
#include "base/sha256.h"
#include "ir/stages.h"
#include "verify/staged_device.h"
#include "verify/standard_inputs.h"

namespace lanefold::verify {
namespace {

/// The storage type's spacing at |r| (its own binade), and its largest finite value.
struct StorageFacts {
  int mantissa_bits;
  int min_exponent;
  double largest;
  bool saturates;
};

StorageFacts facts(ElementType type) {
  switch (type) {
    case ElementType::f16: return {10, -14, 65504.0, false};
    case ElementType::bf16: return {7, -126, 0x1.fep127, false};
    case ElementType::e4m3: return {3, -6, 448.0, true};
    case ElementType::e5m2: return {2, -14, 57344.0, true};
    default: return {23, -126, 0x1.fffffep127, false};
  }
}

double half_spacing(const StorageFacts& f, double r) {
  if (r == 0 || !std::isfinite(r)) return std::ldexp(1.0, f.min_exponent - f.mantissa_bits - 1);
  const int exponent = std::max(std::ilogb(r), f.min_exponent);
  return std::ldexp(1.0, exponent - f.mantissa_bits - 1);
}

bool close(ElementType type, double got, double expected, const Tolerance& tolerance) {
  if (std::isnan(expected) || std::isnan(got)) return std::isnan(expected) && std::isnan(got);
  const StorageFacts f = facts(type);
  // Beyond the largest number the storage has no spacing of its own, and anything would be close.
  const double magnitude = std::min(std::fabs(expected), f.largest);
  const double slack = tolerance.absolute + tolerance.relative * magnitude + half_spacing(f, magnitude);
  if (std::isinf(got))
    return std::signbit(got) == std::signbit(expected) && !f.saturates && std::fabs(expected) + slack >= f.largest;
  if (std::isinf(expected) || std::fabs(expected) > f.largest)
    return std::signbit(got) == std::signbit(expected) && std::fabs(got) >= f.largest - slack &&
           (f.saturates || !std::isinf(expected));
  return std::fabs(got - expected) <= slack;
}

}  // namespace

bool needs_all_rows(const ir::Program& program) {
  return ir::needs_stages(program) || std::any_of(program.values.begin(), program.values.end(),
                                                  [](const ir::Value& value) { return value.op == ir::Op::rows; });
}

void OutputReport::add(const OutputReport& more) {
  elements += more.elements;
  wrong += more.wrong;
  max_error = std::max(max_error, more.max_error);
  if (more.first_row < 0) return;
  if (first_row >= 0 && std::pair(first_place, first_row) <= std::pair(more.first_place, more.first_row)) return;
  first_place = more.first_place;
  first_row = more.first_row;
  first_column = more.first_column;
  got = more.got;
  expected = more.expected;
}

CheckReport declared_report(const ir::Program& program, CheckReport report) {
  CheckReport declared;
  for (std::size_t o = 0; o < report.outputs.size(); ++o) {
    OutputReport& output = report.outputs[o];
    const ir::Store& store = program.stores[o];
    const ir::Part& part = store.part;
    if (part.role == ir::Part::Role::whole) {
      declared.outputs.push_back(std::move(output));
      continue;
    }
    if (part.role == ir::Part::Role::inner && output.first_row >= 0) output.first_place = part.index;
    // Elements are counted in columns: a scale begins its block.
    if (part.role == ir::Part::Role::scale && output.first_column > 0) output.first_column *= store.kind.block;
    const bool goes_on = o > 0 && program.stores[o - 1].part.of == part.of;
    output.name = part.of;
    if (goes_on) {
      declared.outputs.back().add(output);
    } else {
      declared.outputs.push_back(std::move(output));
    }
  }
  return declared;
}

bool CheckReport::ok() const {
  return std::all_of(outputs.begin(), outputs.end(), [](const OutputReport& o) { return o.wrong == 0; });
}

ElementVerdict compare_element(const std::byte* at, ElementType type, double expected, const Tolerance& tolerance) {
  ElementVerdict verdict;
  if (is_float(type)) {
    verdict.got = load_element_f64(at, type);
    verdict.right = close(type, verdict.got, expected, tolerance);
    if (std::isfinite(verdict.got) && std::isfinite(expected)) verdict.error = std::fabs(verdict.got - expected);
  } else {
    verdict.got = static_cast<double>(load_element_integer(at, type));
    verdict.error = std::fabs(verdict.got - expected);
    verdict.right = verdict.error <= tolerance.code;
  }
  return verdict;
}

CheckReport compare(const ir::Program& program, const oracle::Bindings& bindings, const std::vector<View>& outputs,
                    const Tolerance& tolerance, const std::function<void(std::int64_t)>& progress) {
  CheckReport report;
  for (const ir::Store& store : program.stores) report.outputs.push_back({.name = store.name});
  // A few rows at a time keep the oracle's doubles small.
  std::int64_t step = std::max<std::int64_t>(1, (std::int64_t{1} << 20) / std::max<std::int64_t>(1, bindings.cols));
  // What folds all rows, or counts them, has no meaning in a few.
  if (needs_all_rows(program)) step = std::max<std::int64_t>(1, bindings.rows);
  for (std::int64_t begin = 0; begin < bindings.rows; begin += step) {
    oracle::Bindings part = bindings;
    part.rows = std::min(step, bindings.rows - begin);
    for (std::size_t i = 0; i < part.inputs.size(); ++i) {
      if (program.inputs[i].kind.tag == ir::Kind::Tag::column) continue;
      part.inputs[i].data = part.inputs[i].at(begin, 0);
      part.inputs[i].rows = part.rows;
    }
    const std::vector<std::vector<double>> meaning = oracle::evaluate_fp64(program, part);
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      const View& view = outputs[o];
      OutputReport& found = report.outputs[o];
      for (std::int64_t r = 0; r < oracle::store_rows(program.stores[o].kind, part.rows); ++r)
        for (std::int64_t c = 0; c < view.cols; ++c) {
          const double expected = meaning[o][static_cast<std::size_t>(r * view.cols + c)];
          const ElementVerdict element = compare_element(view.at(begin + r, c), view.type, expected, tolerance);
          found.max_error = std::max(found.max_error, element.error);
          ++found.elements;
          if (element.right) continue;
          if (found.wrong++ == 0) {
            found.first_row = begin + r;
            found.first_column = c;
            found.got = element.got;
            found.expected = expected;
          }
        }
    }
    if (progress) progress(begin + part.rows);
  }
  return report;
}

Result<CheckReport> check_standard(const ir::Program& program, const DeviceOptions& options, std::int64_t rows,
                                   std::int64_t cols, const Tolerance& tolerance) {
  LANEFOLD_TRY(const std::unique_ptr<Device> device, open(program, options));
  if (auto refused = program_refusal(program, options.order, rows, cols, options.target)) return *refused;
  const std::vector<Matrix> inputs = standard_inputs(program, rows, cols);
  const std::vector<Matrix> outputs = poisoned_outputs(program, rows, cols);
  const std::vector<View> in = views(inputs), out = views(outputs);
  const std::vector<float> parameters = default_parameters(program);
  LANEFOLD_CHECK(device->run({.inputs = in, .outputs = out, .parameters = parameters, .rows = rows, .cols = cols}));
  CheckReport report =
      compare(program, {.inputs = in, .parameters = parameters, .rows = rows, .cols = cols}, out, tolerance);
  for (std::size_t o = 0; o < outputs.size(); ++o)
    if (!outputs[o].sentinels_intact()) report.outputs[o].wrong += 1;
  return report;
}

Result<std::vector<std::string>> digest_standard(const ir::Program& program, const DeviceOptions& options,
                                                 std::int64_t rows, std::int64_t cols) {
  LANEFOLD_TRY(const std::unique_ptr<Device> device, open(program, options));
  if (auto refused = program_refusal(program, options.order, rows, cols, options.target)) return *refused;
  const std::vector<Matrix> inputs = standard_inputs(program, rows, cols);
  const std::vector<Matrix> outputs = poisoned_outputs(program, rows, cols);
  const std::vector<View> in = views(inputs), out = views(outputs);
  const std::vector<float> parameters = default_parameters(program);
  LANEFOLD_CHECK(device->run({.inputs = in, .outputs = out, .parameters = parameters, .rows = rows, .cols = cols}));
  std::vector<std::string> digests;
  for (const Matrix& matrix : outputs) {
    const std::vector<std::byte> bytes = matrix.bytes();
    digests.push_back(sha256_hex(bytes.data(), bytes.size()));
  }
  return digests;
}

}  // namespace lanefold::verify
