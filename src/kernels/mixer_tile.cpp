#include "kernels/mixer_tile.h"

#include <fmt/format.h>

#include "kernels/hand_written_modules.h"

namespace lanefold::kernels {
namespace {

constexpr std::int64_t kTile = kSumColumns;  ///< columns, so that a tile makes one sum per token
constexpr std::int64_t kMostTokens = 8;      ///< for which arrays have places

}  // namespace

std::vector<SizeFact> mixer_sizes() {
  return {
      {"tokens", 8, 1, kMostTokens, "tokens of one step"},  {"hidden", 2560, 16, 65536, "elements of a stream"},
      {"streams", 4, 1, 16, "residual streams of a token"}, {"rank", 320, 1, 4096, "columns of wu"},
      {"planes", 4, 1, 16, "planes of the mixed values"},   {"simd_groups", 8, 1, 32, "SIMD groups of a threadgroup"}};
}

Status check_mixer(std::string_view module, const ModuleSizes& sizes) {
  const std::int64_t groups = sizes.at("simd_groups");
  LANEFOLD_CHECK(check_sums_of_16(module, sizes));
  LANEFOLD_CHECK(check_threads(module, sizes, groups));
  if (groups * sizes.simd_width < kTile * kMostTokens)
    return misfit(module,
                  fmt::format("{} SIMD groups of {} lanes are fewer than {} threads", groups, sizes.simd_width,
                              kTile * kMostTokens),
                  fmt::format("at that width, use {} SIMD groups or more", kTile * kMostTokens / sizes.simd_width));
  LANEFOLD_CHECK(check_multiple(module, "16 · streams", kTile * sizes.at("streams"), groups,
                                "each SIMD group takes as many rows of a tile"));
  LANEFOLD_CHECK(check_multiple(module, "hidden", sizes.at("hidden"), kTile, "whole tiles of columns"));
  LANEFOLD_CHECK(check_multiple(module, "hidden", sizes.at("hidden"), sizes.at("planes"), "equal planes"));
  if (sizes.weights != WeightFormat::q8_0) return success();
  return check_multiple(module, "rank", sizes.at("rank"), 32, "whole q8_0 blocks");
}

MixerTile::MixerTile(std::string_view module, const ModuleSizes& sizes)
    : tokens_(sizes.at("tokens")),
      hidden_(sizes.at("hidden")),
      streams_(sizes.at("streams")),
      rank_(sizes.at("rank")),
      planes_count_(sizes.at("planes")),
      f_(module, sizes.simd_width, sizes.at("simd_groups"), hidden_ / kTile),
      b_(f_.builder()) {}

void MixerTile::declare(WeightFormat format) {
  wu_ = f_.weights("wu", format, streams_ * hidden_, rank_);
  mixed_ = f_.output("mixed", {tokens_, hidden_});
  planes_ = f_.output("planes", {tokens_, planes_count_, hidden_ / planes_count_});
  sums_ = f_.output("sums", {tokens_, hidden_ / kTile});
  dots_ = f_.shared("dots", streams_ * kTile * kMostTokens);
}

void MixerTile::dots(const std::function<ValueId(std::uint32_t, ValueId)>& lo) {
  const std::uint32_t acc = f_.registers("acc", tokens_);
  const auto tokens = static_cast<std::uint32_t>(tokens_);
  b_.comment("dots: SIMD groups take the tile's rows (stream, column) in turn");
  b_.loop(f_.i64(0), f_.i64(streams_ * kTile), f_.i64(f_.simd_groups()), [&](ValueId first) {
    const ValueId tile_row = b_.add(first, f_.simd_group());
    const ValueId column = f_.at(f_.remainder(tile_row, kTile), b_.threadgroup(), kTile);
    const WeightRow weights = f_.row(wu_, f_.at(column, f_.quotient(tile_row, kTile), hidden_));
    for (std::uint32_t t = 0; t < tokens; ++t) b_.set(acc, t, b_.f32(0));
    b_.comment("one load of a weight serves all tokens");
    f_.strided(f_.lane(), rank_, f_.simd_width(), [&](ValueId k) {
      const ValueId weight = f_.load(weights, k);
      for (std::uint32_t t = 0; t < tokens; ++t)
        b_.set(acc, t, f_.fma(weight, lo(t, k), b_.get(acc, t, ElementType::f32)));
    });
    std::vector<ValueId> totals;
    for (std::uint32_t t = 0; t < tokens; ++t) totals.push_back(f_.sum_lanes(b_.get(acc, t, ElementType::f32)));
    b_.branch(f_.equal(b_.lane(), b_.i32(0)), [&] {
      const ValueId place = b_.mul(f_.narrow(tile_row), b_.i32(kMostTokens));
      for (std::uint32_t t = 0; t < tokens; ++t)
        b_.shared_store(dots_, b_.add(place, b_.i32(static_cast<std::int32_t>(t))), totals[t]);
    });
  });
  b_.barrier();
}

void MixerTile::mix(std::string_view form, const std::function<ValueId(ValueId, std::int64_t, ValueId)>& x) {
  const std::uint32_t value = f_.registers("value");
  b_.comment("mix: thread = token · 16 + column of the tile");
  const ValueId thread = f_.narrow_thread();
  const ValueId token = f_.quotient(thread, kTile);
  const ValueId local = f_.remainder(thread, kTile);
  b_.set(value, 0, b_.f32(0));
  b_.branch(f_.less(token, b_.i32(static_cast<std::int32_t>(tokens_))), [&] {
    const ValueId column = f_.at(f_.wide(local), b_.threadgroup(), kTile);
    const ValueId place = b_.add(b_.mul(local, b_.i32(kMostTokens)), token);
    const ValueId row = f_.wide(token);
    ValueId sum = 0;
    for (std::int64_t c = 0; c < streams_; ++c) {
      const ValueId index = b_.add(place, b_.i32(static_cast<std::int32_t>(c * kTile * kMostTokens)));
      const ValueId gate = f_.sigmoid(b_.shared_load(dots_, ElementType::f32, index));
      const ValueId element = x(row, c, column);
      sum = c == 0 ? b_.mul(element, gate) : f_.fma(element, gate, sum);
    }
    const ValueId mixed = f_.canonical(b_.mul(sum, b_.f32(0.25f)));
    b_.set(value, 0, mixed);
    f_.store_canonical(mixed_, f_.at(column, row, hidden_), mixed);
    emit_planes(f_, planes_, row, column, hidden_, planes_count_, mixed);
  });
  emit_sums(f_, form,
            {.value = b_.get(value, 0, ElementType::f32),
             .count = tokens_,
             .places = kMostTokens,
             .sums = sums_,
             .first = b_.threadgroup(),
             .stride = hidden_ / kTile});
}

}  // namespace lanefold::kernels
