// How much memory a call takes beside its inputs and outputs: every operator in f32 at one shape, in a process of its own that finds
// its machine code in the disk cache, so that the compiler takes no part. Exits with 1 where it is over 64 MiB.
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "lanefold/lanefold.h"

namespace {

using namespace lanefold;

constexpr double kMebibyte = 1024.0 * 1024.0, kMostMebibytes = 64;

/// A line of /proc/self/status in MiB, such as VmRSS (what lies in memory) or VmHWM (the most that did so far).
double status_mebibytes(const std::string& name) {
  std::ifstream file("/proc/self/status");
  std::string word;
  while (file >> word)
    if (word == name + ':') {
      double kibibytes = 0;
      file >> kibibytes;
      return kibibytes / 1024.0;
    }
  return 0;
}

std::size_t bytes_of(Type type) {
  switch (type) {
    case Type::i64:
    case Type::f64: return 8;
    case Type::i32:
    case Type::f32: return 4;
    case Type::f16:
    case Type::bf16: return 2;
    default: return 1;
  }
}

class Buffer {
 public:
  Buffer(const Port& port, std::int64_t rows, std::int64_t cols) {
    matrix_.type = port.type;
    matrix_.rows = port.kind == Kind::column ? 1 : rows;
    matrix_.cols = port.kind == Kind::row ? 1 : port.kind == Kind::block ? cols / port.block : cols;
    matrix_.row_stride = matrix_.cols;
    bytes_ = static_cast<std::size_t>(matrix_.rows * matrix_.cols) * bytes_of(port.type);
    data_ = std::make_unique_for_overwrite<std::byte[]>(bytes_);
    std::memset(data_.get(), 0, bytes_);  // every page is there before the call
    matrix_.data = data_.get();
  }
  const Matrix& matrix() const { return matrix_; }
  double mebibytes() const { return static_cast<double>(bytes_) / kMebibyte; }

 private:
  Matrix matrix_;
  std::size_t bytes_ = 0;
  std::unique_ptr<std::byte[]> data_;
};

/// Runs the operator once; whether its peak is within the bound, which it prints where `report`.
bool run(const std::string& name, std::int64_t rows, std::int64_t cols, unsigned threads, bool report) {
  const double before = status_mebibytes("VmRSS");
  Options options;
  options.threads = threads;
  const Kernel kernel = Kernel::compile_operator(name, Type::f32, options);
  std::vector<Buffer> buffers;
  std::vector<ConstMatrix> inputs;
  std::vector<Matrix> outputs;
  double used = 0;
  const auto add = [&](const Port& port) {
    buffers.emplace_back(port, rows, cols);
    used += buffers.back().mebibytes();
    return buffers.back().matrix();
  };
  for (const Port& port : kernel.inputs()) inputs.push_back(add(port));
  for (const Port& port : kernel.outputs()) outputs.push_back(add(port));
  kernel.run(inputs, outputs, rows, cols);
  const double beside = status_mebibytes("VmHWM") - before - used;
  if (report) std::printf("%-32s %12.1f %12.1f %12.1f\n", name.c_str(), before, used, beside);
  return beside <= kMostMebibytes;
}

bool in_a_process(const std::string& name, std::int64_t rows, std::int64_t cols, unsigned threads, bool report) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    bool good = false;
    try {
      good = run(name, rows, cols, threads, report);
    } catch (const std::exception& error) {
      std::printf("%s: %s\n", name.c_str(), error.what());
    }
    std::fflush(stdout);
    _exit(good ? 0 : 1);
  }
  int status = 1;
  if (child < 0 || waitpid(child, &status, 0) != child) return false;
  return status == 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t rows = argc > 1 ? std::atoll(argv[1]) : 4096, cols = argc > 2 ? std::atoll(argv[2]) : 4096;
  const auto threads = static_cast<unsigned>(argc > 3 ? std::atoi(argv[3]) : 2);
  if (rows <= 0 || cols <= 0 || threads == 0) {
    std::fprintf(stderr, "usage: %s [ROWS [COLS [THREADS]]]\n", argv[0]);
    return 2;
  }
  char folder[] = "/tmp/lanefold-peak-XXXXXX";
  if (mkdtemp(folder) == nullptr || setenv("LANEFOLD_CACHE_DIR", folder, 1) != 0) return 70;
  std::printf("%lld x %lld, f32, %u threads, MiB\n%-32s %12s %12s %12s\n", static_cast<long long>(rows),
              static_cast<long long>(cols), threads, "operator", "program", "in and out", "beside");
  bool good = true;
  for (const std::string& name : operator_names()) {
    in_a_process(name, rows, cols, threads, false);  // compiles, into the cache
    good = in_a_process(name, rows, cols, threads, true) && good;
  }
  std::filesystem::remove_all(folder);
  return good ? 0 : 1;
}
