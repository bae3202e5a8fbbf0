// What gr_up and gr_up3 share: a threadgroup mixes one tile of 16 columns of the streams, for all tokens.
#pragma once

#include <functional>
#include <string_view>

#include "kernels/module_frame.h"
#include "kernels/prepared_sums.h"

namespace lanefold::kernels {

/// Sizes of the two modules: tokens, hidden, streams, rank, planes, simd_groups.
std::vector<SizeFact> mixer_sizes();
/// Refuses sizes that do not make whole tiles, rows, planes or blocks.
Status check_mixer(std::string_view module, const ModuleSizes& sizes);

/// The kernel of a tile. The module declares its inputs up to wu, then calls the members in their order.
class MixerTile {
 public:
  MixerTile(std::string_view module, const ModuleSizes& sizes);

  ModuleFrame& frame() { return f_; }
  /// Declares wu [streams·hidden, rank] and the outputs mixed, planes and sums.
  void declare(WeightFormat format);
  /// dots[stream, column, token] = wu[stream·hidden + tile column] · lo[token], then a barrier. `lo` gives the f32 at
  /// (token, k); each SIMD group takes rows in turn.
  void dots(const std::function<ValueId(std::uint32_t token, ValueId k)>& lo);
  /// mixed = ¼ Σ x·sigmoid(dot) over ascending streams, with its planes and sums. `x` gives the f32 at (token, stream, column);
  /// it is called once per stream, for threads with a token.
  void mix(std::string_view form, const std::function<ValueId(ValueId token, std::int64_t stream, ValueId column)>& x);

  std::int64_t tokens() const { return tokens_; }
  std::int64_t hidden() const { return hidden_; }
  std::int64_t streams() const { return streams_; }
  std::int64_t rank() const { return rank_; }

 private:
  std::int64_t tokens_, hidden_, streams_, rank_, planes_count_;
  ModuleFrame f_;
  lane::Builder& b_;
  Weights wu_;
  std::uint32_t mixed_ = 0, planes_ = 0, sums_ = 0, dots_ = 0;
};

}  // namespace lanefold::kernels
