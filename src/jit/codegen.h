// One kernel of a lane module as an LLVM function: a SIMD group's lanes are the elements of one vector.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include "jit/range.h"
#include "lane/module.h"
#include "lane/uniform.h"

namespace lanefold::jit {

/// What the target can do that changes the code.
struct Features {
  bool half_conversion = false;  ///< f16 ↔ f32 in hardware, by IEEE rounding
  bool narrow_masks = false;     ///< masked loads and stores of 8- and 16-bit elements
};

/// A lane value: one scalar for all lanes, a scalar base with a constant step per lane, or a vector.
struct LaneValue {
  enum class Form : std::uint8_t { scalar, affine, vector };
  Form form = Form::scalar;
  llvm::Value* value = nullptr;     ///< affine: the value in lane 0
  std::int64_t stride = 0;          ///< modulo the type's width, as a signed number
  std::optional<Range> range = {};  ///< of an i32 scalar or base, where computed
  llvm::Value* prefix = nullptr;    ///< i64, of a boolean vector where known: exactly the lanes below it are true

  static LaneValue scalar(llvm::Value* v, std::optional<Range> range = {}) { return {Form::scalar, v, 0, range}; }
  static LaneValue affine(llvm::Value* base, std::uint64_t stride, std::optional<Range> range = {});
  static LaneValue vector(llvm::Value* v) { return {Form::vector, v, 0, {}}; }
  /// Its range, or that of a constant.
  std::optional<Range> known_range() const;
};

/// Whether the function is the portable exp_nonpositive, step by step.
bool is_exp_nonpositive(const lane::Function& function);

class KernelCodegen {
 public:
  KernelCodegen(const lane::Module& module, const lane::Kernel& kernel, llvm::Module& llvm_module, Features features);
  /// Adds the function `void name(ptr arguments, i64 begin, i64 end, ptr shared)`.
  void emit(const std::string& name);

 private:
  using Values = std::vector<LaneValue>;
  enum class Access : std::uint8_t { buffer, shared };

  void emit_block(const std::vector<lane::Statement>& block, Values& values, const std::vector<ElementType>& types);
  void emit_statement(const lane::Statement& s, Values& values, const std::vector<ElementType>& types);
  /// Emits the inside of a branch or loop, given the values around it.
  using Inside = std::function<void(const std::vector<lane::Statement>&, Values&)>;
  void emit_branch(const lane::Statement& s, Values& values, const Inside& inside);
  void emit_loop(const lane::Statement& s, Values& values, const Inside& inside);
  void emit_counting(const lane::Statement& s, Values& values, llvm::Value* begin,
                     const std::function<void(llvm::Value*)>& inside);
  /// A register element that the loop's steps replace by its IEEE maximum or minimum with `argument`. Plain comparisons cannot tell which zero it is,
  /// nor whether there was a NaN. A loop of nothing but maxima is done again, whole, where that may matter; for any other, the highest bits
  /// seen, as signed and as unsigned integers, tell it.
  struct Extremum {
    std::uint32_t array, element;
    bool maximum;
    lane::ValueId argument;
    llvm::AllocaInst *number, *highest, *highest_unsigned;
  };
  /// In a loop: the next row of a buffer is wanted.
  struct Prefetch {
    std::uint32_t buffer;   ///< argument
    llvm::Value* distance;  ///< to the next row, in elements; 0 where it is not wanted
    std::uint32_t loads;    ///< of a step, seen so far
  };
  /// A call of exp_nonpositive on left − right.
  struct QuickCall {
    const lane::Statement* call;
    lane::ValueId left, right;
  };
  /// One of two loads, or of two stores, that are made as one.
  struct Pair {
    const lane::Statement* other;
    bool second;
    llvm::Value* value;  ///< of a load, once both are loaded
  };
  struct LoopState {
    std::map<const lane::Statement*, Pair> pairs;
    bool maxima = false;  ///< nothing else happens in it
    std::vector<Prefetch> prefetches;
    std::vector<QuickCall> quick_calls;
    llvm::AllocaInst* greatest = nullptr;  ///< on the short way: the greatest right − left, as unsigned integers
    std::vector<Extremum> extrema;
    std::vector<lane::ValueId>
        stored_nans;                ///< canonical_nan left out of the loop: the stores are repaired if there was a NaN
    std::vector<llvm::Value*> raw;  ///< what is looked at for NaNs in each step
    bool repairs = false;           ///< the loop's second time round: nothing but the repairs
  };
  /// The calls of exp_nonpositive on differences in a loop whose steps may be done twice; else none.
  std::vector<QuickCall> quick_calls(const lane::Statement& loop) const;
  /// Emits the loop the short way, on to `end`; behind it stands what happens from the step on, which it returns, for which that is no good.
  llvm::Value* emit_quick_loop(const lane::Statement& s, Values& values, llvm::BasicBlock* end);
  bool quick_exp(const lane::Statement& call, Values& values);
  void find_extrema(const lane::Statement& loop, LoopState& state);
  /// How an i64 grows from lane to lane in the loop, given what is known around it. lane::variations does not tell that of a widened i32, which
  /// may have wrapped.
  std::optional<std::int64_t> step_of(lane::ValueId v, const lane::Statement& loop, const Values& values) const;
  void find_stored_nans(const lane::Statement& loop, const Values& values, LoopState& state);
  void find_pairs(const lane::Statement& loop, const Values& values, LoopState& state) const;
  bool load_pair(const lane::Statement& s, Values& values);
  bool store_pair(const lane::Statement& s, const Values& values);
  /// f32 as bits, rounded to bf16 in the high half; what the low half holds means nothing.
  llvm::Value* rounded_to_high_half(llvm::Value* value);
  void find_prefetches();
  void prefetch(const lane::Statement& load, const LaneValue& address);
  void begin_extrema(LoopState& state);
  bool step_extremum(const lane::Statement& set, const Values& values);
  void end_extrema(const LoopState& state);
  void end_maxima(const lane::Statement& s, Values& values, LoopState& state, llvm::Value* nan, const Inside& inside);
  bool defer_nan(const lane::Statement& s, const LaneValue& value);
  void repair_nan(const lane::Statement& s, const LaneValue& address);
  /// A block of a kernel of several SIMD groups, outside of any loop over them: runs of statements between barriers.
  void emit_groups(const std::vector<lane::Statement>& block, Values& values);
  void emit_run(const std::vector<const lane::Statement*>& run, Values& values);
  void emit_around_barrier(const lane::Statement& s, Values& values);
  /// What a group computes before a barrier and uses behind it waits in memory, a slot per group.
  void keep(lane::ValueId v, const LaneValue& value, llvm::Value* group);
  LaneValue reload(lane::ValueId v, llvm::Value* group);
  void count_all_uses();
  void emit_call(const lane::Statement& s, Values& values);
  void emit_fold_lanes(const lane::Statement& s, Values& values);
  std::vector<LaneValue> call(const lane::Function& function, const std::vector<LaneValue>& arguments);
  LaneValue arithmetic(const lane::Statement& s, const std::vector<LaneValue>& operands,
                       const std::vector<ElementType>& types);
  LaneValue affine_arithmetic(const lane::Statement& s, const std::vector<LaneValue>& operands);
  /// An i32 value as i64. Lanes that may wrap, where not `exact`, are extended one by one; else a base and a step stay so.
  LaneValue sign_extend(const LaneValue& v, bool exact);
  llvm::Value* operation(const lane::Statement& s, const std::vector<llvm::Value*>& operands, ElementType operand_type,
                         ElementType result_type, bool vector);
  llvm::Value* convert(llvm::Value* value, ElementType from, ElementType to, bool vector);
  /// The divisor of an integer division, 1 where no lane is active: division by zero traps.
  llvm::Value* safe_divisor(llvm::Value* divisor);
  llvm::Value* minimum_or_maximum(bool maximum, llvm::Value* a, llvm::Value* b);
  LaneValue shuffle(const lane::Statement& s, Values& values);
  llvm::Value* shuffle_by(llvm::Value* a, llvm::Value* b, const std::function<std::uint32_t(std::uint32_t)>& source);

  LaneValue load(llvm::Value* base, ElementType storage, const LaneValue& address, bool shared);
  void store(llvm::Value* base, ElementType storage, const LaneValue& address, const LaneValue& value, bool shared,
             bool streaming = false);
  /// Where a whole row is read once, asks for what the next row has at the same place: rows are shorter than what a processor's own
  /// prefetching needs to get ahead, and it stops at each page. Past the last row nothing faults.
  void prefetch_next_row(std::uint32_t buffer, const LaneValue& address);
  llvm::Value* load_contiguous(llvm::Value* base, ElementType storage, llvm::Value* address, bool shared);
  llvm::Value* load_lanes(llvm::Value* base, ElementType storage, const LaneValue& address, bool shared);
  llvm::Value* pointer(llvm::Value* base, ElementType storage, llvm::Value* address);
  llvm::Value* widen(llvm::Value* stored, ElementType storage);
  llvm::Value* narrow(llvm::Value* value, ElementType storage);
  llvm::Value* widen_half(llvm::Value* bits32);
  llvm::Value* narrow_half(llvm::Value* value);
  llvm::Value* narrow_small(llvm::Value* value, std::uint32_t shift, std::uint32_t exponent_bias, float subnormal_magic,
                            std::uint32_t largest);
  void tag(llvm::Instruction* access, bool shared);
  /// Whether exactly the first lanes are active and an access of that type is better made in pieces than masked.
  bool in_pieces(ElementType storage, bool loads) const;
  llvm::Value* prefix_count();
  std::pair<llvm::BasicBlock*, llvm::BasicBlock*> where_bit(llvm::Value* count, std::uint32_t bit,
                                                            const std::function<void(llvm::Value*)>& inside);
  llvm::Value* load_prefix(llvm::Type* element, llvm::Value* from, llvm::Align align, bool shared);
  void store_prefix(llvm::Value* stored, llvm::Type* element, llvm::Value* to, llvm::Align align, bool shared);

  llvm::Type* scalar_type(ElementType type) const;
  llvm::Type* memory_type(ElementType type) const;
  llvm::Type* vector_of(llvm::Type* type) const { return llvm::FixedVectorType::get(type, width_); }
  llvm::Type* shaped(llvm::Type* scalar, llvm::Value* like) const;
  llvm::Constant* i32_like(llvm::Value* like, std::uint32_t value) const;
  llvm::Constant* f32_like(llvm::Value* like, float value) const;
  llvm::Value* as_vector(const LaneValue& value);
  llvm::Value* as_scalar(const LaneValue& value);
  llvm::Value* any(llvm::Value* mask);
  llvm::Value* lane_numbers(llvm::Type* type);
  bool scalar_by_analysis(lane::ValueId v) const;
  /// The place of a register array's element, for the SIMD group at hand, and its type.
  std::pair<llvm::Value*, llvm::Type*> element(std::uint32_t array, std::uint32_t index);

  const lane::Module& module_;
  const lane::Kernel& kernel_;
  llvm::Module& llvm_;
  llvm::LLVMContext& context_;
  llvm::IRBuilder<> ir_;
  Features features_;
  std::uint32_t width_;
  std::vector<lane::Variation> variations_;
  std::vector<std::vector<bool>> scalar_elements_;
  std::vector<std::vector<llvm::AllocaInst*>> elements_;
  llvm::Function* function_ = nullptr;
  std::vector<llvm::Value*> arguments_;
  llvm::Value* shared_ = nullptr;
  llvm::Value* threadgroup_ = nullptr;
  llvm::Value* group_ = nullptr;  ///< i32, in the loop over SIMD groups
  struct Kept {
    llvm::AllocaInst* slots = nullptr;
    LaneValue::Form form = LaneValue::Form::scalar;
    std::int64_t stride = 0;
    std::optional<Range> range = {};
  };
  std::vector<std::optional<Kept>> kept_;  ///< by value
  std::vector<std::uint32_t> total_uses_;  ///< by value
  llvm::Value* mask_ = nullptr;            ///< active lanes; null: all
  llvm::Value* prefix_ = nullptr;          ///< i64, where known: `mask_` is true exactly in the lanes below it
  LoopState* loop_ = nullptr;              ///< of the innermost loop
  std::map<const lane::Statement*, std::vector<Prefetch>> prefetches_;  ///< by loop
  std::vector<bool> quick_functions_;                                   ///< by function: exp_nonpositive
  llvm::MDNode* shared_scope_ = nullptr;
  llvm::MDNode* buffer_scope_ = nullptr;
};

}  // namespace lanefold::jit
