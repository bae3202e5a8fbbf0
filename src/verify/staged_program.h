// A program that runs in stages, and what one of its calls is in each: wherever the stages run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "base/view.h"
#include "ir/order.h"
#include "ir/stages.h"
#include "runtime/common/launch.h"
#include "target/target.h"

namespace lanefold::verify {

/// The stages of a program (ir::split_stages) with what a call of the whole must keep to.
class StagedProgram {
 public:
  StagedProgram(ir::Program program, ir::Order order, target::Target target);

  const ir::Program& program() const { return program_; }
  const std::vector<ir::Stage>& stages() const { return stages_.stages; }

  /// Refuses what some stage would refuse for its program, order and sizes, before the first one has written anything; and
  /// outputs in the place of inputs that a later stage still reads (output_overlaps_reread_input).
  Status check(const runtime::Call& call) const;

  /// Of what stages hand on.
  static constexpr std::size_t kAlignment = 64;
  /// Bytes of it in a call of rows × cols: at least 1.
  std::size_t between_bytes(std::int64_t rows, std::int64_t cols) const;
  /// Its views in so much memory, which is aligned to kAlignment.
  std::vector<View> between(std::int64_t rows, std::int64_t cols, std::byte* memory) const;

 private:
  Status check_replaced(const runtime::Call& call) const;

  ir::Program program_;
  ir::Stages stages_;
  ir::Order order_;
  target::Target target_;
};

/// A stage's share of a call.
struct StageCall {
  StageCall(const ir::Stage& stage, const runtime::Call& whole, const std::vector<View>& between);
  StageCall(const StageCall&) = delete;
  StageCall& operator=(const StageCall&) = delete;

  std::vector<View> inputs, outputs;
  runtime::Call call;
};

}  // namespace lanefold::verify
