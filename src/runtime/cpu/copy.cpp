#include "runtime/cpu/copy.h"

#include <algorithm>
#include <cstring>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace lanefold::runtime {
namespace {

constexpr std::int64_t kPart = 4096;

/// The part of the words that each threadgroup copies.
struct Part {
  std::byte* target;
  const std::byte* source;
  std::int64_t bytes;
};

Part part(const lane::ArgumentWord* words, std::int64_t begin, std::int64_t end) {
  const std::int64_t all = words[2].integer;
  const std::int64_t from = std::min(begin * kPart, all), to = std::min(end * kPart, all);
  return {static_cast<std::byte*>(words[0].pointer) + from, static_cast<const std::byte*>(words[1].pointer) + from,
          to - from};
}

void copy_cached(const lane::ArgumentWord* words, std::int64_t begin, std::int64_t end, std::byte*) {
  const Part p = part(words, begin, end);
  std::memcpy(p.target, p.source, static_cast<std::size_t>(p.bytes));
}

#if defined(__SSE2__)
void copy_streaming(const lane::ArgumentWord* words, std::int64_t begin, std::int64_t end, std::byte*) {
  const Part p = part(words, begin, end);
  for (std::int64_t at = 0; at < p.bytes; at += 64)
    for (std::int64_t i = 0; i < 64; i += 16)
      _mm_stream_si128(reinterpret_cast<__m128i*>(p.target + at + i),
                       _mm_load_si128(reinterpret_cast<const __m128i*>(p.source + at + i)));
}
#else
constexpr auto copy_streaming = copy_cached;
#endif

}  // namespace

void copy(std::byte* target, const std::byte* source, std::int64_t bytes, CopyStores stores, Executor& executor) {
  lane::ArgumentWord words[3];
  words[0].pointer = target;
  words[1].pointer = const_cast<std::byte*>(source);
  words[2].integer = bytes;
  const bool streaming = stores == CopyStores::streaming;
  executor.run({.entry = streaming ? copy_streaming : copy_cached,
                .arguments = words,
                .threadgroups = (bytes + kPart - 1) / kPart,
                .shared_bytes = 0,
                .bytes = 2 * bytes,
                .streaming = streaming});
}

}  // namespace lanefold::runtime
