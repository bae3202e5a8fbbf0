// Evaluates what needs no memory and no neighbours: constants, arithmetic and calls of functions.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "lane/module.h"
#include "machine/findings.h"
#include "machine/symbols.h"
#include "machine/words.h"

namespace lanefold::machine {

/// The values of one body in one SIMD group; in which lanes each is poison (computed from something never written), and in
/// which it is an expression: the word is a NodeId then.
struct Frame {
  Frame(std::size_t values, std::uint32_t width)
      : lanes(width), words(values * width, kPoisonWord), poison(values, ~LaneMask{0}), symbolic(values, 0) {}

  Word* value(std::size_t v) { return words.data() + v * lanes; }

  std::uint32_t lanes;
  std::vector<Word> words;
  std::vector<LaneMask> poison;
  std::vector<LaneMask> symbolic;
};

/// One lane vector that lives elsewhere: a row of words, its poison and its expressions.
struct LaneVector {
  const Word* words = nullptr;
  LaneMask poison = 0;
  LaneMask symbolic = 0;
};

/// What a function means where it is not looked into.
struct Helper {
  enum class Kind : std::uint8_t { inlined, named, arg_merge, arg_step };
  Kind kind = Kind::inlined;
  std::string name = {};
};

class Evaluator {
 public:
  /// `helpers`: one per function or none; only runs on symbols ask for them.
  Evaluator(const lane::Module& module, std::uint32_t width, Symbols* symbols, std::span<const Helper> helpers);

  /// Runs a constant, arithmetic operation, conversion or call in the lanes of the mask. Throws Fault.
  void run(const lane::Statement& statement, const std::vector<ElementType>& types, Frame& frame, LaneMask mask);
  /// Runs a function; the results stay valid until it runs again.
  std::span<const LaneVector> call(std::uint32_t function, std::span<const LaneVector> arguments, LaneMask mask);
  /// How many results a function has.
  std::size_t results(std::uint32_t function) const { return module_.functions[function].returns.size(); }

  /// The expression of a word of that register type.
  NodeId node(ElementType type, Word word, bool symbolic);
  /// Puts an expression into a lane, as a known word where it has become a constant.
  void put(Frame& frame, lane::ValueId value, std::uint32_t lane, NodeId node);

 private:
  void arithmetic(const lane::Statement& statement, const std::vector<ElementType>& types, Frame& frame, LaneMask mask);
  void select(const lane::Statement& statement, Frame& frame, LaneMask mask);
  void mark_nans(const lane::Statement& statement, const std::vector<ElementType>& types, Frame& frame, LaneMask lanes);
  void express(const lane::Statement& statement, const std::vector<ElementType>& types, Frame& frame, LaneMask lanes);
  /// The results of a helper that is not looked into, in the lanes whose arguments are not all known.
  void call_helper(std::uint32_t function, std::span<const LaneVector> arguments, LaneMask lanes, Frame& frame);

  const lane::Module& module_;
  std::uint32_t width_;
  Symbols* symbols_;
  std::span<const Helper> helpers_;
  std::vector<Frame> frames_;  ///< of each function: none can be active twice, since a function calls earlier ones only
  std::vector<LaneVector> results_;
};

}  // namespace lanefold::machine
