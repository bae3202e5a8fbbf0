// The floating-point environment that every result here is defined in.
#pragma once

#include <cstdint>

#if defined(__SSE2__) || defined(_M_X64)
#include <xmmintrin.h>
#endif

namespace lanefold {

/// While it lives, this thread rounds to nearest even, keeps subnormals and masks every exception, whatever the caller
/// had set; the caller's environment comes back at the end.
class FloatEnvironment {
 public:
  FloatEnvironment() : saved_(read()) { write(kDefault); }
  ~FloatEnvironment() { write(saved_); }
  FloatEnvironment(const FloatEnvironment&) = delete;
  FloatEnvironment& operator=(const FloatEnvironment&) = delete;

 private:
#if defined(__SSE2__) || defined(_M_X64)
  using Word = std::uint32_t;
  static constexpr Word kDefault = 0x1f80;  // MXCSR: exceptions masked, nearest, no FTZ, no DAZ
  static Word read() { return _mm_getcsr(); }
  static void write(Word word) { _mm_setcsr(word); }
#elif defined(__aarch64__)
  using Word = std::uint64_t;
  static constexpr Word kDefault = 0;  // FPCR: nearest, no FZ, no default NaN
  static Word read() {
    Word word;
    asm volatile("mrs %0, fpcr" : "=r"(word));
    return word;
  }
  static void write(Word word) { asm volatile("msr fpcr, %0" : : "r"(word) : "memory"); }
#else
#error "FloatEnvironment knows x86-64 and AArch64 only"
#endif

  Word saved_;
};

}  // namespace lanefold
