#include "driver/cpu/row_kernel.h"

#include <algorithm>
#include <bit>
#include <chrono>

#include <fmt/format.h>

#include "driver/processor.h"
#include "legality/legality.h"
#include "plan/analysis.h"
#include "plan/layout.h"
#include "plan/turns.h"

namespace lanefold::driver {
namespace {

constexpr std::size_t kMaxArguments = 512;
// Outputs of calls beyond this would only push the next rows' inputs out of the cache.
constexpr std::int64_t kStreamingBytes = 24 * 1024 * 1024;
// Where only inputs are read, what is beyond a core's own cache is far enough away to be asked for early.
constexpr std::int64_t kStreamingInputBytes = 1024 * 1024;

/// Widths with the same index share a kernel.
std::uint32_t width_class(ir::Order order, std::int64_t cols) {
  if (order == ir::Order::serial) return 0;
  // Free plans that keep row-wide temporaries serve widths up to a power of two.
  if (order == ir::Order::free) return static_cast<std::uint32_t>(std::bit_width(static_cast<std::uint64_t>(cols - 1)));
  const auto lanes = static_cast<std::uint64_t>(ir::CanonicalOrder::virtual_lanes(cols));
  return static_cast<std::uint32_t>(std::countr_zero(lanes)) + (ir::CanonicalOrder::segments(cols) > 1);
}

/// The rows [begin, begin + rows) of a call, in views that the caller keeps.
runtime::Call part_of(const runtime::Call& whole, const ir::Program& program, std::int64_t begin, std::int64_t rows,
                      std::vector<View>& inputs, std::vector<View>& outputs) {
  const auto part = [&](View view, ir::Kind::Tag tag) {
    if (tag == ir::Kind::Tag::column) return view;
    view.data = view.at(begin, 0);
    view.rows = rows;
    return view;
  };
  for (std::size_t i = 0; i < whole.inputs.size(); ++i)
    inputs.push_back(part(whole.inputs[i], program.inputs[i].kind.tag));
  for (std::size_t i = 0; i < whole.outputs.size(); ++i)
    outputs.push_back(part(whole.outputs[i], program.stores[i].kind.tag));
  runtime::Call call = whole;
  call.inputs = inputs;
  call.outputs = outputs;
  call.rows = rows;
  return call;
}

/// Whether all matrices have unit column strides and lie row after row.
bool is_plain(const Variant& v) {
  return !v.column_major && (v.strided_inputs | v.strided_outputs | v.packed_inputs | v.packed_outputs) == 0;
}

bool whole_vectors(const View& view, std::uint32_t simd_width) {
  const auto bytes = static_cast<std::int64_t>(element_bytes(view.type)) * simd_width;
  return view.column_stride == 1 && view.packing == Packing::plain &&
         std::bit_cast<std::uintptr_t>(view.data) % static_cast<std::uintptr_t>(bytes) == 0 &&
         (view.row_stride * static_cast<std::int64_t>(element_bytes(view.type))) % bytes == 0;
}

}  // namespace

TunedOn tuned_on_cpu() {
  return {processor_name(), fmt::format("LLVM {}, {}", jit::llvm_version(), jit::generator_hash())};
}

RowKernel::RowKernel(ir::Program program, CompileOptions options)
    : program_(std::move(program)), options_(std::move(options)) {
  const plan::Analysis analysis = plan::analyse(program_);
  block_ = std::max(1u, analysis.widest_block);
  joins_ = analysis.joins && !options_.plan;
  remembered_.inputs.resize(program_.inputs.size());
  remembered_.outputs.resize(program_.stores.size());
  remembered_.parameter_words.resize(program_.parameters.size());
  remembered_.words.resize(kMaxArguments);
  for (const ir::Input& input : program_.inputs)
    if (input.kind.tag == ir::Kind::Tag::element)
      element_bytes_ += static_cast<std::int64_t>(element_bytes(input.storage));
  for (const ir::Store& store : program_.stores)
    if (store.kind.tag == ir::Kind::Tag::element)
      element_bytes_ += static_cast<std::int64_t>(element_bytes(store.storage));
}

Result<std::unique_ptr<RowKernel>> RowKernel::create(ir::Program program, CompileOptions options) {
  if (const std::vector<Diagnostic> faults = ir::verify(program, program.name); !faults.empty()) return faults.front();
  if (options.plan) options.order = options.plan->order;
  return std::unique_ptr<RowKernel>(new RowKernel(std::move(program), std::move(options)));
}

Variant RowKernel::variant(const runtime::Call& call) const {
  Variant v;
  v.width_class = width_class(options_.order, call.cols);
  v.rows_in_turn = joins_ && call.rows >= plan::kRowsInTurn;
  for (std::size_t i = 0; i < call.inputs.size(); ++i)
    if (program_.inputs[i].kind.tag != ir::Kind::Tag::row && call.inputs[i].column_stride != 1 &&
        call.inputs[i].cols > 1)
      v.strided_inputs |= std::uint64_t{1} << i;
  for (std::size_t i = 0; i < call.inputs.size(); ++i)
    if (call.inputs[i].packing != Packing::plain) v.packed_inputs |= std::uint64_t{1} << i;
  const bool only_reads = std::none_of(program_.stores.begin(), program_.stores.end(),
                                       [](const ir::Store& s) { return s.kind.tag != ir::Kind::Tag::row; });
  v.streaming = call.rows * call.cols * element_bytes_ >= (only_reads ? kStreamingInputBytes : kStreamingBytes);
  for (std::size_t i = 0; i < call.outputs.size(); ++i) {
    const ir::Kind::Tag tag = program_.stores[i].kind.tag;
    if (tag != ir::Kind::Tag::row && call.outputs[i].column_stride != 1 && call.outputs[i].cols > 1)
      v.strided_outputs |= std::uint64_t{1} << i;
    if (call.outputs[i].packing != Packing::plain) v.packed_outputs |= std::uint64_t{1} << i;
    if (tag == ir::Kind::Tag::element)
      v.streaming = v.streaming && whole_vectors(call.outputs[i], options_.target.simd_width);
  }
  return v;
}

std::optional<plan::Plan> RowKernel::tuned_plan(const Variant& v, std::int64_t rows, std::int64_t cols) const {
  if (options_.layout || options_.stripe || !options_.cost_basis.empty() || !is_plain(v)) return std::nullopt;
  if (!options_.tuned.folder()) return std::nullopt;
  std::optional<TunedPlan> found = options_.tuned.find({.on = tuned_on_cpu(),
                                                        .program = program_,
                                                        .target = options_.target,
                                                        .order = options_.order,
                                                        .rows = rows,
                                                        .cols = cols});
  // The kernel serves any number of rows, of which a plan that takes them in turn wants many.
  if (!found || (plan::rows_in_turn(found->plan) > 1 && !v.rows_in_turn)) return std::nullopt;
  return std::move(found->plan);
}

Result<std::unique_ptr<ClassKernel>> RowKernel::build(const Variant& v, std::int64_t rows, std::int64_t cols) const {
  lower::Access access;
  for (std::size_t i = 0; i < program_.inputs.size(); ++i) access.strided_inputs.push_back((v.strided_inputs >> i) & 1);
  for (std::size_t i = 0; i < program_.stores.size(); ++i)
    access.strided_outputs.push_back((v.strided_outputs >> i) & 1);
  for (std::size_t i = 0; i < program_.inputs.size(); ++i) access.packed_inputs.push_back((v.packed_inputs >> i) & 1);
  for (std::size_t i = 0; i < program_.stores.size(); ++i) access.packed_outputs.push_back((v.packed_outputs >> i) & 1);
  access.streaming = v.streaming;
  access.unit_rows = v.column_major;
  plan::Request request;
  request.rows = rows;
  request.cols = cols;
  request.order = options_.order;
  request.cost_basis = options_.cost_basis;
  request.layout = options_.layout;
  request.stripe = options_.stripe;
  target::Target target = options_.target;
  if (v.column_major) lay_side_by_side(options_.order, target, request);
  const std::optional<plan::Plan> given = options_.plan ? options_.plan : tuned_plan(v, rows, cols);
  LANEFOLD_TRY(Lowered lowered, lower_program(program_, target, request, given, access));
  auto kernel = std::make_unique<ClassKernel>();
  kernel->times = std::move(lowered.times);
  kernel->plan = std::move(lowered.plan);
  kernel->module = std::move(lowered.module);
  kernel->shared_bytes = lane::shared_bytes(kernel->module.kernels[0]);
  if (kernel->module.kernels[0].arguments.size() > kMaxArguments) internal_error("a kernel with too many arguments");

  const auto began = std::chrono::steady_clock::now();
  const std::string key = KernelCache::key(kernel->module, options_.target);
  if (std::optional<jit::Object> object = options_.cache.find(key)) {
    if (auto linked = jit::load(*object, kernel->module)) {
      kernel->linked = *linked;
      kernel->from_disk = true;
    }
  }
  if (!kernel->linked) {
    LANEFOLD_TRY(const jit::Object object, jit::compile(kernel->module, options_.target));
    LANEFOLD_TRY(kernel->linked, jit::load(object, kernel->module));
    options_.cache.store(key, object);
  }
  kernel->entry = kernel->linked->entry(0);
  kernel->times.push_back(
      {"compile", std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - began).count()});
  return kernel;
}

Result<const ClassKernel*> RowKernel::kernel(const Variant& v, std::int64_t rows, std::int64_t cols) {
  const bool plain = is_plain(v);
  std::atomic<const ClassKernel*>& slot = plain_[v.width_class][v.streaming];
  if (plain)
    if (const ClassKernel* known = slot.load(std::memory_order_acquire)) return known;
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const ClassKernel>& entry = all_[v];
  // Under `free` one plan may serve more widths than one class.
  for (const auto& [other, made] : all_) {
    Variant wider = other;
    wider.width_class = v.width_class;
    const bool alike = wider == v;
    if (!entry && made && alike && cols >= made->plan.width.min_cols && cols <= made->plan.width.max_cols) entry = made;
  }
  if (!entry) {
    auto built = build(v, rows, cols);
    if (!built) {
      all_.erase(v);
      return built.error();
    }
    entry = std::move(built).value();
    ++compiled_;
  }
  if (plain) slot.store(entry.get(), std::memory_order_release);
  return static_cast<const ClassKernel*>(entry.get());
}

Status RowKernel::check_columns(std::int64_t cols) const {
  if (cols > 0 && cols <= plan::kWidestRow && cols % block_ == 0) return success();
  if (auto refused = legality::program_violation(program_, options_.order, cols, options_.target)) return *refused;
  return success();
}

Result<const ClassKernel*> RowKernel::prepare(const runtime::Call& call) {
  LANEFOLD_CHECK(check_call(program_, call));
  LANEFOLD_CHECK(check_columns(call.cols));
  Variant v = variant(call);
  v.column_major = is_column_major(call);
  return kernel(v, call.rows, call.cols);
}

bool RowKernel::is_column_major(const runtime::Call& call) const {
  using Tag = ir::Kind::Tag;
  if (options_.plan || options_.layout || options_.stripe || call.rows < kRowsSideBySide || block_ > 1) return false;
  // Under `free`, how the elements of a row are grouped is the plan's own business.
  if (options_.order == ir::Order::free) return false;
  bool any = false, all = true;
  const auto look = [&](const View& view, Tag tag) {
    if (tag == Tag::element) any = any || (view.cols > 1 && view.column_stride != 1);
    if (tag == Tag::element || tag == Tag::row) all = all && view.row_stride == 1 && view.packing == Packing::plain;
  };
  for (std::size_t i = 0; i < call.inputs.size(); ++i) look(call.inputs[i], program_.inputs[i].kind.tag);
  for (std::size_t i = 0; i < call.outputs.size(); ++i) look(call.outputs[i], program_.stores[i].kind.tag);
  return any && all;
}

bool RowKernel::Remembered::fits(const runtime::Call& call) const {
  const auto same = [](const View& a, const View& b) {
    return a.data == b.data && a.type == b.type && a.rows == b.rows && a.cols == b.cols &&
           a.row_stride == b.row_stride && a.column_stride == b.column_stride && a.packing == b.packing;
  };
  const auto all_same = [&](std::span<const View> given, const std::vector<View>& known) {
    return std::equal(given.begin(), given.end(), known.begin(), known.end(), same);
  };
  return kernel && call.rows == rows && call.cols == cols && call.parameters.size() == parameter_words.size() &&
         all_same(call.inputs, inputs) && all_same(call.outputs, outputs);
}

runtime::Launch RowKernel::launch(const ClassKernel& chosen, const runtime::Call& call, bool streaming,
                                  std::span<lane::ArgumentWord> words) const {
  const lane::Kernel& kernel = chosen.module.kernels[0];
  runtime::fill_arguments(kernel, call, words);
  return {.entry = chosen.entry,
          .arguments = words.data(),
          .threadgroups = lane::launch_threadgroups(kernel, call.rows, call.cols),
          .shared_bytes = chosen.shared_bytes,
          .bytes = call.rows * call.cols * element_bytes_,
          .streaming = streaming};
}

void RowKernel::remember(const ClassKernel& chosen, const runtime::Call& call, bool streaming) {
  // Every vector has had its size since the kernel was created: calls allocate nothing.
  Remembered& r = remembered_;
  r.kernel = nullptr;
  std::copy(call.inputs.begin(), call.inputs.end(), r.inputs.begin());
  std::copy(call.outputs.begin(), call.outputs.end(), r.outputs.begin());
  r.rows = call.rows;
  r.cols = call.cols;
  r.launch = launch(chosen, call, streaming, r.words);
  const std::vector<lane::Argument>& arguments = chosen.module.kernels[0].arguments;
  for (std::uint32_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].role == lane::Role::parameter) r.parameter_words[arguments[i].index] = i;
  r.kernel = &chosen;
}

Status RowKernel::run(const runtime::Call& call, runtime::Executor& executor) {
  const bool own = !in_use_.test_and_set(std::memory_order_acquire);
  struct Release {
    std::atomic_flag* flag;
    ~Release() {
      if (flag) flag->clear(std::memory_order_release);
    }
  } const release{own ? &in_use_ : nullptr};
  if (own && remembered_.fits(call)) {
    for (std::size_t i = 0; i < call.parameters.size(); ++i)
      remembered_.words[remembered_.parameter_words[i]].real = call.parameters[i];
    executor.run(remembered_.launch);
    return success();
  }
  LANEFOLD_CHECK(check_call(program_, call));
  LANEFOLD_CHECK(check_columns(call.cols));
  if (call.rows == 0) return success();
  Variant v = variant(call);
  if (!is_column_major(call)) return run_part(call, v, executor, own);
  // Whole threadgroups side by side, and the few rows that are left one by one.
  const std::int64_t whole = call.rows / kRowsSideBySide * kRowsSideBySide;
  std::vector<View> inputs, outputs, last_inputs, last_outputs;
  Variant beside = v;
  beside.column_major = true;
  beside.streaming = false;
  LANEFOLD_CHECK(run_part(part_of(call, program_, 0, whole, inputs, outputs), beside, executor, false));
  if (whole == call.rows) return success();
  return run_part(part_of(call, program_, whole, call.rows - whole, last_inputs, last_outputs), v, executor, false);
}

Status RowKernel::run_part(const runtime::Call& call, const Variant& v, runtime::Executor& executor, bool remembers) {
  LANEFOLD_TRY(const ClassKernel* chosen, kernel(v, call.rows, call.cols));
  if (call.cols < chosen->plan.width.min_cols || call.cols > chosen->plan.width.max_cols)
    LANEFOLD_CHECK(plan::check(chosen->plan, program_, options_.target, call.cols));
  if (remembers) {
    remember(*chosen, call, v.streaming);
    executor.run(remembered_.launch);
    return success();
  }
  std::array<lane::ArgumentWord, kMaxArguments> words;
  executor.run(launch(*chosen, call, v.streaming, words));
  return success();
}

std::size_t RowKernel::kernels() const {
  const std::lock_guard lock(mutex_);
  return compiled_;
}

}  // namespace lanefold::driver
