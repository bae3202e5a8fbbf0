// What a Kernel of the facade holds.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "api/cuda_program.h"
#include "api/signature.h"
#include "driver/pipeline.h"
#include "ir/program.h"
#include "lanefold/lanefold.h"
#include "plan/layout.h"
#include "plan/plan.h"
#include "verify/check.h"
#include "verify/device.h"
#include "verify/staged_plans.h"

namespace lanefold {

struct [[gnu::visibility("hidden")]] Kernel::Implementation {
  Implementation(ir::Program the_program, verify::Tolerance the_tolerance, const Options& the_options);

  /// The parameters of a call: those given, or none for the defaults. Throws where one cannot have its value.
  std::span<const float> parameters_of(std::span<const float> given) const;
  /// Runs one launch, on a CUDA device in the stream, or the default one where none is given.
  void run(const runtime::Call& call, const std::optional<Stream>& stream) const;
  void run(std::span<const ConstMatrix> given, std::span<const Matrix> written, std::int64_t rows, std::int64_t cols,
           std::span<const float> values, const std::optional<Stream>& stream) const;
  void run(std::span<const ConstTensor> given, std::span<const Tensor> written, std::span<const float> values,
           const std::optional<Stream>& stream) const;
  void prepare(const runtime::Call& call, const std::optional<Stream>& stream = std::nullopt) const;
  verify::CheckReport check(const runtime::Call& call) const;
  /// A report of the program's own outputs as one of those that the text declares.
  CheckReport declared(verify::CheckReport report) const;

  plan::Request request(std::int64_t rows, std::int64_t cols) const {
    plan::Request result;
    result.rows = rows;
    result.cols = cols;
    result.order = options.order;
    // Calls on the cpu may come with any alignment, and share its kernels.
    if (cuda) result.alignment = plan::dense_alignment(cols);
    return result;
  }

  /// The kernel that request() plans, for matrices without gaps between columns.
  driver::Lowered lowered(std::int64_t rows, std::int64_t cols) const;
  /// Of a program that runs in stages.
  std::vector<verify::StagePlan> stage_plans(std::int64_t rows, std::int64_t cols) const;

  ir::Program program;
  api::Signature signature;
  verify::Tolerance tolerance;
  verify::DeviceOptions options;
  std::unique_ptr<verify::Device> device;  ///< null on a CUDA device
  std::unique_ptr<api::CudaProgram> cuda;  ///< null elsewhere
  std::vector<float> defaults;
  std::vector<std::size_t> whole_parameters;  ///< those that are read as whole numbers
  std::vector<Port> inputs, outputs;
  std::vector<Parameter> parameters;
};

}  // namespace lanefold
