// qsa_merge: attention over chunks of the keys left partial states; one threadgroup merges those of one head.
#include <cfloat>

#include "kernels/hand_written_modules.h"
#include "kernels/prepared_sums.h"

namespace lanefold::kernels {
namespace {

constexpr ElementType kF32 = ElementType::f32;

class QsaMerge {
 public:
  explicit QsaMerge(const ModuleSizes& sizes)
      : tokens_(sizes.at("tokens")),
        kv_heads_(sizes.at("kv_heads")),
        heads_(sizes.at("heads")),
        size_(sizes.at("head_size")),
        chunks_(sizes.at("chunks")),
        planes_(sizes.at("planes")),
        all_heads_(kv_heads_ * heads_),
        f_("qsa_merge", sizes.simd_width, size_ / sizes.simd_width, tokens_ * all_heads_),
        b_(f_.builder()) {}

  lane::Module build(std::string_view form) {
    const std::uint32_t acc = f_.input("acc", {tokens_, kv_heads_, chunks_, heads_, size_});
    const std::uint32_t m = f_.input("m", {tokens_, kv_heads_, chunks_, heads_});
    const std::uint32_t l = f_.input("l", {tokens_, kv_heads_, chunks_, heads_});
    const std::uint32_t gate = f_.input("gate", {tokens_, all_heads_, size_});
    const std::int64_t elements = all_heads_ * size_;
    const std::uint32_t merged = f_.output("merged", {tokens_, all_heads_, size_});
    const std::uint32_t planes = f_.output("planes", {tokens_, planes_, elements / planes_});
    const std::uint32_t sums = f_.output("sums", {tokens_, elements / kSumColumns});

    b_.comment("threadgroup = (token · kv_heads + kv head) · heads + head");
    const ValueId thread = f_.thread();
    const ValueId head = f_.remainder(b_.threadgroup(), heads_);
    first_ = f_.at(head, f_.quotient(b_.threadgroup(), heads_), chunks_ * heads_);
    const ValueId merge = merged_state(acc, m, l, thread);
    const ValueId address = f_.at(thread, b_.threadgroup(), size_);
    const ValueId value = f_.canonical(b_.mul(merge, f_.sigmoid(f_.load(gate, address))));
    f_.store_canonical(merged, address, value);
    const ValueId in_token = f_.at(thread, f_.remainder(b_.threadgroup(), all_heads_), size_);
    emit_planes(f_, planes, f_.quotient(b_.threadgroup(), all_heads_), in_token, elements, planes_, value);
    emit_sums(f_, form,
              {.value = value,
               .count = size_ / kSumColumns,
               .places = size_ / kSumColumns,
               .sums = sums,
               .first = b_.mul(b_.threadgroup(), f_.i64(size_ / kSumColumns))});
    return f_.finish();
  }

 private:
  /// Address of a chunk's m and l.
  ValueId state(ValueId chunk) { return f_.at(first_, chunk, heads_); }

  /// a/L of the states merged in ascending order; 0 where all chunks are empty.
  ValueId merged_state(std::uint32_t acc, std::uint32_t m, std::uint32_t l, ValueId thread) {
    const std::uint32_t highest = f_.registers("highest");
    const std::uint32_t total = f_.registers("total");
    const std::uint32_t weighted = f_.registers("weighted");
    b_.comment("highest score of all chunks");
    b_.set(highest, 0, b_.f32(-FLT_MAX));
    b_.loop(f_.i64(0), f_.i64(chunks_), f_.i64(1), [&](ValueId chunk) {
      b_.set(highest, 0, b_.binary(lane::Op::max, b_.get(highest, 0, kF32), f_.load(m, state(chunk))));
    });
    b_.comment("weigh the states of the chunks that saw a key");
    b_.set(total, 0, b_.f32(0));
    b_.set(weighted, 0, b_.f32(0));
    b_.loop(f_.i64(0), f_.i64(chunks_), f_.i64(1), [&](ValueId chunk) {
      const ValueId address = state(chunk);
      const ValueId score = f_.load(m, address);
      b_.branch(b_.binary(lane::Op::ne, score, b_.f32(-FLT_MAX)), [&] {
        const ValueId weight = f_.exp(b_.sub(score, b_.get(highest, 0, kF32)));
        b_.set(total, 0, f_.fma(f_.load(l, address), weight, b_.get(total, 0, kF32)));
        const ValueId element = f_.load(acc, f_.at(thread, address, size_));
        b_.set(weighted, 0, f_.fma(element, weight, b_.get(weighted, 0, kF32)));
      });
    });
    const ValueId sum = b_.get(total, 0, kF32);
    const ValueId mean = f_.divide(b_.get(weighted, 0, kF32), sum);
    return f_.select(b_.binary(lane::Op::ne, sum, b_.f32(0)), mean, b_.f32(0));
  }

  std::int64_t tokens_, kv_heads_, heads_, size_, chunks_, planes_, all_heads_;
  ModuleFrame f_;
  lane::Builder& b_;
  ValueId first_ = 0;
};

Result<lane::Module> build(std::string_view form, const ModuleSizes& sizes) {
  const std::int64_t size = sizes.at("head_size");
  LANEFOLD_CHECK(check_sums_of_16("qsa_merge", sizes));
  LANEFOLD_CHECK(check_multiple("qsa_merge", "head_size", size, sizes.simd_width, "a thread per element"));
  LANEFOLD_CHECK(check_threads("qsa_merge", sizes, size / sizes.simd_width));
  LANEFOLD_CHECK(check_multiple("qsa_merge", "kv_heads · heads · head_size",
                                sizes.at("kv_heads") * sizes.at("heads") * size, sizes.at("planes"), "equal planes"));
  return QsaMerge(sizes).build(form);
}

}  // namespace

HandWritten qsa_merge_module() {
  return {
      .name = "qsa_merge",
      .summary = "merges partial attention states over chunks and gates the result, with planes and sums of 16",
      .formula = "M = max m; w = exp(m − M); merged = (Σ acc·w / Σ l·w)·sigmoid(gate), 0 where no chunk saw a key",
      .forms = sum_forms(),
      .sizes = {{"tokens", 8, 1, 8, "tokens of one step"},
                {"kv_heads", 2, 1, 64, "key and value heads"},
                {"heads", 12, 1, 128, "query heads per kv head"},
                {"head_size", 256, 16, 1024, "elements of a head"},
                {"chunks", 8, 1, 4096, "chunks of the keys"},
                {"planes", 4, 1, 16, "planes of a token's merged values"}},
      .has_weights = false,
      .absolute_tolerance = 1e-5,
      .relative_tolerance = 1e-4,
      .build = build,
  };
}

}  // namespace lanefold::kernels
