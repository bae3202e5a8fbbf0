#include "bench/results/environment.h"

#include <sys/utsname.h>
#include <unistd.h>
#ifdef __linux__
#include <sched.h>
#endif

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <thread>
#include <tuple>

#include <fmt/format.h>

#include "base/sha256.h"
#include "bench/results/revision.h"
#include "driver/processor.h"
#include "driver/version.h"
#ifdef LANEFOLD_JIT
#include "jit/jit.h"
#endif
#if LANEFOLD_CUDA
#include "runtime/cuda/driver.h"
#include "runtime/cuda/nvrtc.h"
#endif

namespace lanefold::bench {
namespace {

constexpr std::string_view kDeleted = " (deleted)";

/// The whole file; empty where it cannot be read. Files of /proc have no size that could be asked for.
std::string read_text(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// Takes the first line off the text.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == text.npos ? text.size() : end + 1);
  return line;
}

/// Takes the first word off the line, and the spaces before it.
std::string_view take_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  const std::string_view word = line.substr(0, line.find_first_of(" \t"));
  line.remove_prefix(word.size());
  return word;
}

/// Empty where the file cannot be read.
std::string hash_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return "";
  Sha256 hash;
  std::vector<char> block(std::size_t{1} << 20);
  while (file) {
    file.read(block.data(), static_cast<std::streamsize>(block.size()));
    hash.update(block.data(), static_cast<std::size_t>(file.gcount()));
  }
  return file.eof() ? hash.hex_digest() : "";
}

bool is_deleted(std::string_view path) { return path.ends_with(kDeleted); }

/// The name without folders, and without the system's remark that it is gone.
std::string file_name(std::string_view path) {
  if (is_deleted(path)) path.remove_suffix(kDeleted.size());
  return std::filesystem::path(path).filename().string();
}

HashedFile running_binary() {
  std::error_code unknown;
  const std::filesystem::path target = std::filesystem::read_symlink("/proc/self/exe", unknown);
  if (unknown) return {};
  // Through the link, which still leads to the file when another has taken its place.
  return {file_name(target.string()), hash_file("/proc/self/exe")};
}

std::vector<HashedFile> loaded_libraries() {
  std::vector<HashedFile> libraries;
  for (const std::string& path : library_paths(read_text("/proc/self/maps"))) {
    // What is at the path of a deleted file now is not what was loaded.
    libraries.push_back({file_name(path), is_deleted(path) ? "" : hash_file(path)});
  }
  std::sort(libraries.begin(), libraries.end(), [](const HashedFile& a, const HashedFile& b) {
    return std::tie(a.name, a.sha256) < std::tie(b.name, b.sha256);
  });
  return libraries;
}

unsigned usable_processors() {
#ifdef __linux__
  // The mask has to be as large as the system's, which is not told.
  for (std::size_t most = 1024; most <= std::size_t{1} << 20; most *= 2) {
    const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> mask(CPU_ALLOC(most), [](cpu_set_t* m) { CPU_FREE(m); });
    const std::size_t size = CPU_ALLOC_SIZE(most);
    if (mask != nullptr && ::sched_getaffinity(0, size, mask.get()) == 0) {
      return static_cast<unsigned>(CPU_COUNT_S(size, mask.get()));
    }
  }
#endif
  return std::thread::hardware_concurrency();
}

std::uint64_t memory_bytes() {
#ifdef _SC_PHYS_PAGES
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page = ::sysconf(_SC_PAGESIZE);
  if (pages > 0 && page > 0) return static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page);
#endif
  return 0;
}

std::vector<double> load() {
  std::array<double, 3> means{};
  const int count = ::getloadavg(means.data(), static_cast<int>(means.size()));
  return {means.begin(), means.begin() + std::max(count, 0)};
}

std::string kernel_compiler(const std::string& device) {
#ifdef LANEFOLD_JIT
  // The lane machine compiles nothing.
  if (device == "cpu") return fmt::format("LLVM {}", jit::llvm_version());
#endif
#if LANEFOLD_CUDA
  if (device == "cuda")
    if (const Result<const runtime::Nvrtc*> nvrtc = runtime::Nvrtc::get()) return "NVRTC " + (*nvrtc)->version();
#endif
  static_cast<void>(device);
  return "";
}

/// What is known of a device that is not the processor.
void describe_device([[maybe_unused]] Environment& environment) {
#if LANEFOLD_CUDA
  if (environment.device != "cuda") return;
  const Result<const runtime::CudaDriver*> driver = runtime::CudaDriver::get();
  if (!driver) return;
  const int version = (*driver)->version();
  environment.driver = fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10);
  if (const Result<std::string> name = (*driver)->device_name(0)) environment.device_name = *name;
#endif
}

std::string binary_compiler() {
#if defined(__clang__)
  return fmt::format("clang++ {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#elif defined(__GNUC__)
  return "g++ " __VERSION__;
#else
  return "";
#endif
}

}  // namespace

std::optional<ProcessorTime> processor_time(std::string_view stat) {
  while (!stat.empty()) {
    std::string_view line = take_line(stat);
    if (take_word(line) != "cpu") continue;
    // user nice system idle iowait irq softirq steal guest guest_nice; user and nice contain the guests' time.
    constexpr int kCounted = 8;
    ProcessorTime time;
    for (int i = 0; i < kCounted; ++i) {
      const std::string_view word = take_word(line);
      std::uint64_t ticks = 0;
      const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), ticks);
      if (word.empty() || error != std::errc() || end != word.data() + word.size()) return std::nullopt;
      time.all += ticks;
      if (i == kCounted - 1) time.stolen = ticks;
    }
    return time;
  }
  return std::nullopt;
}

std::optional<double> stolen_share(const ProcessorTime& begin, const ProcessorTime& end) {
  // The system's time of waiting for input and output may go back a little.
  if (end.all <= begin.all || end.stolen < begin.stolen) return std::nullopt;
  const double share = static_cast<double>(end.stolen - begin.stolen) / static_cast<double>(end.all - begin.all);
  return std::min(share, 1.0);
}

std::vector<std::string> library_paths(std::string_view maps) {
  std::vector<std::string> paths;
  while (!maps.empty()) {
    std::string_view line = take_line(maps);
    // addresses permissions offset device inode path
    for (int i = 0; i < 5; ++i) take_word(line);
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    if (!line.starts_with('/')) continue;
    const std::string name = file_name(line);
    if (name.ends_with(".so") || name.find(".so.") != name.npos) paths.emplace_back(line);
  }
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  return paths;
}

Environment EnvironmentWatch::begin(const std::string& device, const std::string& target) {
  Environment environment;
  environment.device = device;
  environment.target = target;
  environment.device_name = driver::processor_name();
  struct utsname names{};
  if (::uname(&names) >= 0) {
    // Not nodename: whose machine it is does not matter.
    environment.system = fmt::format("{} {} {}", names.sysname, names.release, names.machine);
  }
  environment.compiler = kernel_compiler(device);
  describe_device(environment);
  environment.built_with = binary_compiler();
  environment.processors = usable_processors();
  environment.memory_bytes = memory_bytes();
  environment.version = driver::kVersion;
  environment.revision = source_revision();
  environment.dirty = source_dirty();
  environment.binary = running_binary();
  environment.libraries = loaded_libraries();
  environment.load_begin = load();
  begin_ = processor_time(read_text("/proc/stat"));
  return environment;
}

void EnvironmentWatch::end(Environment& environment) const {
  environment.load_end = load();
  const std::optional<ProcessorTime> now = processor_time(read_text("/proc/stat"));
  environment.stolen = begin_ && now ? stolen_share(*begin_, *now) : std::nullopt;
}

}  // namespace lanefold::bench
