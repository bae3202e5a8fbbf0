// Lanefold from C++: compile an operator of the library or a row program of your own, and run it on matrices in memory.
//
//   const auto norm = lanefold::Kernel::compile_operator("rms_norm", lanefold::Type::f32);
//   norm.run({{"x", x}, {"weight", w}}, {{"y", y}}, {{"eps", 1e-6f}});
//
// Matrices may also be tensors of up to four dimensions, whose leading ones (tokens, heads) need not lie without gaps.
//
// What a caller does wrong is thrown as lanefold::Error, which has a stable code. A std::logic_error is a fault of
// Lanefold's own; please report it. Memory that runs out is std::bad_alloc.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "lanefold/export.h"

namespace lanefold {
namespace api {
struct PoolAccess;
}

/// How one element is stored. Arithmetic is in f32, except that i32 and i64 are computed with as they are; results are
/// rounded once, to nearest even. f16, bf16, e4m3 and e5m2 are the usual formats of 16 and 8 bits, boolean is a byte.
/// An array of q8_0 has blocks for its elements, which its shape and strides count: 34 bytes that stand for 32 columns, an f16
/// scale and then 32 i8 codes. Blocks of a row follow each other without gaps.
enum class Type : std::uint8_t { boolean, i8, i32, i64, f32, f16, bf16, e4m3, e5m2, f64, q8_0 };

/// In which order the elements of a row are folded, and so which bits come out. A fold along rows has the same orders, over the
/// number of rows.
enum class Order : std::uint8_t {
  canonical,  ///< depends on the program and the number of columns alone: a row has the same bits in every batch
  serial,     ///< from the first column to the last
  free,       ///< whatever is fastest; bits may differ between shapes and machines
};

/// What runs a kernel.
enum class Device : std::uint8_t {
  automatic,     ///< cpu, or the lane machine in a build without the JIT (LANEFOLD_JIT=OFF)
  cpu,           ///< machine code for this processor
  lane_machine,  ///< the same kernels lane by lane, with the same bits: for checking, thousands of times slower
  cuda,          ///< a CUDA device, over its memory and in streams of the caller's, with the same bits
};

/// How an input or output varies, which fixes its shape: as a matrix in a call of `rows` × `cols`, and as a tensor in a call
/// over the leading dimensions [..], whose elements are the rows.
enum class Kind : std::uint8_t {
  element,  ///< rows × cols, [.., cols]
  row,      ///< rows × 1, [..] or [.., 1]: one per row
  column,   ///< 1 × cols, [cols] or [1, cols]: one per column; inputs are the same for every row
  block,    ///< rows × cols/block, [.., cols/block]: one per `block` consecutive columns
};

/// Elements to read. Element (r, c) lies r · row_stride + c · column_stride elements (not bytes) behind `data`, which is aligned
/// as an element of the type is. Strides may be 0 or negative; that of an axis of one element says nothing. The memory stays the caller's and must outlive the call.
struct ConstMatrix {
  const void* data = nullptr;
  Type type = Type::f32;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t row_stride = cols;
  std::int64_t column_stride = 1;
};

/// Elements to write; as ConstMatrix, but no two elements may share an address.
struct Matrix {
  void* data = nullptr;
  Type type = Type::f32;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t row_stride = cols;
  std::int64_t column_stride = 1;

  operator ConstMatrix() const { return {data, type, rows, cols, row_stride, column_stride}; }
};

/// The most dimensions of a tensor: three leading ones, and the columns.
inline constexpr int kMostDimensions = 4;

/// Elements to read, in an array of none to four dimensions. Of shape and strides the first `rank` numbers count. Element (i, j, ..)
/// lies i · strides[0] + j · strides[1] + .. elements (not bytes) behind `data`, which is aligned as an element of the type is;
/// strides may be 0 or negative, and that of a dimension of one element says nothing. The memory
/// stays the caller's and must outlive the call. A matrix is a tensor of two dimensions.
struct ConstTensor {
  const void* data = nullptr;
  Type type = Type::f32;
  int rank = 0;
  std::array<std::int64_t, kMostDimensions> shape = {};
  std::array<std::int64_t, kMostDimensions> strides = {};

  ConstTensor() = default;
  /// Throws Error (call_shape_mismatch): more than four dimensions, or not one stride for each.
  LANEFOLD_API ConstTensor(const void* data, Type type, std::span<const std::int64_t> shape,
                           std::span<const std::int64_t> strides);
  ConstTensor(const ConstMatrix& m)
      : data(m.data), type(m.type), rank(2), shape{m.rows, m.cols}, strides{m.row_stride, m.column_stride} {}
  ConstTensor(const Matrix& m) : ConstTensor(ConstMatrix(m)) {}
};

/// Elements to write; as ConstTensor, but no two elements may share an address.
struct Tensor {
  void* data = nullptr;
  Type type = Type::f32;
  int rank = 0;
  std::array<std::int64_t, kMostDimensions> shape = {};
  std::array<std::int64_t, kMostDimensions> strides = {};

  Tensor() = default;
  /// Throws as ConstTensor does.
  LANEFOLD_API Tensor(void* data, Type type, std::span<const std::int64_t> shape,
                      std::span<const std::int64_t> strides);
  Tensor(const Matrix& m)
      : data(m.data), type(m.type), rank(2), shape{m.rows, m.cols}, strides{m.row_stride, m.column_stride} {}
  LANEFOLD_API operator ConstTensor() const;
};

/// A CUDA stream of the caller's: a cudaStream_t or CUstream. Null is the default stream.
struct Stream {
  void* handle = nullptr;
};

/// The Type of a C++ type. 16-bit and 8-bit floats have none: name theirs in a Matrix.
template <class T>
inline constexpr Type type_of = [] {
  static_assert(sizeof(T) == 0, "this C++ type is no element type of Lanefold");
  return Type::f32;
}();
template <>
inline constexpr Type type_of<float> = Type::f32;
template <>
inline constexpr Type type_of<double> = Type::f64;
template <>
inline constexpr Type type_of<bool> = Type::boolean;
template <>
inline constexpr Type type_of<std::int8_t> = Type::i8;
template <>
inline constexpr Type type_of<std::int32_t> = Type::i32;
template <>
inline constexpr Type type_of<std::int64_t> = Type::i64;

/// `rows` × `cols` elements, row after row without gaps.
template <class T>
Matrix matrix(T* data, std::int64_t rows, std::int64_t cols) {
  return {data, type_of<T>, rows, cols};
}
template <class T>
ConstMatrix matrix(const T* data, std::int64_t rows, std::int64_t cols) {
  return {data, type_of<T>, rows, cols};
}
/// One element per row, for inputs and outputs of Kind::row.
template <class T>
auto per_row(T* data, std::int64_t rows) {
  return matrix(data, rows, 1);
}
/// One element per column, for inputs and outputs of Kind::column.
template <class T>
auto per_column(T* data, std::int64_t cols) {
  return matrix(data, 1, cols);
}

/// An array of `shape`, its last dimension without gaps and each other dimension right around the next. Throws as ConstTensor does.
template <class T>
auto dense(T* data, std::initializer_list<std::int64_t> shape) {
  std::array<std::int64_t, kMostDimensions> strides = {};
  std::uint64_t step = 1;  // no memory has a shape whose product does not fit; a call with it is refused
  for (std::size_t i = std::min(shape.size(), strides.size()); i-- > 0;) {
    strides[i] = static_cast<std::int64_t>(step);
    step *= static_cast<std::uint64_t>(shape.begin()[i]);
  }
  const std::size_t known = std::min(shape.size(), strides.size());
  using Elements = std::conditional_t<std::is_const_v<T>, ConstTensor, Tensor>;
  return Elements(data, type_of<std::remove_const_t<T>>, shape, std::span(strides).first(known));
}
/// An array of `shape` whose elements lie `strides` elements apart, such as x [tokens, heads, width] in a packed tensor:
/// strided(qkv, {tokens, heads, width}, {(heads + 2 * kv_heads) * width, width, 1}). Throws as ConstTensor does.
template <class T>
auto strided(T* data, std::initializer_list<std::int64_t> shape, std::initializer_list<std::int64_t> strides) {
  using Elements = std::conditional_t<std::is_const_v<T>, ConstTensor, Tensor>;
  return Elements(data, type_of<std::remove_const_t<T>>, shape, strides);
}

/// What was wrong with a program, an option or a call. what() is the whole message, with the hint.
class LANEFOLD_API Error : public std::runtime_error {
 public:
  Error(const std::string& text, std::string code, std::string name, std::string hint, std::string place);

  /// The stable code, such as "LF0712".
  const std::string& code() const noexcept { return details_->code; }
  /// The code's name, such as "call_shape_mismatch".
  const std::string& name() const noexcept { return details_->name; }
  /// What would help; may be empty.
  const std::string& hint() const noexcept { return details_->hint; }
  /// Where: "program:3:7" in a text, or the input, output or option at fault; may be empty.
  const std::string& place() const noexcept { return details_->place; }

 private:
  struct Details {
    std::string code, name, hint, place;
  };
  std::shared_ptr<const Details> details_;  ///< shared, so that copying an exception cannot throw
};

/// Worker threads that kernels share: make one for a program or an engine, and give it to every kernel. Copies share the
/// threads, which end with the last copy and the last kernel that has one. May be used from several threads at once: a call
/// that comes while another one has the workers runs on its own thread alone, and no two calls share scratch memory.
/// A kernel without a pool has threads of its own.
class Pool {
 public:
  /// For calls on `threads` threads, the calling one included: 1 to 1024; 0: one per processor. In a build without the JIT
  /// everything runs on the calling thread.
  /// Throws Error: number_invalid.
  LANEFOLD_API explicit Pool(unsigned threads = 0);
  LANEFOLD_API unsigned threads() const;

 private:
  friend struct api::PoolAccess;
  struct Implementation;
  std::shared_ptr<const Implementation> implementation_;
};

/// A number that a kernel takes besides its matrices.
struct Parameter {
  std::string name;
  float value = 0;  ///< the default, or the value that is meant
};

/// How a kernel is compiled and run.
struct Options {
  Order order = Order::canonical;
  unsigned threads =
      0;  ///< of the cpu, that a call may use, its own included: 1 to 1024; 0: one per processor, or the pool's
  std::vector<std::string> absent = {};  ///< inputs that calls leave out: an absent weight is 1, an absent bias 0
  Device device = Device::automatic;
  /// Keep machine code in $LANEFOLD_CACHE_DIR, else in the user's cache folder, for the next process, and take plans
  /// that `lanefold tune` left there. A cache that cannot be read or written is no error.
  bool disk_cache = true;
  /// Of operators that have weights in a format of their own, such as matvec: f32, f16, bf16, e4m3, e5m2 or q8_0. Nothing: as the storage.
  std::optional<Type> weights = {};
  /// Of operators that serve several tokens with one load of their weights, such as matvec: 1 to 8.
  unsigned tokens = 1;
  /// Options of the operator or program, such as soft_cap of softmax (others keep their defaults), and parameters that have this
  /// value in every call. They are no parameters of the kernel then, and what they switch off costs nothing. What a program reads
  /// as a whole number alone, such as ignore_index of cross_entropy, must be one.
  std::vector<Parameter> fixed = {};
  /// Threads shared with other kernels, instead of the kernel's own; `threads` is 0 then.
  std::optional<Pool> pool = {};
  /// Of Device::cuda: the device's number. Nothing: the device of the CUDA context that is current in the thread which compiles the
  /// kernel, in that context, or device 0. The primary context of a device is kept; another one must outlive the kernel.
  std::optional<int> cuda_device = {};
};

/// As which text Kernel::emit gives a kernel.
enum class Emission : std::uint8_t {
  lane,      ///< the lane module: every lane's work spelled out
  llvm,      ///< LLVM IR, optimised
  assembly,  ///< for this machine's processor
  cuda,      ///< CUDA C++, of kernels for a CUDA device
};

/// An input or output of a kernel.
struct Port {
  std::string name;
  Type type = Type::f32;
  Kind kind = Kind::element;  ///< block where the type is q8_0
  std::int64_t block = 0;     ///< columns per element where kind is block, else 0
  /// Places of an inner axis, such as tokens, 1 where there is none. As a tensor they are one more dimension in front of all others;
  /// as a matrix they are its rows where the kind is column (inner × cols) or row (inner × rows), and stand one below the other
  /// where it is element or block.
  std::int64_t inner = 1;
};

// Arguments of a call by name.
struct NamedInput {
  std::string_view name;
  ConstTensor tensor;  ///< or a matrix
};
struct NamedOutput {
  std::string_view name;
  Tensor tensor;  ///< or a matrix
};
struct NamedParameter {
  std::string_view name;
  float value = 0;
};

/// How far Kernel::check lets an output be from the FP64 meaning r, besides one rounding to its type: a float by
/// absolute + relative · |r|, an integer by `code`.
struct Tolerance {
  double absolute = 0;
  double relative = 0;
  int code = 0;
};

/// What Kernel::check found for one output. The first wrong element is the one with the least place on the inner axis, then row,
/// then column.
struct OutputCheck {
  std::string name;
  std::int64_t elements = 0;       ///< compared: all of them
  std::int64_t wrong = 0;          ///< outside of the tolerance
  double max_error = 0;            ///< the greatest |got − expected| of finite elements
  std::int64_t first_row = -1;     ///< of the first wrong element, over all leading dimensions; −1 where there is none
  std::int64_t first_column = -1;  ///< likewise
  double got = 0;                  ///< the first wrong element
  double expected = 0;             ///< what it should be
  std::int64_t first_place = -1;   ///< of the first wrong element on the output's inner axis; −1 where there is none
};

/// What Kernel::check found.
struct CheckReport {
  std::vector<OutputCheck> outputs;
  /// Whether no element is wrong.
  LANEFOLD_API bool ok() const;
};

/// A compiled row program. Copies share the program and its machine code. Every member may be called from several
/// threads at once, also on the same kernel; only the outputs of concurrent calls must not overlap.
///
/// Machine code serves a class of widths and is made when the first call of the class comes: that call takes
/// milliseconds longer, see prepare(). Any number of rows shares it.
class LANEFOLD_API Kernel {
 public:
  /// An operator of the library, such as "rms_norm"; operator_names() lists them. `storage` is the element type of x and
  /// of what is stored like it: f32, f16, bf16, e4m3 or e5m2, and of some operators i8. The operator's own
  /// tolerance serves check().
  /// Throws Error: unknown_operator, operator_storage (the storage or the weights), call_type_mismatch (what is no Type at all),
  /// option_not_for_kernel (weights and tokens of an operator without), and what compile_program() throws for its options.
  static Kernel compile_operator(std::string_view name, Type storage, const Options& options = {});

  /// A row program as text: monoids, if any, then one program.
  /// Throws Error: any fault of the text (LF01xx, with its line and column as the place), input_required and
  /// unknown_name (an absent input that has no stand-in or does not exist), unknown_parameter and
  /// assignment_repeated (a fixed one), number_invalid (threads, and a fixed number that must be whole), unknown_order, unknown_device, device_missing (for Device::cuda: no
  /// driver, no such device, or no NVRTC), option_not_for_kernel (weights and tokens; cuda_device without Device::cuda).
  static Kernel compile_program(std::string_view text, const Options& options = {});

  Kernel(const Kernel&) = default;
  Kernel& operator=(const Kernel&) = default;
  ~Kernel() = default;

  /// The program's name.
  const std::string& name() const;
  /// In the order of positional calls; absent inputs and fixed parameters are not among them. They live as long as the kernel.
  const std::vector<Port>& inputs() const;
  const std::vector<Port>& outputs() const;
  const std::vector<Parameter>& parameters() const;
  /// cpu, lane_machine or cuda.
  Device device() const;
  /// The number of the CUDA device that the kernel is for; −1 where it is for another device.
  int cuda_device() const;

  /// What check() allows.
  Tolerance tolerance() const;

  /// Runs the kernel on matrices or tensors by name, in any order. Rows and columns follow from the inputs. Every input and
  /// output is needed; parameters that are not named have their defaults. An output may be one of the inputs, element for
  /// element, where the program reads that element only in the column that it writes.
  /// Throws Error: unknown_input, unknown_output, unknown_parameter, assignment_repeated, input_missing, shape_unknown
  /// and what the positional run throws. Nothing is written then.
  void run(const std::vector<NamedInput>& inputs, const std::vector<NamedOutput>& outputs,
           const std::vector<NamedParameter>& parameters = {}) const;

  /// The same without names: matrices in the order of inputs() and outputs(), their shapes as Kind says for `rows` ×
  /// `cols`, and parameters in the order of parameters(), or none for the defaults. No rows: nothing happens, except that a
  /// program which folds along rows or has an output [cols] has nothing to fold then (no_columns). On the cpu device a call of
  /// any other program allocates nothing once the code of its class of widths is there and each thread has run it.
  /// Throws Error: call_count_mismatch, call_type_mismatch, call_shape_mismatch, call_data_missing, number_invalid (a parameter
  /// that must be whole), overlaps (LF0213 to LF0216), no_columns, too_many_columns, columns_not_whole_blocks, and refusals of the planner (LF02xx, LF03xx) and
  /// of code generation (code_generation_failed). Nothing is written then.
  void run(std::span<const ConstMatrix> inputs, std::span<const Matrix> outputs, std::int64_t rows, std::int64_t cols,
           std::span<const float> parameters = {}) const;

  /// The same on tensors. The first one of Kind::element or Kind::block, inputs before outputs, says the columns and the
  /// leading dimensions [..], none to three; the others have the shapes that Kind says for them. Rows lie where strides
  /// say and nothing is copied: leading dimensions that lie evenly in all tensors are joined, one dimension (the longest) is
  /// the rows of a launch, and launches follow each other for the rest. The bytes are those of one call on the same rows
  /// without gaps, except under Order::free. Allocates as little as the call on matrices.
  /// Throws Error: shape_unknown (no tensor says the columns) and what the call on matrices throws; elements that different
  /// launches would write, or one would write and another read, count as overlaps; a program that folds or counts all rows
  /// must have them in one launch (call_shape_mismatch). Nothing is written then.
  void run(std::span<const ConstTensor> inputs, std::span<const Tensor> outputs,
           std::span<const float> parameters = {}) const;

  /// The same on a CUDA device, in a stream; the runs above use the default stream. All of them return once the launches are in
  /// the stream. They wait for nothing: data must stay until the stream has come so far, and faults of the device show where the
  /// caller waits. The kernel must outlive its launches, and the graphs that have recorded some.
  ///
  /// All data must lie in memory that the device reaches: its own, managed, pinned. Calls by position allocate nothing, on
  /// the host or the device, once the class of the call is compiled; only programs in stages (folds along rows, outputs [cols])
  /// take memory from the stream's pool (cuMemAllocAsync) and give it back, and allocate on the host. A class is one of widths,
  /// of alignment, of about how many rows, and of whether columns have gaps.
  ///
  /// The stream may be being captured into a graph, which then holds addresses and parameters. A call whose class is not compiled
  /// yet is refused then: prepare() it before the capture begins.
  /// Throws Error: what the run without a stream throws, call_not_on_device (not asked again of the addresses of earlier calls),
  /// capture_not_prepared, code_generation_failed, launch_too_large, out_of_memory; call_has_no_stream where the kernel is for
  /// another device. Nothing is launched then. device_failed: what the driver says, perhaps of earlier work.
  void run(const std::vector<NamedInput>& inputs, const std::vector<NamedOutput>& outputs,
           const std::vector<NamedParameter>& parameters, Stream stream) const;
  void run(std::span<const ConstMatrix> inputs, std::span<const Matrix> outputs, std::int64_t rows, std::int64_t cols,
           std::span<const float> parameters, Stream stream) const;
  void run(std::span<const ConstTensor> inputs, std::span<const Tensor> outputs, std::span<const float> parameters,
           Stream stream) const;

  /// Compiles now what such a call would run, and reads and writes no element. On a CUDA device the alignment of data and strides
  /// counts, too. Throws as run() does.
  void prepare(std::span<const ConstMatrix> inputs, std::span<const Matrix> outputs, std::int64_t rows,
               std::int64_t cols) const;
  void prepare(std::span<const ConstTensor> inputs, std::span<const Tensor> outputs) const;

  /// Compares every element of `outputs`, as an earlier call wrote them, with the FP64 meaning of the program on the
  /// inputs, which must still hold what they held then. A float may differ by the operator's absolute and relative
  /// tolerance (1e-5 and 2e-5 for programs from text) besides one rounding to its type, an integer of a program from text
  /// by 1. Outputs are reported as the text declares them: an inner axis or q8_0 blocks are one output. Slow: doubles, one
  /// operation at a time. On a CUDA device it waits for all work of the device's context, and copies all that the arrays reach,
  /// gaps too. Throws as run() does.
  CheckReport check(std::span<const ConstMatrix> inputs, std::span<const Matrix> outputs, std::int64_t rows,
                    std::int64_t cols, std::span<const float> parameters = {}) const;
  CheckReport check(std::span<const ConstTensor> inputs, std::span<const Tensor> outputs,
                    std::span<const float> parameters = {}) const;

  /// The plan that the first call of `rows` × `cols` of its class of widths gets on this machine (on a CUDA device: of matrices
  /// without gaps from an aligned address), in one line, such as
  /// "cpu-avx2, canonical order, V = 64, layout lane 8 · reg 8, 8 threads for 1 row, stripe: reload".
  /// The layout says who owns the virtual lanes of a row, from the lowest bit of their index. A program that folds along rows or
  /// has an output [cols] runs in stages, of which each has a line: "stage 1 of 2, of rows: ..".
  /// Throws Error: refusals of the planner, such as no_columns.
  std::string plan_line(std::int64_t rows, std::int64_t cols) const;
  /// The same plan as JSON, with all candidates, their costs and the reasons why some were rejected; of a program in stages
  /// {"program", "stages": [{"stage", "transposed", "plan"}, ..]}. Throws as plan_line() does.
  std::string plan_json(std::int64_t rows, std::int64_t cols) const;
  /// The lane module of that plan as text: the kernel with explicit lanes, as compiled for matrices without gaps between
  /// columns. Throws Error: refusals of the planner, among them unsupported_axis for a program that runs in stages.
  std::string lane_text(std::int64_t rows, std::int64_t cols) const;
  /// The kernel of that plan as text, under a comment that says for what it was made. What is emitted may be used without
  /// conditions.
  /// Throws Error: what lane_text() throws, unknown_emission, no_source_language (cuda of a kernel for another device),
  /// no_machine_code (LLVM IR and assembly of one for a CUDA device), device_missing (LLVM IR and assembly in a build without
  /// the JIT), code_generation_failed.
  std::string emit(std::int64_t rows, std::int64_t cols, Emission emission) const;

 private:
  struct Implementation;
  explicit Kernel(std::shared_ptr<const Implementation> implementation);
  std::shared_ptr<const Implementation> implementation_;
};

/// The operators of the library, by the names that compile_operator() takes.
LANEFOLD_API std::vector<std::string> operator_names();

/// The version of the library, such as "0.1.0".
LANEFOLD_API std::string_view version();

}  // namespace lanefold
