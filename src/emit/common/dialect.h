// What differs between the languages that lane modules are written in.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emit/common/expression.h"
#include "lane/module.h"

namespace lanefold::emit {

class BodyWriter;

class Dialect {
 public:
  virtual ~Dialect() = default;
  /// The name of a register type: boolean, i32, i64 or f32.
  virtual std::string_view type(ElementType type) const = 0;
  virtual Expression constant(ElementType type, std::uint64_t bits) const = 0;
  /// The lane, SIMD group or threadgroup number, or the rank in the cluster, as the kernel's start computes it.
  virtual std::string leaf(lane::Op op) = 0;
  /// A plain arithmetic operation, convert or bitcast. `may_wrap`: an integer result need not fit its type.
  virtual Expression operation(const lane::Statement& s, std::span<const Expression> operands, ElementType result,
                               bool may_wrap) = 0;
  /// The value as an argument of a call, which knows it by its type.
  virtual std::string argument(const Expression& value) const = 0;
  /// What the device offers in a function's place, if anything.
  virtual std::optional<Expression> device_function(const lane::Function& function,
                                                    std::span<const Expression> arguments) = 0;
  /// A call of a function that the language writes in another way, if it does: it may declare what later calls use, too.
  virtual std::optional<Expression> call(BodyWriter&, const lane::Statement&, const lane::Function&,
                                         std::span<const Expression>) {
    return std::nullopt;
  }
  /// Looks at the body of a kernel before it is written.
  virtual void begin_body(BodyWriter&, const lane::Module&, const std::vector<lane::Statement>&) {}
  /// A statement that the language writes in a way of its own, if it does: it takes the operands then, and gives the results; or it has been written with
  /// an earlier one.
  virtual bool own_statement(BodyWriter&, const lane::Statement&) { return false; }
  /// How many calls of the function the language writes as one; 1: it does not.
  virtual std::size_t most_together(const lane::Function&) { return 1; }
  /// Writes such calls, at least two, with their comments; false where they are better written one by one.
  virtual bool calls_together(BodyWriter&, const lane::Function&, std::span<const lane::Statement* const>) {
    return false;
  }
  /// `clear` in lanes whose bit `bit` is 0, `set` in those where it is 1.
  virtual Expression by_bit(std::uint32_t bit, const Expression& clear, const Expression& set) = 0;
  /// Lanes whose bit is 0 keep `clear` and give `set`, the others the reverse: what the lane gets for it from across that bit.
  virtual Expression trade(std::uint32_t bit, const Expression& clear, const Expression& set) = 0;
  /// The value of the lane across distance `distance`.
  virtual Expression swap(std::uint32_t distance, const Expression& value) = 0;
  /// A line before a loop, or none.
  virtual std::string loop_hint(const lane::Statement& loop, std::optional<std::int64_t> trips) = 0;

  virtual void load(BodyWriter& writer, const lane::Statement& s) = 0;
  /// Whether the language has a variable of its own for what such a load brings where a lane takes it, and zeros elsewhere; if not, a register
  /// array stands for it. The next three are called for those it has.
  virtual bool has_guarded(const BodyWriter&, const lane::Statement& /*load*/) { return false; }
  virtual void declare_guarded(BodyWriter&, const lane::Statement& /*load*/) {}
  virtual void load_guarded(BodyWriter&, const lane::Statement& /*load*/) {}
  virtual void get_guarded(BodyWriter&, const lane::Statement& /*get*/, const lane::Statement& /*load*/) {}
  virtual void store(BodyWriter& writer, const lane::Statement& s) = 0;
  virtual void shared_load(BodyWriter& writer, const lane::Statement& s) = 0;   ///< and peer_load
  virtual void shared_store(BodyWriter& writer, const lane::Statement& s) = 0;  ///< and peer_store
  virtual void shuffle(BodyWriter& writer, const lane::Statement& s) = 0;       ///< and permute2
  virtual void barrier(BodyWriter& writer, const lane::Statement& s) = 0;
  virtual void exchange(BodyWriter& writer, const lane::Statement& s) = 0;
};

}  // namespace lanefold::emit
