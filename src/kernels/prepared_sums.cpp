#include "kernels/prepared_sums.h"

#include <optional>

namespace lanefold::kernels {
namespace {

using lane::Op;
/// The element at a fixed distance after the thread's own.
using Element = std::function<ValueId(std::uint32_t)>;

class Sums {
 public:
  Sums(ModuleFrame& frame, const Runs& runs)
      : f_(frame), b_(frame.builder()), runs_(runs), thread_(frame.narrow_thread()), run_(f_.quotient(thread_, 16)) {}

  void old_form() {
    const std::uint32_t array = f_.shared("values", runs_.places * kSumColumns);
    b_.comment("sums of 16: values through threadgroup memory");
    if_within(run_, [&] { b_.shared_store(array, thread_, runs_.value); });
    b_.barrier();
    b_.comment("one thread adds a run");
    const ValueId first = f_.equal(f_.remainder(thread_, 16), b_.i32(0));
    publish(first, run_, [&] {
      return two_chains([&](std::uint32_t k) {
        const ValueId index = b_.add(thread_, b_.i32(static_cast<std::int32_t>(k)));
        return b_.shared_load(array, ElementType::f32, index);
      });
    });
  }

  void new_form() {
    b_.comment("sums of 16: two chains in registers, the order of the threadgroup form");
    publish_first(two_chains(shuffled(runs_.value)));
  }

  void tree() {
    b_.comment("sums of 16: a tree over 4 lane bits");
    publish_first(f_.sum_lanes(runs_.value, 4));
  }

  void one_chain() {
    b_.comment("sums of 16: one chain");
    const Element element = shuffled(runs_.value);
    ValueId sum = b_.f32(0);
    for (std::uint32_t k = 0; k < kSumColumns; ++k) sum = b_.add(sum, element(k));
    publish_first(sum);
  }

  void wrong_publishers() {
    b_.comment("sums of 16: two chains in registers; threads 0 and 8 of 32 publish");
    const ValueId sum = two_chains(shuffled(runs_.value));
    const ValueId within = f_.remainder(thread_, 32);
    publish(f_.equal(within, b_.i32(0)), run_, [&] { return sum; });
    publish(f_.equal(within, b_.i32(8)), b_.add(run_, b_.i32(1)), [&] { return sum; });
  }

  void split_guard() {
    b_.comment("sums of 16: two chains in registers; the guard ends within a run");
    const auto end = static_cast<std::int32_t>(runs_.count * kSumColumns - 8);
    const ValueId value = f_.select(f_.less(thread_, b_.i32(end)), runs_.value, b_.f32(0));
    publish_first(two_chains(shuffled(value)));
  }

 private:
  /// Every lane takes part, whatever its run.
  Element shuffled(ValueId value) {
    return [this, value](std::uint32_t k) { return b_.shuffle_down(value, k); };
  }

  ValueId two_chains(const Element& element) {
    ValueId even = b_.f32(0), odd = b_.f32(0);
    for (std::uint32_t k = 0; k < kSumColumns; k += 2) {
      even = b_.add(even, element(k));
      odd = b_.add(odd, element(k + 1));
    }
    return b_.add(even, odd);
  }

  bool runs_fill_threads() const { return f_.threads() == runs_.count * kSumColumns; }

  void if_within(ValueId run, const std::function<void()>& body) {
    if (runs_fill_threads()) return body();
    b_.branch(f_.less(run, b_.i32(static_cast<std::int32_t>(runs_.count))), body);
  }

  /// The threads where `condition` holds store the sum of `run`, if there is one.
  void publish(ValueId condition, ValueId run, const std::function<ValueId()>& sum) {
    const ValueId within = f_.less(run, b_.i32(static_cast<std::int32_t>(runs_.count)));
    b_.branch(f_.both(condition, within),
              [&] { f_.store(runs_.sums, f_.at(runs_.first, f_.wide(run), runs_.stride), sum()); });
  }

  void publish_first(ValueId sum) {
    publish(f_.equal(f_.remainder(thread_, 16), b_.i32(0)), run_, [&] { return sum; });
  }

  ModuleFrame& f_;
  lane::Builder& b_;
  const Runs& runs_;
  ValueId thread_;
  ValueId run_;
};

}  // namespace

std::vector<FormFact> sum_forms() {
  return {
      {"new", {}, "sums of 16 in registers, by shuffles", true},
      {"old", {}, "sums of 16 through threadgroup memory and a barrier", true},
      {"tree", {}, "mistake: neighbours are added in a tree", false},
      {"one_chain", {}, "mistake: one chain of 16 instead of two of 8", false},
      {"wrong_publishers", {}, "mistake: lanes 0 and 8 publish instead of 0 and 16", false},
      {"split_guard", {}, "mistake: the guard ends in the middle of the last 16", false},
  };
}

void emit_sums(ModuleFrame& frame, std::string_view form, const Runs& runs) {
  Sums sums(frame, runs);
  if (form == "new") return sums.new_form();
  if (form == "old") return sums.old_form();
  if (form == "tree") return sums.tree();
  if (form == "one_chain") return sums.one_chain();
  if (form == "wrong_publishers") return sums.wrong_publishers();
  if (form == "split_guard") return sums.split_guard();
  internal_error("prepared sums: no form " + std::string(form));
}

void emit_planes(ModuleFrame& frame, std::uint32_t buffer, ValueId token, ValueId element, std::int64_t elements,
                 std::int64_t planes, ValueId x) {
  lane::Builder& b = frame.builder();
  b.comment("planes");
  const ValueId plane = frame.remainder(element, planes);
  // 4^−p by its exponent bits.
  const ValueId exponent = b.sub(b.i32(127), b.mul(frame.narrow(plane), b.i32(2)));
  const ValueId power = b.bitcast(b.binary(Op::shift_left, exponent, b.i32(23)), ElementType::f32);
  const ValueId in_token = frame.at(frame.quotient(element, planes), plane, elements / planes);
  frame.store(buffer, frame.at(in_token, token, elements), b.mul(x, power));
}

}  // namespace lanefold::kernels
