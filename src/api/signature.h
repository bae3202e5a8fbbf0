// The inputs and outputs of a program as its text declares them, and the calls that name them so: the program itself has an input
// for each place of an inner axis, and two for codes and scales of a quantised block.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/arguments.h"
#include "ir/program.h"
#include "lanefold/lanefold.h"

namespace lanefold::api {

/// One declaration: the ports [first, first + count) of the program.
struct Declared {
  const char* what = "input";  ///< or "output"
  std::string name;
  ir::Part::Role role = ir::Part::Role::whole;
  ir::Kind kind;
  std::size_t first = 0, count = 1;
  bool has_stand_in = false;  ///< an input that could have been compiled away
};

struct Signature {
  explicit Signature(const ir::Program& program);
  std::vector<Declared> inputs, outputs;
  /// Whether every declaration is one port.
  bool plain = true;
};

/// A declaration as the facade tells it.
Port port_of(const ir::Program& program, const Declared& declared, bool output);

using MatrixList = FixedList<ConstMatrix, ir::kMaxNames>;
using TensorList = FixedList<ConstTensor, ir::kMaxNames>;

/// The ports of the program for arrays of the declarations. Throws where an array cannot be taken apart: it is no q8_0, its blocks have gaps,
/// or the size of its inner axis is another.
void take_apart(const std::vector<Declared>& declared, std::span<const ConstMatrix> arrays, MatrixList& ports);
void take_apart(const std::vector<Declared>& declared, std::span<const ConstTensor> arrays, TensorList& ports);

}  // namespace lanefold::api
