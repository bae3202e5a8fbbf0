// Lane modules: kernels with explicit lanes, SIMD groups, threadgroup memory, shuffles and barriers, as data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "base/element_type.h"
#include "base/result.h"

namespace lanefold::lane {

enum class Op : std::uint8_t {
#define LANEFOLD_LANE_OP(name, operands) name,
#include "lane/ops.def"
#undef LANEFOLD_LANE_OP
};

using ValueId = std::uint32_t;

/// One statement; its results are the values result … result + results − 1. Every value is defined once, before its
/// use, and visible to the end of the block that defines it.
///
/// fold_lanes merges the lanes of R register groups (R a power of two) of S state components each; operands are ordered
/// [register][component]. Let f be function `a`, f(left…, right…) → state…. For lane bits b = `b` … `b` + `count` − 1 in
/// turn: while R > 1, registers 2q and 2q + 1 become one: a lane with bit b clear holds f(A[lane], A[lane + 2^b]) and one with
/// it set holds f(B[lane − 2^b], B[lane]), A and B being the two, and R halves (the transposing network: the register bit
/// moves to lane bit b); once R = 1, every lane holds f(A[lane without bit b], A[lane with bit b]). Results: [register][component].
///
/// exchange gives a value of each SIMD group to all threadgroups of the cluster: operand k, of lane r, becomes element
/// rank · simd_groups + simd_group of threadgroup array a + k of threadgroup r; then every group waits until all groups' values are
/// there. It is less than a barrier: beside those values, it only orders earlier reads of threadgroup arrays before later writes to
/// them.
struct Statement {
  Op op = Op::constant;
  std::vector<ValueId> operands = {};
  ValueId result = 0;
  std::uint32_t results = 0;
  std::uint64_t bits = 0;       ///< constant: the bits (f32, i32, i64, boolean 0 or 1)
  std::uint32_t a = 0;          ///< argument, function, register array or threadgroup array
  std::uint32_t b = 0;          ///< element, lane distance, or first lane bit
  std::uint32_t count = 1;      ///< load and store: vector width; fold_lanes: number of lane bits
  std::uint32_t alignment = 1;  ///< load and store: the address is a multiple of so many elements
  /// load and store: will not be used again soon (a hint). A streaming store of consecutive elements by a SIMD group promises
  /// that the group's first address is a multiple of the bytes that the group stores.
  bool streaming = false;
  std::vector<std::uint16_t> table = {};  ///< permute2
  std::vector<Statement> body = {};       ///< branch, loop
  std::vector<Statement> otherwise = {};  ///< branch
  std::string comment = {};               ///< printed above the statement
};

/// Where a kernel argument comes from, so that a runtime can fill it in.
enum class Role : std::uint8_t {
  input,
  output,  ///< a buffer: input or output `index` of the program
  input_row_stride,
  input_column_stride,
  output_row_stride,
  output_column_stride,  ///< i64, elements
  rows,
  cols,       ///< i64
  parameter,  ///< f32: program parameter `index`
  inout,      ///< a buffer that is read and changed in place
  other,      ///< a runtime cannot fill it in
};

/// One axis of a buffer: a length, or ceil(rows / amount) or ceil(cols / amount) at run time.
struct Dimension {
  enum class Of : std::uint8_t { fixed, rows, cols };
  Of of = Of::fixed;
  std::int64_t amount = 1;
  friend bool operator==(const Dimension&, const Dimension&) = default;
};

struct Argument {
  std::string name;
  bool buffer = false;
  ElementType type = ElementType::f32;  ///< buffer: element type in memory; scalar: f32 or i64
  Role role = Role::other;
  std::uint32_t index = 0;
  /// Buffer: its axes, outermost first; element (0, 0) is at address 0 and rows lie one after another unless the call has
  /// strides of its own. Empty: not said, so nothing can be allocated for it.
  std::vector<Dimension> shape = {};
  /// Buffer: the argument whose memory this one is, read or written as another type.
  std::optional<std::uint32_t> memory_of = {};
};

struct Function {
  std::string name;
  std::vector<ElementType> parameters;  ///< values 0 … parameters − 1
  std::vector<ElementType> types;       ///< of every value
  std::vector<Statement> body;          ///< arithmetic and calls only
  std::vector<ValueId> returns;
};

struct SharedArray {
  std::string name;
  ElementType type;
  std::uint32_t size;
};
struct RegisterArray {
  std::string name;
  ElementType type;
  std::uint32_t size;
};

struct Kernel {
  std::string name;
  std::uint32_t simd_width = 32;
  std::uint32_t simd_groups = 1;  ///< per threadgroup
  /// A launch has `threadgroups` threadgroups, or where that is 0 ceil(rows / rows_per_threadgroup), times
  /// ceil(cols / cols_per_threadgroup) where that is not 0; the columns vary faster. Clusters are whole: some of the last one's threadgroups may
  /// have no row.
  std::uint32_t rows_per_threadgroup = 1;
  std::uint32_t cols_per_threadgroup = 0;
  std::uint32_t threadgroups = 0;
  std::uint32_t threadgroups_per_row =
      1;  ///< that many work on the same rows; they are neighbours, and the product takes that factor
  std::uint32_t cluster = 1;  ///< threadgroups per cluster, which see each other's threadgroup arrays
  /// A hint: the launch may begin while the one before it ends, and waits itself before it touches buffers.
  bool programmatic_launch = false;
  std::vector<Argument> arguments;
  std::vector<SharedArray> shared;
  std::vector<RegisterArray> registers;
  std::vector<ElementType> types;  ///< of every value: boolean, i32, i64 or f32
  std::vector<Statement> body;
};

struct Module {
  std::string name;
  std::vector<Function> functions;  ///< a function calls only earlier ones
  std::vector<Kernel> kernels;      ///< launched in this order, each after the one before has ended
};

std::string_view op_name(Op op);
/// Operand count, or −1 where it depends on the attributes.
int op_operands(Op op);

/// Bytes of threadgroup memory; arrays are laid out in order, each aligned to 64 bytes.
std::uint32_t shared_bytes(const Kernel& kernel);
/// Byte offset of threadgroup array `array`.
std::uint32_t shared_offset(const Kernel& kernel, std::uint32_t array);

/// Threadgroups of one launch over so many rows and columns; 2^57 or so where there would be more.
std::int64_t launch_threadgroups(const Kernel& kernel, std::int64_t rows, std::int64_t cols);
/// Length of an axis.
std::int64_t extent(const Dimension& dimension, std::int64_t rows, std::int64_t cols);

/// Every fault of the module; empty for a good one.
std::vector<Diagnostic> verify(const Module& module);
/// The text form; parse(print(m)) prints alike.
std::string print(const Module& module);
/// The line of one statement of a kernel's body as print writes it, without comment, nested blocks or indentation.
std::string statement_text(const Module& module, const Kernel& kernel, const Statement& statement);
Result<Module> parse(std::string_view text, std::string_view file = "module");

/// One word of a kernel's argument block: a pointer, an i64, or an f32 in the low four bytes.
union ArgumentWord {
  void* pointer;
  std::int64_t integer;
  float real;
};

}  // namespace lanefold::lane
