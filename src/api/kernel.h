// What a Kernel of the facade holds.
#pragma once

#include <memory>
#include <vector>

#include "api/signature.h"
#include "ir/program.h"
#include "lanefold/lanefold.h"
#include "plan/plan.h"
#include "verify/check.h"
#include "verify/device.h"

namespace lanefold {

struct [[gnu::visibility("hidden")]] Kernel::Implementation {
  Implementation(ir::Program the_program, verify::Tolerance the_tolerance, const Options& the_options);

  void prepare(const runtime::Call& call) const;
  CheckReport check(const runtime::Call& call) const;

  plan::Request request(std::int64_t rows, std::int64_t cols) const {
    plan::Request result;
    result.rows = rows;
    result.cols = cols;
    result.order = options.order;
    return result;
  }

  ir::Program program;
  api::Signature signature;
  verify::Tolerance tolerance;
  verify::DeviceOptions options;
  std::unique_ptr<verify::Device> device;
  std::vector<float> defaults;
  std::vector<Port> inputs, outputs;
  std::vector<Parameter> parameters;
};

}  // namespace lanefold
