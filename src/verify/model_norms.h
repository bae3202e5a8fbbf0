// The norms of a decode step of known models: what they read in the old form and in the planned one.
#pragma once

#include <string_view>
#include <vector>

#include "verify/module_inputs.h"
#include "verify/module_run.h"

namespace lanefold::verify {

/// One kind of norm launch in a decode step.
struct ModelNorm {
  std::string_view op;         ///< operator of the library
  std::int64_t cols = 0;       ///< of one row, the token
  std::int64_t per_layer = 0;  ///< launches in each layer
};

struct ModelNorms {
  std::string_view name;  ///< as --model takes it
  std::string_view summary;
  std::int64_t layers = 0;
  std::vector<ModelNorm> norms;
};
const std::vector<ModelNorms>& model_norms();

/// The launches of one kind, counted once each way on the lane machine.
struct ModelNormCount {
  ModelNorm norm;
  machine::Counts per_lane, planned;
  std::int64_t launches = 0;                                      ///< of all layers
  std::uint64_t fold_reads_per_lane = 0, fold_reads_planned = 0;  ///< elements that the folds of one launch read
};
struct ModelCount {
  std::vector<ModelNormCount> norms;
  /// Elements that the folds of a decode step read more often in the old form than once.
  std::uint64_t redundant_reads() const;
};

/// Runs every kind of launch in both forms, planned for the target.
Result<ModelCount> count_model(const ModelNorms& model, const target::Target& target);

/// Elements that loads of the fold phases read: those behind a comment that begins with "fold".
std::uint64_t fold_reads(const machine::Counts& counts);

}  // namespace lanefold::verify
