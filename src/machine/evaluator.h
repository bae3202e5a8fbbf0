// Evaluates what needs no memory and no neighbours: constants, arithmetic and calls of functions.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "lane/module.h"
#include "machine/words.h"

namespace lanefold::machine {

/// The values of one body in one SIMD group, and in which lanes each is poison: computed from something never written.
struct Frame {
  Frame(std::size_t values, std::uint32_t width)
      : lanes(width), words(values * width, kPoisonWord), poison(values, ~LaneMask{0}) {}

  Word* value(std::size_t v) { return words.data() + v * lanes; }

  std::uint32_t lanes;
  std::vector<Word> words;
  std::vector<LaneMask> poison;
};

/// One lane vector that lives elsewhere: a row of words and its poison.
struct LaneVector {
  const Word* words = nullptr;
  LaneMask poison = 0;
};

/// A fault of the module that its run has shown; becomes a diagnostic.
struct Fault {
  Code code;
  std::string message;
  std::string hint;
};

class Evaluator {
 public:
  Evaluator(const lane::Module& module, std::uint32_t width);

  /// Runs a constant, arithmetic operation, conversion or call in the lanes of the mask. Throws Fault.
  void run(const lane::Statement& statement, const std::vector<ElementType>& types, Frame& frame, LaneMask mask);
  /// Runs a function; the results stay valid until it runs again.
  std::vector<LaneVector> call(std::uint32_t function, std::span<const LaneVector> arguments, LaneMask mask);
  /// How many results a function has.
  std::size_t results(std::uint32_t function) const { return module_.functions[function].returns.size(); }

 private:
  void arithmetic(const lane::Statement& statement, const std::vector<ElementType>& types, Frame& frame, LaneMask mask);

  const lane::Module& module_;
  std::uint32_t width_;
  std::vector<Frame> frames_;  ///< of each function: none can be active twice, since a function calls earlier ones only
};

}  // namespace lanefold::machine
