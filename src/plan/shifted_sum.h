// Sums of exponentials that are shifted by the row's maximum, which an order that is free may fold together with it.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/program.h"

namespace lanefold::plan {

/// Two folds of the row: max x, and sum exp(x − max x).
struct ShiftedSum {
  std::uint32_t max = 0;
  std::uint32_t sum = 0;
};

/// Those of the program whose difference x − max x and whose exponential nothing else needs: then lanes may shift by a maximum of
/// their own, and scale their sums when they merge (Milakov and Gimelshein, Online normalizer calculation for softmax, 2018).
std::vector<ShiftedSum> shifted_sums(const ir::Program& program);

}  // namespace lanefold::plan
