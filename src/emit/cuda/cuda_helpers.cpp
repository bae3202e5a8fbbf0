#include "emit/cuda/cuda_helpers.h"

#include <vector>

#include "base/diagnostic.h"

namespace lanefold::emit {
namespace {

struct Helper {
  std::string_view name;
  std::vector<std::string_view> needs;
  std::string_view text;
  std::string_view group;  ///< a comment above the first helper of the group that is printed
};

constexpr std::string_view kTypes = "Storage types, by their bits.";
constexpr std::string_view kExact =
    "Arithmetic in PTX, rounded to nearest even and with subnormals: no compiler option, such as --use_fast_math or\n"
    "--fmad, changes it.";
constexpr std::string_view kFast = "What the device has, not rounded as IEEE 754 says.";
constexpr std::string_view kWrap = "Integers that wrap.";
constexpr std::string_view kNarrow = "Storage types to f32 and back, to nearest even; every NaN becomes one.";
constexpr std::string_view kPairs =
    "Both halves of words of two bf16 are compared: 0xffff in a half where it is so, else 0.";
constexpr std::string_view kShort = "The same bits on a shorter way, which most arguments take.";
constexpr std::string_view kLanes = "Exchange between the lanes of a warp.";
constexpr std::string_view kMemory = "Memory.";
constexpr std::string_view kWords =
    "What the words hold is new to the compiler: it unpacks them again where they are used, and holds no values "
    "twice\nas wide until then.";

#define LANEFOLD_DEVICE "__device__ __forceinline__ "
#define LANEFOLD_UNARY(name, instruction)                                         \
  {#name,                                                                         \
   {},                                                                            \
   LANEFOLD_DEVICE "float " #name "(float a) {\n  float r;\n  asm(\"" instruction \
                   " %0, %1;\" : \"=f\"(r) : \"f\"(a));\n  return r;\n}\n",       \
   kExact}
#define LANEFOLD_BINARY(name, instruction)                                                 \
  {#name,                                                                                  \
   {},                                                                                     \
   LANEFOLD_DEVICE "float " #name "(float a, float b) {\n  float r;\n  asm(\"" instruction \
                   " %0, %1, %2;\" : \"=f\"(r) : \"f\"(a), \"f\"(b));\n  return r;\n}\n",  \
   kExact}
#define LANEFOLD_COMPARE(name, relation)                                                                  \
  {#name,                                                                                                 \
   {},                                                                                                    \
   LANEFOLD_DEVICE "bool " #name "(float a, float b) {\n  int r;\n  asm(\"{ .reg .pred p; setp." relation \
                   ".f32 p, %1, %2; selp.s32 %0, 1, 0, p; }\" : \"=r\"(r) : \"f\"(a), \"f\"(b));\n"       \
                   "  return r != 0;\n}\n",                                                               \
   kExact}
#define LANEFOLD_GIVE(bytes, integer, type, constraint)                                                                \
  {"give:" bytes,                                                                                                      \
   {"shared_address"},                                                                                                 \
   "// Lane r writes the bits to the same place in block r of the cluster, where they count as "                       \
   "arrived.\n" LANEFOLD_DEVICE "void give(const void* place, unsigned " integer                                       \
   " bits, const void* arrived, int blocks) {\n  const unsigned int block = threadIdx.x % 32;\n"                       \
   "  if (block < blocks)\n"                                                                                           \
   "    asm volatile(\"{ .reg .u32 to, by; mapa.shared::cluster.u32 to, %0, %3; mapa.shared::cluster.u32 by, %2, %3; " \
   "\"\n"                                                                                                              \
   "                 \"st.async.weak.shared::cluster.mbarrier::complete_tx::bytes." type                               \
   " [to], %1, [by]; }\"\n"                                                                                            \
   "                 :: \"r\"(shared_address(place)), \"" constraint                                                   \
   "\"(bits), \"r\"(shared_address(arrived)), \"r\"(block) : \"memory\");\n}\n",                                       \
   kMemory}
#define LANEFOLD_PAIR(name, instruction)                                    \
  LANEFOLD_DEVICE "unsigned int " name                                      \
                  "(unsigned int a, unsigned int b) {\n  unsigned int r;\n" \
                  "  asm(\"" instruction " %0, %1, %2;\" : \"=r\"(r) : \"r\"(a), \"r\"(b));\n  return r;\n}\n"
#define LANEFOLD_COMPARE_PAIR(name, relation)                                                               \
  {name,                                                                                                    \
   {},                                                                                                      \
   LANEFOLD_DEVICE                                                                                          \
   "unsigned int " name                                                                                     \
   "(unsigned int a, unsigned int b) {\n  unsigned int r;\n#if __CUDA_ARCH__ >= 900\n  asm(\"set." relation \
   ".u32.bf16x2 %0, %1, %2;\" : \"=r\"(r) : \"r\"(a), \"r\"(b));\n#else\n"                                  \
   "  asm(\"{ .reg .b32 a, b, c, d; shl.b32 a, %1, 16; shl.b32 b, %2, 16; and.b32 c, %1, 0xffff0000; \"\n"  \
   "      \"and.b32 d, %2, 0xffff0000; set." relation ".u32.f32 a, a, b; set." relation                     \
   ".u32.f32 c, c, d; \"\n      \"prmt.b32 %0, a, c, 0x7610; }\" : \"=r\"(r) : \"r\"(a), \"r\"(b));\n"      \
   "#endif\n  return r;\n}\n",                                                                              \
   kPairs}
#define LANEFOLD_LEADING_PAIR(name, better, extreme)                                                                  \
  {name,                                                                                                              \
   {better, extreme, "equal_pair", "nan_pair", "equal_or_nan_pair"},                                                  \
   "// The steps over the low halves, and over the high halves, of the pairs, whose columns ascend: the leading "     \
   "pair, and its "                                                                                                   \
   "offsets.\n"                                                                                                       \
   "template <int count>\n" LANEFOLD_DEVICE "void " name                                                              \
   "(const unsigned int (&pairs)[count], const unsigned int (&offsets)[count], unsigned int& leading, unsigned int& " \
   "at) {\n"                                                                                                          \
   "  leading = pairs[0];\n  at = offsets[0];\n"                                                                      \
   "#pragma unroll\n  for (int i = 1; i < count; ++i) {\n"                                                            \
   "    const unsigned int takes = " better                                                                           \
   "(pairs[i], leading);\n"                                                                                           \
   "    at = offsets[i] & takes | at & ~takes;\n    leading = " extreme                                               \
   "(leading, pairs[i]);\n  }\n"                                                                                      \
   "  // A NaN has stayed to the end, and a zero may have lost its sign: the first NaN leads, or the first of "       \
   "equals.\n"                                                                                                        \
   "  if (__builtin_expect(equal_or_nan_pair(leading, 0) == 0, 1)) return;\n"                                         \
   "  const unsigned int found = leading;\n"                                                                          \
   "#pragma unroll\n  for (int i = count - 1; i >= 0; --i) {\n"                                                       \
   "    const unsigned int takes = equal_pair(pairs[i], found) | nan_pair(pairs[i], pairs[i]);\n"                     \
   "    at = offsets[i] & takes | at & ~takes;\n    leading = pairs[i] & takes | leading & ~takes;\n  }\n}\n",        \
   kShort}
#define LANEFOLD_LEADING_LANE(name, need, sum)                                                                      \
  {name,                                                                                                            \
   {need},                                                                                                          \
   "// The merge of all lanes: NaN comes first, then what leads as an integer, then the lowest column; of several " \
   "lanes that have it, the "                                                                                       \
   "first.\n" LANEFOLD_DEVICE "void " name                                                                          \
   "(float& value, int& column) {\n"                                                                                \
   "  // A sum is never -0, and its NaN is 0x7fffffff.\n"                                                           \
   "  const int bits = __float_as_int(" sum                                                                         \
   "), order = bits ^ (bits >> 31 & 0x7fffffff);\n"                                                                 \
   "  const bool leads = order == __reduce_max_sync(0xffffffffu, order);\n"                                         \
   "  const int lowest = __reduce_min_sync(0xffffffffu, leads ? column : 0x7fffffff);\n"                            \
   "  const unsigned int lanes = __ballot_sync(0xffffffffu, leads & column == lowest);\n"                           \
   "  value = __shfl_sync(0xffffffffu, value, __ffs(lanes) - 1);\n  column = lowest;\n}\n",                         \
   kLanes}
#define LANEFOLD_EXTREME_LANE(name, reduction, nan)                                                   \
  {name,                                                                                              \
   {"is_nan"},                                                                                        \
   "// Of all lanes, as integers of the same order; NaN comes first.\n" LANEFOLD_DEVICE "float " name \
   "(float value) {\n"                                                                                \
   "  const int bits = __float_as_int(value), order = is_nan(value) ? " nan                           \
   " : bits ^ (bits >> 31 & 0x7fffffff);\n"                                                           \
   "  const int first = __reduce_" reduction                                                          \
   "_sync(0xffffffffu, order);\n"                                                                     \
   "  return __int_as_float(first ^ (first >> 31 & 0x7fffffff));\n}\n",                               \
   kLanes}
#define LANEFOLD_LOAD(type, instruction, outputs)                                    \
  {"load_once:" #type,                                                               \
   {},                                                                               \
   LANEFOLD_DEVICE #type " load_once(const " #type "* p) {\n  " #type                \
                         " r;\n"                                                     \
                         "  asm volatile(\"ld.global.cs." instruction ", [%" outputs \
                         " : \"l\"(p) : \"memory\");\n  return r;\n}\n",             \
   kMemory}

// clang-format off: texts
const std::vector<Helper>& table() {
  static const std::vector<Helper> kTable = {
      {"bf16", {}, "using bf16 = unsigned short;\n", kTypes},
      {"f16", {}, "using f16 = unsigned short;\n", kTypes},
      {"e4m3", {}, "using e4m3 = unsigned char;\n", kTypes},
      {"e5m2", {}, "using e5m2 = unsigned char;\n", kTypes},
      {"boolean", {}, "using boolean = unsigned char;\n", kTypes},
      LANEFOLD_BINARY(add, "add.rn.f32"),
      LANEFOLD_BINARY(sub, "sub.rn.f32"),
      LANEFOLD_BINARY(mul, "mul.rn.f32"),
      LANEFOLD_BINARY(div, "div.rn.f32"),
      {"fma", {}, LANEFOLD_DEVICE "float fma(float a, float b, float c) {\n  float r;\n"
       "  asm(\"fma.rn.f32 %0, %1, %2, %3;\" : \"=f\"(r) : \"f\"(a), \"f\"(b), \"f\"(c));\n  return r;\n}\n", kExact},
      LANEFOLD_UNARY(neg, "neg.f32"),
      LANEFOLD_UNARY(abs, "abs.f32"),
      LANEFOLD_UNARY(sqrt, "sqrt.rn.f32"),
      LANEFOLD_UNARY(trunc, "cvt.rzi.f32.f32"),
      LANEFOLD_BINARY(minimum, "min.NaN.f32"),
      LANEFOLD_BINARY(maximum, "max.NaN.f32"),
      LANEFOLD_COMPARE(less, "lt"),
      LANEFOLD_COMPARE(less_equal, "le"),
      LANEFOLD_COMPARE(greater, "gt"),
      LANEFOLD_COMPARE(greater_equal, "ge"),
      LANEFOLD_COMPARE(equal, "eq"),
      LANEFOLD_COMPARE(not_equal, "neu"),
      {"fast_exp", {}, "// Results below 2^-126 become 0, which saves the scaling that __expf takes for them.\n" LANEFOLD_DEVICE
       "float fast_exp(float a) {\n  float r;\n"
       "  asm(\"ex2.approx.ftz.f32 %0, %1;\" : \"=f\"(r) : \"f\"(a * 1.44269504f));\n  return r;\n}\n", kFast},
      {"is_nan", {}, LANEFOLD_DEVICE "bool is_nan(float a) {\n  int r;\n"
       "  asm(\"{ .reg .pred p; setp.nan.f32 p, %1, %1; selp.s32 %0, 1, 0, p; }\" : \"=r\"(r) : \"f\"(a));\n"
       "  return r != 0;\n}\n", kExact},
      {"canonical_nan", {"is_nan"},
       LANEFOLD_DEVICE "float canonical_nan(float a) { return is_nan(a) ? __int_as_float(0x7fc00000) : a; }\n", kExact},
      {"to_i32", {}, LANEFOLD_DEVICE "int to_i32(float a) {\n  int r;\n"
       "  asm(\"cvt.rzi.s32.f32 %0, %1;\" : \"=r\"(r) : \"f\"(a));\n  return r;\n}\n", kExact},
      {"wrap_add", {}, LANEFOLD_DEVICE
       "int wrap_add(int a, int b) { return static_cast<int>(static_cast<unsigned int>(a) + static_cast<unsigned int>(b)); }\n",
       kWrap},
      {"wrap_sub", {}, LANEFOLD_DEVICE
       "int wrap_sub(int a, int b) { return static_cast<int>(static_cast<unsigned int>(a) - static_cast<unsigned int>(b)); }\n",
       kWrap},
      {"wrap_mul", {}, LANEFOLD_DEVICE
       "int wrap_mul(int a, int b) { return static_cast<int>(static_cast<unsigned int>(a) * static_cast<unsigned int>(b)); }\n",
       kWrap},
      {"wrap_shift", {}, LANEFOLD_DEVICE
       "int wrap_shift(int a, int bits) { return static_cast<int>(static_cast<unsigned int>(a) << bits); }\n", kWrap},
      {"from_bf16", {"bf16"}, LANEFOLD_DEVICE
       "float from_bf16(bf16 bits) { return __uint_as_float(static_cast<unsigned int>(bits) << 16); }\n", kNarrow},
      {"bf16_low", {}, LANEFOLD_DEVICE "float bf16_low(unsigned int pair) { return __uint_as_float(pair << 16); }\n",
       kNarrow},
      {"bf16_high", {}, LANEFOLD_DEVICE
       "float bf16_high(unsigned int pair) { return __uint_as_float(pair & 0xffff0000u); }\n", kNarrow},
      {"minimum_pair", {}, LANEFOLD_PAIR("minimum_pair", "min.NaN.bf16x2"), kNarrow},
      {"maximum_pair", {}, LANEFOLD_PAIR("maximum_pair", "max.NaN.bf16x2"), kNarrow},
      {"round_to_bf16", {"is_nan"},
       "// Rounded in the upper half; the lower half means nothing.\n" LANEFOLD_DEVICE
       "unsigned int round_to_bf16(float a) {\n  const unsigned int bits = __float_as_uint(a);\n"
       "  return is_nan(a) ? 0x7fc00000u : bits + 0x7fffu + (bits >> 16 & 1u);\n}\n", kNarrow},
      {"to_bf16", {"bf16", "round_to_bf16"}, LANEFOLD_DEVICE
       "bf16 to_bf16(float a) { return static_cast<bf16>(round_to_bf16(a) >> 16); }\n", kNarrow},
      {"pack_bf16", {}, "// The device rounds as IEEE 754 does, but its NaN is 0x7fff: as a signed integer above all others.\n" LANEFOLD_DEVICE
       "unsigned int pack_bf16(float low, float high) {\n  unsigned int pair;\n"
       "  asm(\"cvt.rn.bf16x2.f32 %0, %1, %2;\" : \"=r\"(pair) : \"f\"(high), \"f\"(low));\n"
       "#if __CUDA_ARCH__ >= 900\n"
       "  asm(\"min.s16x2 %0, %0, %1;\" : \"+r\"(pair) : \"r\"(0x7fc07fc0u));\n"
       "#else\n"
       "  int has_nan;\n"
       "  asm(\"{ .reg .pred p; setp.nan.f32 p, %1, %2; selp.s32 %0, 1, 0, p; }\" : \"=r\"(has_nan) : \"f\"(low), \"f\"(high));\n"
       "  if (has_nan) pair &= ~(((pair & 0x7fff7fffu) + 0x00010001u >> 15 & 0x00010001u) * 0x3fu);\n"
       "#endif\n"
       "  return pair;\n}\n", kNarrow},
      {"pack_bf16_in_turn", {}, "// The same with a branch, so that no pair waits for others in registers: 12 fewer of them where rows fill them.\n" LANEFOLD_DEVICE
       "unsigned int pack_bf16_in_turn(float low, float high) {\n  unsigned int pair;\n  int has_nan;\n"
       "  asm(\"cvt.rn.bf16x2.f32 %0, %1, %2;\" : \"=r\"(pair) : \"f\"(high), \"f\"(low));\n"
       "  asm(\"{ .reg .pred p; setp.nan.f32 p, %1, %2; selp.s32 %0, 1, 0, p; }\" : \"=r\"(has_nan) : \"f\"(low), \"f\"(high));\n"
       "  if (has_nan) pair &= ~(((pair & 0x7fff7fffu) + 0x00010001u >> 15 & 0x00010001u) * 0x3fu);\n"
       "  return pair;\n}\n", kNarrow},
      {"from_f16", {"f16"}, LANEFOLD_DEVICE "float from_f16(f16 bits) {\n  float r;\n"
       "  asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(r) : \"h\"(bits));\n  return r;\n}\n", kNarrow},
      {"f16_low", {"from_f16"}, LANEFOLD_DEVICE
       "float f16_low(unsigned int pair) { return from_f16(static_cast<f16>(pair)); }\n", kNarrow},
      {"f16_high", {"from_f16"}, LANEFOLD_DEVICE
       "float f16_high(unsigned int pair) { return from_f16(static_cast<f16>(pair >> 16)); }\n", kNarrow},
      {"to_f16", {"f16", "is_nan"}, LANEFOLD_DEVICE "f16 to_f16(float a) {\n  f16 r;\n"
       "  asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(r) : \"f\"(a));\n"
       "  return is_nan(a) ? static_cast<f16>(0x7e00) : r;\n}\n", kNarrow},
      {"pack_f16", {"to_f16"}, LANEFOLD_DEVICE "unsigned int pack_f16(float low, float high) {\n"
       "#if __CUDA_ARCH__ >= 900\n"
       "  unsigned int pair;  // NaN is 0x7fff in it\n"
       "  asm(\"cvt.rn.f16x2.f32 %0, %1, %2;\" : \"=r\"(pair) : \"f\"(high), \"f\"(low));\n"
       "  asm(\"min.s16x2 %0, %0, %1;\" : \"+r\"(pair) : \"r\"(0x7e007e00u));\n"
       "  return pair;\n"
       "#else\n"
       "  return to_f16(low) | static_cast<unsigned int>(to_f16(high)) << 16;\n"
       "#endif\n}\n",
       kNarrow},
      {"from_e4m3", {"e4m3", "mul"},
       "// Shifted into the place of an f32's exponent the bits are the number times 2^-120.\n" LANEFOLD_DEVICE
       "float from_e4m3(unsigned int bits) {\n"
       "  if ((bits & 0x7fu) == 0x7fu) return __int_as_float(0x7fc00000);\n"
       "  return mul(__uint_as_float((bits & 0x80u) << 24 | (bits & 0x7fu) << 20), __int_as_float(0x7b800000));\n}\n",
       kNarrow},
      {"from_e5m2", {"e5m2", "from_f16"}, LANEFOLD_DEVICE
       "float from_e5m2(unsigned int bits) { return from_f16(static_cast<f16>(bits << 8)); }\n", kNarrow},
      {"to_fp8", {"add", "is_nan"},
       "// With `dropped` bits less mantissa and an exponent smaller by `offset`; subnormals are rounded by adding `magic`, whose\n"
       "// last place is theirs. What is too large saturates, infinities too.\n" LANEFOLD_DEVICE
       "unsigned char to_fp8(float a, int dropped, unsigned int offset, float magic, unsigned int largest) {\n"
       "  const unsigned int sign = __float_as_uint(a) >> 24 & 0x80u;\n"
       "  const unsigned int magnitude = __float_as_uint(a) & 0x7fffffffu;\n"
       "  const unsigned int half = (1u << (dropped - 1)) - 1u + (magnitude >> dropped & 1u);\n"
       "  const unsigned int normal = (magnitude + half - (offset << 23)) >> dropped;\n"
       "  const unsigned int small = __float_as_uint(add(__uint_as_float(magnitude), magic)) - __float_as_uint(magic);\n"
       "  const unsigned int rounded = magnitude < (offset + 1u) << 23 ? small : normal;\n"
       "  return is_nan(a) ? 0x7fu : sign | (rounded > largest ? largest : rounded);\n}\n", kNarrow},
      {"to_e4m3", {"e4m3", "to_fp8"}, LANEFOLD_DEVICE
       "e4m3 to_e4m3(float a) { return to_fp8(a, 20, 120u, 16384.0f, 0x7eu); }\n", kNarrow},
      {"to_e5m2", {"e5m2", "to_fp8"}, LANEFOLD_DEVICE
       "e5m2 to_e5m2(float a) { return to_fp8(a, 21, 112u, 128.0f, 0x7bu); }\n", kNarrow},
      {"byte_of", {}, LANEFOLD_DEVICE
       "unsigned int byte_of(unsigned int word, int index) { return word >> (8 * index) & 0xffu; }\n", kNarrow},
      {"signed_byte", {}, LANEFOLD_DEVICE
       "int signed_byte(unsigned int word, int index) { return static_cast<signed char>(word >> (8 * index)); }\n",
       kNarrow},
      {"pack_bytes", {}, LANEFOLD_DEVICE
       "unsigned int pack_bytes(int a, int b, int c, int d) {\n"
       "  return __byte_perm(__byte_perm(a, b, 0x0040), __byte_perm(c, d, 0x0040), 0x5410);\n}\n", kNarrow},
      LANEFOLD_COMPARE_PAIR("less_pair", "lt"),
      LANEFOLD_COMPARE_PAIR("greater_pair", "gt"),
      LANEFOLD_COMPARE_PAIR("equal_pair", "eq"),
      LANEFOLD_COMPARE_PAIR("equal_or_nan_pair", "equ"),
      LANEFOLD_COMPARE_PAIR("nan_pair", "nan"),
      {"divisor_of", {"mul", "neg"},
       "// What quantising by b takes of it: scaled into the middle of its range, so that no remainder that matters is subnormal. Of\n"
       "// what is no number, or 0, nothing is left.\n"
       "struct Divisor {\n  float minus, reciprocal, scale;\n};\n" LANEFOLD_DEVICE
       "Divisor divisor_of(float b) {\n  const unsigned int size = __float_as_uint(b) & 0x7fffffffu;\n"
       "  const bool is_number = size - 1u < 0x7f7fffffu;\n  Divisor d;\n"
       "  d.scale = __uint_as_float(size < 0x0d800000u ? 0x5f800000u : size > 0x71800000u ? 0x1f800000u : 0x3f800000u);\n"
       "  d.minus = neg(mul(b, d.scale));\n"
       "  asm(\"rcp.rn.f32 %0, %1;\" : \"=f\"(d.reciprocal) : \"f\"(mul(b, d.scale)));\n"
       "  if (!is_number) d.minus = d.reciprocal = d.scale = 0.0f;\n  return d;\n}\n", kNarrow},
      {"quantize", {"divisor_of", "mul", "fma", "add", "sub"},
       "// a / b as an integer, halves away from zero, within 127; 0 where that is NaN or b is 0. The product with the rounded\n"
       "// reciprocal is within two units in the last place; one correction makes that less than one, another the rounded quotient.\n"
       LANEFOLD_DEVICE "int quantize(float a, Divisor b) {\n  const float n = mul(a, b.scale);\n"
       "  float quotient = mul(n, b.reciprocal);\n"
       "  const unsigned int magnitude = __float_as_uint(quotient) & 0x7fffffffu;\n"
       "  float corrected = fma(fma(quotient, b.minus, n), b.reciprocal, quotient);\n"
       "  corrected = fma(fma(corrected, b.minus, n), b.reciprocal, corrected);\n"
       "  if (magnitude < 0x44800000u) quotient = corrected;  // from 1024 on the code is 127\n"
       "  asm(\"{ .reg .f32 t; min.f32 t, %0, 0f42FE0000; max.f32 %0, t, 0fC2FE0000; }\" : \"+f\"(quotient));\n"
       "  // Adding 1.5 * 2^23 leaves the nearest integer in the low bits; halves went to the even one.\n"
       "  const float nearest = add(quotient, 12582912.0f);\n"
       "  const unsigned int rest = __float_as_uint(sub(quotient, sub(nearest, 12582912.0f)));\n"
       "  int code = __float_as_int(nearest) - 0x4b400000;\n"
       "  if (rest == ((__float_as_uint(quotient) & 0x80000000u) | 0x3f000000u)) code += __float_as_int(quotient) >> 31 | 1;\n"
       "  return magnitude <= 0x7f800000u ? code : 0;\n}\n", kNarrow},
      {"exp_nonpositive_each", {"fma", "add"},
       "// exp_nonpositive of each, where it is known whether all are near, from -86 on: the result is then normal, and the exponent is added\n"
       "// to the bits of the polynomial.\n"
       "__device__ __forceinline__ float exp_nonpositive(float x);\n"
       "template <int count>\n"
       LANEFOLD_DEVICE "void exp_nonpositive_each(float (&x)[count], bool all_near) {\n"
       "  if (__builtin_expect(all_near, 1)) {\n"
       "#pragma unroll\n    for (int i = 0; i < count; ++i) {\n"
       "      const float t = fma(x[i], -1.442695f, -12582912.0f);  // minus the rounded exponent and 1.5 * 2^23\n"
       "      const float minus_k = add(t, 12582912.0f);\n"
       "      const float r = fma(minus_k, 1.4286068e-06f, fma(minus_k, 0.69314575f, x[i]));\n"
       "      const float p_3 = fma(fma(0.0013814598f, r, 0.008368718f), r, 0.04166839f);\n"
       "      const float p = fma(fma(fma(fma(p_3, r, 0.16666521f), r, 0.49999994f), r, 1.0f), r, 1.0f);\n"
       "      x[i] = __uint_as_float(__float_as_uint(p) + (__float_as_uint(t) << 23));\n    }\n"
       "  } else {\n"
       "#pragma unroll\n    for (int i = 0; i < count; ++i) x[i] = exp_nonpositive(x[i]);\n  }\n}\n", kShort},
      {"div_by", {"mul", "fma", "abs", "less"},
       "// a / b for an odd integer b, up to 2^20, and its rounded reciprocal. No quotient lies halfway between two numbers, and\n"
       "// what a product leaves of a is a number, subnormal or not: one correction gives the rounded quotient.\n"
       LANEFOLD_DEVICE "float div_by(float a, float minus_b, float reciprocal) {\n"
       "  const float quotient = mul(a, reciprocal);\n"
       "  const float corrected = fma(fma(quotient, minus_b, a), reciprocal, quotient);\n"
       "  const float size = abs(quotient);\n"
       "  return less(0.0f, size) & less(size, __uint_as_float(0x7f800000u)) ? corrected : quotient;\n}\n", kShort},
      {"quantize_each", {"quantize", "mul", "fma", "abs", "less", "equal"},
       "// quantize(x, b) of each of several blocks, four codes to a word. Between the products with reciprocals that are a little too\n"
       "// small and a little too large lies the rounded quotient: where both round to one integer, it does, unless it is a half. Codes\n"
       "// stand above 1.5 * 2^23 + 128 in the lowest byte: other bits, or a byte of 0, belong to codes beyond 127, or to no number.\n"
       "// Where b is a 127th of the largest size, `is_bounded`, there are none of those unless b is neither 0 nor from 2^-120 to 2^120.\n"
       "template <bool is_bounded, int count>\n"
       LANEFOLD_DEVICE "bool quantize_block(const float (&x)[count], float b, unsigned int (&codes)[count / 4]) {\n"
       "  float reciprocal;\n"
       "  asm(\"rcp.approx.ftz.f32 %0, %1;\" : \"=f\"(reciprocal) : \"f\"(b));\n"
       "  if (!is_bounded && !less(abs(b), 8.507059e37f)) reciprocal = __uint_as_float(0x7fc00000u);\n"
       "  if (equal(b, 0.0f)) reciprocal = 0.0f;\n"
       "  const float least = mul(reciprocal, 0.99999964f), most = mul(reciprocal, 1.00000036f);\n"
       "  unsigned int differing = 0, together = 0, zeros = 0;\n"
       "#pragma unroll\n  for (int k = 0; k < count / 4; ++k) {\n    unsigned int sums[4];\n"
       "#pragma unroll\n    for (int i = 0; i < 4; ++i) {\n"
       "      sums[i] = __float_as_uint(fma(x[4 * k + i], least, 12583040.0f));\n"
       "      differing |= sums[i] ^ __float_as_uint(fma(x[4 * k + i], most, 12583040.0f));\n"
       "      together |= sums[i];\n    }\n"
       "    codes[k] = __byte_perm(__byte_perm(sums[0], sums[1], 0x0040), __byte_perm(sums[2], sums[3], 0x0040), 0x5410);\n"
       "    zeros |= codes[k] - 0x01010101u & ~codes[k];\n    codes[k] ^= 0x80808080u;\n  }\n"
       "  const bool is_far = __float_as_uint(b) - 0x03800000u > 0x78000000u & __float_as_uint(b) != 0;\n"
       "  return is_bounded ? differing == 0 & !is_far : (differing | together & 0xb4bfff00u | zeros & 0x80808080u) == 0;\n}\n"
       "template <bool is_bounded, int blocks, int count>\n"
       LANEFOLD_DEVICE "void quantize_each(float (&x)[blocks][count], const float (&b)[blocks], unsigned int (&codes)[blocks][count / 4]) {\n"
       "  bool is_sure[blocks], all_are = true;\n"
       "#pragma unroll\n  for (int k = 0; k < blocks; ++k) {\n"
       "    is_sure[k] = quantize_block<is_bounded>(x[k], b[k], codes[k]);\n    all_are &= is_sure[k];\n  }\n"
       "  if (__builtin_expect(all_are, 1)) return;\n"
       "#pragma unroll\n  for (int k = 0; k < blocks; ++k) {\n    if (is_sure[k]) continue;\n"
       "    const Divisor divisor = divisor_of(b[k]);\n"
       "#pragma unroll 1\n    for (int i = 0; i < count; ++i) {\n"
       "      const unsigned int code = quantize(x[k][0], divisor);\n"
       "      // All move up by one place, codes from the last.\n"
       "#pragma unroll\n      for (int n = 0; n + 1 < count; ++n) x[k][n] = x[k][n + 1];\n"
       "#pragma unroll\n      for (int n = 0; n < count / 4; ++n)\n"
       "        codes[k][n] = codes[k][n] >> 8 | (n + 1 < count / 4 ? codes[k][n + 1] : code) << 24;\n    }\n  }\n}\n", kShort},
      LANEFOLD_LEADING_PAIR("argmax_of_pairs", "greater_pair", "maximum_pair"),
      LANEFOLD_LEADING_PAIR("argmin_of_pairs", "less_pair", "minimum_pair"),
      {"by_bit", {}, "// `clear` in lanes whose bit `bit` is 0, `set` in the others.\n"
       "template <class T>\n" LANEFOLD_DEVICE
       "T by_bit(int bit, T clear, T set) { return (threadIdx.x >> bit & 1u) != 0 ? set : clear; }\n", kLanes},
      {"trade", {"by_bit"}, "// Each lane keeps one and gives the other to the lane across the bit: what it gets for it.\n"
       "template <class T>\n" LANEFOLD_DEVICE
       "T trade(int bit, T clear, T set) { return __shfl_xor_sync(0xffffffffu, by_bit(bit, set, clear), 1 << bit); }\n",
       kLanes},
      LANEFOLD_EXTREME_LANE("maximum_of_lanes", "max", "0x7fffffff"),
      LANEFOLD_EXTREME_LANE("minimum_of_lanes", "min", "static_cast<int>(0x80000000u)"),
      LANEFOLD_LEADING_LANE("argmax_of_lanes", "add", "add(value, 0.0f)"),
      LANEFOLD_LEADING_LANE("argmin_of_lanes", "sub", "sub(0.0f, value)"),
      {"cluster_rank", {}, LANEFOLD_DEVICE "int cluster_rank() {\n  int r;\n"
       "  asm(\"mov.u32 %0, %%cluster_ctarank;\" : \"=r\"(r));\n  return r;\n}\n", kMemory},
      {"peer", {}, "// The same place in the shared memory of the cluster's block `rank`.\n"
       "template <class T>\n" LANEFOLD_DEVICE "T* peer(T* own, int rank) {\n  T* r;\n"
       "  asm(\"mapa.u64 %0, %1, %2;\" : \"=l\"(r) : \"l\"(own), \"r\"(rank));\n  return r;\n}\n", kMemory},
      {"cluster_barrier", {}, LANEFOLD_DEVICE "void cluster_barrier() {\n"
       "  asm volatile(\"barrier.cluster.arrive.release.aligned;\" ::: \"memory\");\n"
       "  asm volatile(\"barrier.cluster.wait.acquire.aligned;\" ::: \"memory\");\n}\n", kMemory},
      {"shared_address", {}, LANEFOLD_DEVICE "unsigned int shared_address(const void* p) {\n"
       "  return static_cast<unsigned int>(__cvta_generic_to_shared(p));\n}\n", kMemory},
      {"begin_exchanges", {"shared_address"}, "// Makes the barriers of a kernel's exchanges and tells the cluster; a block may give once all have begun.\n" LANEFOLD_DEVICE
       "void begin_exchanges(unsigned long long* arrived, int count) {\n  if (threadIdx.x == 0) {\n"
       "    for (int i = 0; i < count; ++i)\n"
       "      asm volatile(\"mbarrier.init.shared::cta.b64 [%0], 1;\" :: \"r\"(shared_address(arrived + i)) : \"memory\");\n"
       "    asm volatile(\"fence.mbarrier_init.release.cluster;\" ::: \"memory\");\n  }\n"
       "  asm volatile(\"barrier.cluster.arrive.relaxed.aligned;\" ::: \"memory\");\n}\n", kMemory},
      {"cluster_has_begun", {}, LANEFOLD_DEVICE "void cluster_has_begun() {\n"
       "  asm volatile(\"barrier.cluster.wait.acquire.aligned;\" ::: \"memory\");\n}\n", kMemory},
      {"expect", {"shared_address"}, "// Of all blocks together so many bytes will arrive.\n" LANEFOLD_DEVICE
       "void expect(unsigned long long* arrived, int bytes) {\n  if (threadIdx.x == 0)\n"
       "    asm volatile(\"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\"\n"
       "                 :: \"r\"(shared_address(arrived)), \"r\"(bytes) : \"memory\");\n}\n", kMemory},
      LANEFOLD_GIVE("4", "int", "b32", "r"),
      LANEFOLD_GIVE("8", "long long", "b64", "l"),
      {"await", {"shared_address"}, "// Until all that was expected is there.\n" LANEFOLD_DEVICE
       "void await(unsigned long long* arrived, int turn) {\n  unsigned int done = 0;\n  while (done == 0)\n"
       "    asm volatile(\"{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2; \"\n"
       "                 \"selp.u32 %0, 1, 0, p; }\"\n"
       "                 : \"=r\"(done) : \"r\"(shared_address(arrived)), \"r\"(turn) : \"memory\");\n}\n", kMemory},
      LANEFOLD_LOAD(float, "f32 %0", "1];\" : \"=f\"(r)"),
      LANEFOLD_LOAD(float2, "v2.f32 {%0, %1}", "2];\" : \"=f\"(r.x), \"=f\"(r.y)"),
      LANEFOLD_LOAD(float4, "v4.f32 {%0, %1, %2, %3}", "4];\" : \"=f\"(r.x), \"=f\"(r.y), \"=f\"(r.z), \"=f\"(r.w)"),
      LANEFOLD_LOAD(int, "s32 %0", "1];\" : \"=r\"(r)"),
      LANEFOLD_LOAD(int2, "v2.s32 {%0, %1}", "2];\" : \"=r\"(r.x), \"=r\"(r.y)"),
      LANEFOLD_LOAD(int4, "v4.s32 {%0, %1, %2, %3}", "4];\" : \"=r\"(r.x), \"=r\"(r.y), \"=r\"(r.z), \"=r\"(r.w)"),
      LANEFOLD_LOAD(unsigned int, "u32 %0", "1];\" : \"=r\"(r)"),
      LANEFOLD_LOAD(uint2, "v2.u32 {%0, %1}", "2];\" : \"=r\"(r.x), \"=r\"(r.y)"),
      LANEFOLD_LOAD(uint4, "v4.u32 {%0, %1, %2, %3}", "4];\" : \"=r\"(r.x), \"=r\"(r.y), \"=r\"(r.z), \"=r\"(r.w)"),
      LANEFOLD_LOAD(long long, "s64 %0", "1];\" : \"=l\"(r)"),
      LANEFOLD_LOAD(longlong2, "v2.s64 {%0, %1}", "2];\" : \"=l\"(r.x), \"=l\"(r.y)"),
      LANEFOLD_LOAD(unsigned short, "u16 %0", "1];\" : \"=h\"(r)"),
      {"load_once:unsigned char", {}, LANEFOLD_DEVICE "unsigned char load_once(const unsigned char* p) {\n  unsigned int r;\n"
       "  asm volatile(\"ld.global.cs.u8 %0, [%1];\" : \"=r\"(r) : \"l\"(p) : \"memory\");\n  return r;\n}\n", kMemory},
      {"load_once:signed char", {}, LANEFOLD_DEVICE "signed char load_once(const signed char* p) {\n  int r;\n"
       "  asm volatile(\"ld.global.cs.s8 %0, [%1];\" : \"=r\"(r) : \"l\"(p) : \"memory\");\n  return r;\n}\n", kMemory},
      {"anew:unsigned int", {}, LANEFOLD_DEVICE "void anew(unsigned int& word) { asm volatile(\"\" : \"+r\"(word)); }\n", kWords},
      {"anew:uint2", {}, LANEFOLD_DEVICE "void anew(uint2& words) { asm volatile(\"\" : \"+r\"(words.x), \"+r\"(words.y)); }\n", kWords},
      {"anew:uint4", {}, LANEFOLD_DEVICE "void anew(uint4& words) {\n"
       "  asm volatile(\"\" : \"+r\"(words.x), \"+r\"(words.y), \"+r\"(words.z), \"+r\"(words.w));\n}\n", kWords},
  };
  return kTable;
}
// clang-format on

}  // namespace

std::string_view CudaHelpers::use(std::string_view name) {
  for (const Helper& helper : table()) {
    if (helper.name != name) continue;
    if (used_.insert(std::string(name)).second)
      for (const std::string_view needed : helper.needs) use(needed);
    return helper.name.substr(0, helper.name.find(':'));
  }
  internal_error("there is no CUDA helper " + std::string(name));
}

std::string CudaHelpers::text() const {
  std::string text;
  std::string_view group;
  for (const Helper& helper : table()) {
    if (!used_.contains(helper.name)) continue;
    if (helper.group != group) {
      group = helper.group;
      text += "\n// ";
      for (const char c : group) text += c == '\n' ? std::string("\n// ") : std::string(1, c);
      text += '\n';
    }
    text += helper.text;
  }
  return text;
}

std::set<std::string, std::less<>> CudaHelpers::names() {
  std::set<std::string, std::less<>> names;
  for (const Helper& helper : table()) names.emplace(helper.name.substr(0, helper.name.find(':')));
  return names;
}

}  // namespace lanefold::emit
