// The C ABI: kernels, pools, and what they say of themselves.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>

#include <fmt/format.h>

#include "api/c_guard.h"
#include "api/enumerators.h"
#include "api/failure.h"
#include "driver/version.h"

namespace {

using lanefold::Code;
using lanefold::Kernel;
using lanefold::api::copy_text;
using lanefold::api::enumerator;
using lanefold::api::fail;
using lanefold::api::guarded;
using lanefold::api::need;

static_assert(static_cast<int>(lanefold::Type::boolean) == LANEFOLD_TYPE_BOOLEAN);
static_assert(static_cast<int>(lanefold::Type::i8) == LANEFOLD_TYPE_I8);
static_assert(static_cast<int>(lanefold::Type::i32) == LANEFOLD_TYPE_I32);
static_assert(static_cast<int>(lanefold::Type::i64) == LANEFOLD_TYPE_I64);
static_assert(static_cast<int>(lanefold::Type::f32) == LANEFOLD_TYPE_F32);
static_assert(static_cast<int>(lanefold::Type::f16) == LANEFOLD_TYPE_F16);
static_assert(static_cast<int>(lanefold::Type::bf16) == LANEFOLD_TYPE_BF16);
static_assert(static_cast<int>(lanefold::Type::e4m3) == LANEFOLD_TYPE_E4M3);
static_assert(static_cast<int>(lanefold::Type::e5m2) == LANEFOLD_TYPE_E5M2);
static_assert(static_cast<int>(lanefold::Type::f64) == LANEFOLD_TYPE_F64);
static_assert(static_cast<int>(lanefold::Type::q8_0) == LANEFOLD_TYPE_Q8_0);
static_assert(static_cast<int>(lanefold::Order::canonical) == LANEFOLD_ORDER_CANONICAL);
static_assert(static_cast<int>(lanefold::Order::serial) == LANEFOLD_ORDER_SERIAL);
static_assert(static_cast<int>(lanefold::Order::free) == LANEFOLD_ORDER_FREE);
static_assert(static_cast<int>(lanefold::Device::automatic) == LANEFOLD_DEVICE_AUTOMATIC);
static_assert(static_cast<int>(lanefold::Device::cpu) == LANEFOLD_DEVICE_CPU);
static_assert(static_cast<int>(lanefold::Device::lane_machine) == LANEFOLD_DEVICE_LANE_MACHINE);
static_assert(static_cast<int>(lanefold::Device::cuda) == LANEFOLD_DEVICE_CUDA);
static_assert(static_cast<int>(lanefold::Kind::element) == LANEFOLD_KIND_ELEMENT);
static_assert(static_cast<int>(lanefold::Kind::row) == LANEFOLD_KIND_ROW);
static_assert(static_cast<int>(lanefold::Kind::column) == LANEFOLD_KIND_COLUMN);
static_assert(static_cast<int>(lanefold::Kind::block) == LANEFOLD_KIND_BLOCK);
static_assert(static_cast<int>(lanefold::Emission::lane) == LANEFOLD_EMIT_LANE);
static_assert(static_cast<int>(lanefold::Emission::llvm) == LANEFOLD_EMIT_LLVM);
static_assert(static_cast<int>(lanefold::Emission::assembly) == LANEFOLD_EMIT_ASSEMBLY);
static_assert(static_cast<int>(lanefold::Emission::cuda) == LANEFOLD_EMIT_CUDA);

/// The caller's options: fields that an older caller does not know have their defaults, and a newer one's must be zero.
lanefold_options known_options(const lanefold_options* given) {
  lanefold_options known = LANEFOLD_OPTIONS_INIT;
  if (!given) return known;
  constexpr std::size_t first_version = offsetof(lanefold_options, cuda_device);
  const std::uint64_t size = given->struct_size;
  if (size < first_version)
    fail({Code::bad_arguments,
          fmt::format("struct_size of the options is {}, and never was below {}", size, first_version),
          "begin with LANEFOLD_OPTIONS_INIT", "options"});
  // A size that was never set would have more read than is there.
  constexpr std::size_t most = 4096;
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  for (std::size_t i = sizeof(known); i < size; ++i)
    if (size > most || bytes[i] != 0)
      fail(
          {Code::bad_arguments,
           fmt::format("the options have {} bytes, of which this version of the library knows {}", size, sizeof(known)),
           "use the library of the header that the program was compiled with, or a newer one", "options"});
  std::memcpy(&known, given, std::min<std::size_t>(size, sizeof(known)));
  return known;
}

lanefold::Options options(const lanefold_options* given) {
  const lanefold_options known = known_options(given);
  lanefold::Options result;
  result.order = enumerator<lanefold::Order>(known.order);
  result.device = enumerator<lanefold::Device>(known.device);
  result.threads = known.threads;
  result.disk_cache = known.disk_cache != 0;
  if (known.pool) result.pool = known.pool->pool;
  if (known.absent_count > 0) need(known.absent, "options.absent");
  for (std::uint64_t i = 0; i < known.absent_count; ++i) {
    need(known.absent[i], "options.absent");
    result.absent.emplace_back(known.absent[i]);
  }
  if (known.fixed_count > 0) need(known.fixed, "options.fixed");
  for (std::uint64_t i = 0; i < known.fixed_count; ++i) {
    need(known.fixed[i].name, "options.fixed");
    result.fixed.push_back({known.fixed[i].name, known.fixed[i].value});
  }
  if (known.weights != -1) result.weights = enumerator<lanefold::Type>(known.weights);
  result.tokens = known.tokens;
  if (known.cuda_device != -1) result.cuda_device = known.cuda_device;
  return result;
}

lanefold_port port(const lanefold::Port& from) {
  return {from.name.c_str(), static_cast<int32_t>(from.type), static_cast<int32_t>(from.kind), from.block, from.inner};
}

lanefold_kernel* wrapped(Kernel kernel) {
  auto result = std::make_unique<lanefold_kernel>(lanefold_kernel{std::move(kernel), {}, {}, {}});
  for (const lanefold::Port& input : result->kernel.inputs()) result->inputs.push_back(port(input));
  for (const lanefold::Port& output : result->kernel.outputs()) result->outputs.push_back(port(output));
  for (const lanefold::Parameter& parameter : result->kernel.parameters())
    result->parameters.push_back({parameter.name.c_str(), parameter.value, 0});
  return result.release();
}

/// Gives the caller the text that `make` makes of the kernel.
template <class Make>
int32_t give_text(const lanefold_kernel* kernel, char** text, lanefold_error** error, const Make& make) {
  if (text) *text = nullptr;
  return guarded(error, [&] {
    need(kernel, "kernel");
    need(text, "text");
    *text = copy_text(make(kernel->kernel));
  });
}

template <class T>
const T* at(const std::vector<T>& list, std::uint64_t index) {
  return index < list.size() ? &list[static_cast<std::size_t>(index)] : nullptr;
}

}  // namespace

int32_t lanefold_abi_version(void) { return LANEFOLD_ABI_VERSION; }
const char* lanefold_version(void) { return lanefold::driver::kVersion.data(); }

int32_t lanefold_pool_create(uint32_t threads, lanefold_pool** pool, lanefold_error** error) {
  if (pool) *pool = nullptr;
  return guarded(error, [&] {
    need(pool, "pool");
    *pool = new lanefold_pool{lanefold::Pool(threads)};
  });
}
void lanefold_pool_free(lanefold_pool* pool) { delete pool; }

int32_t lanefold_compile_operator(const char* name, int32_t type, const lanefold_options* given,
                                  lanefold_kernel** kernel, lanefold_error** error) {
  if (kernel) *kernel = nullptr;
  return guarded(error, [&] {
    need(kernel, "kernel");
    need(name, "name");
    *kernel = wrapped(Kernel::compile_operator(name, enumerator<lanefold::Type>(type), options(given)));
  });
}

int32_t lanefold_compile_program(const char* text, const lanefold_options* given, lanefold_kernel** kernel,
                                 lanefold_error** error) {
  if (kernel) *kernel = nullptr;
  return guarded(error, [&] {
    need(kernel, "kernel");
    need(text, "text");
    *kernel = wrapped(Kernel::compile_program(text, options(given)));
  });
}

void lanefold_kernel_free(lanefold_kernel* kernel) { delete kernel; }

int32_t lanefold_operator_names(const char* const** names, uint64_t* count, lanefold_error** error) {
  if (names) *names = nullptr;
  if (count) *count = 0;
  return guarded(error, [&] {
    need(names, "names");
    need(count, "count");
    static const std::vector<std::string> texts = lanefold::operator_names();
    static const std::vector<const char*> pointers = [] {
      std::vector<const char*> result;
      for (const std::string& text : texts) result.push_back(text.c_str());
      return result;
    }();
    *names = pointers.data();
    *count = pointers.size();
  });
}

uint64_t lanefold_input_count(const lanefold_kernel* kernel) { return kernel ? kernel->inputs.size() : 0; }
uint64_t lanefold_output_count(const lanefold_kernel* kernel) { return kernel ? kernel->outputs.size() : 0; }
uint64_t lanefold_parameter_count(const lanefold_kernel* kernel) { return kernel ? kernel->parameters.size() : 0; }
const lanefold_port* lanefold_input(const lanefold_kernel* kernel, uint64_t index) {
  return kernel ? at(kernel->inputs, index) : nullptr;
}
const lanefold_port* lanefold_output(const lanefold_kernel* kernel, uint64_t index) {
  return kernel ? at(kernel->outputs, index) : nullptr;
}
const lanefold_parameter* lanefold_parameter_at(const lanefold_kernel* kernel, uint64_t index) {
  return kernel ? at(kernel->parameters, index) : nullptr;
}
const char* lanefold_kernel_name(const lanefold_kernel* kernel) {
  return kernel ? kernel->kernel.name().c_str() : nullptr;
}
int32_t lanefold_kernel_device(const lanefold_kernel* kernel) {
  return kernel ? static_cast<int32_t>(kernel->kernel.device()) : LANEFOLD_DEVICE_AUTOMATIC;
}

int32_t lanefold_kernel_cuda_device(const lanefold_kernel* kernel) {
  return kernel ? kernel->kernel.cuda_device() : -1;
}

int32_t lanefold_plan_line(const lanefold_kernel* kernel, int64_t rows, int64_t cols, char** text,
                           lanefold_error** error) {
  return give_text(kernel, text, error, [&](const Kernel& k) { return k.plan_line(rows, cols); });
}
int32_t lanefold_plan_json(const lanefold_kernel* kernel, int64_t rows, int64_t cols, char** text,
                           lanefold_error** error) {
  return give_text(kernel, text, error, [&](const Kernel& k) { return k.plan_json(rows, cols); });
}
int32_t lanefold_lane_text(const lanefold_kernel* kernel, int64_t rows, int64_t cols, char** text,
                           lanefold_error** error) {
  return give_text(kernel, text, error, [&](const Kernel& k) { return k.lane_text(rows, cols); });
}
int32_t lanefold_emit(const lanefold_kernel* kernel, int64_t rows, int64_t cols, int32_t emission, char** text,
                      lanefold_error** error) {
  return give_text(kernel, text, error,
                   [&](const Kernel& k) { return k.emit(rows, cols, enumerator<lanefold::Emission>(emission)); });
}
