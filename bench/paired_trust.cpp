// Whether the real sampler deserves trust: how often `lanefold ab` claims a difference between a kernel and itself, and how often it finds that
// one does five, ten or twenty percent more work (more launches of the same kernel). Usage: paired_trust [runs] [pairs]
#include <fmt/format.h>

#include <cstdlib>

#include "bench/ab.h"

namespace {

using namespace lanefold;

bench::SubjectRequest launches_of(const char* kernel, std::int64_t rows, std::int64_t cols, std::int64_t launches) {
  bench::SubjectRequest request;
  request.kernel = driver::parse_kernel_name(kernel).value();
  request.instance.rows = rows;
  request.instance.cols = cols;
  request.launches = launches;
  return request;
}

struct Found {
  int faster = 0, slower = 0;
};

Found count_claims(std::int64_t rows, std::int64_t cols, std::int64_t more, int runs, int pairs) {
  Found found;
  for (int run = 0; run < runs; ++run) {
    bench::AbRequest request;
    request.a = launches_of("rms_norm", rows, cols, 20);
    request.b = launches_of("rms_norm", rows, cols, 20 + more);
    request.pairs = pairs;
    request.seed = static_cast<std::uint64_t>(run) + 1;
    request.proof = bench::ProofEffort::none;
    const Result<bench::ComparisonRecord> record = bench::compare_kernels(request, {});
    if (!record || !record->verdict) internal_error("rms_norm could not be compared with itself");
    found.faster += record->verdict->claim == bench::Claim::faster;
    found.slower += record->verdict->claim == bench::Claim::slower;
  }
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  const int runs = argc > 1 ? std::atoi(argv[1]) : 20, pairs = argc > 2 ? std::atoi(argv[2]) : 9;
  fmt::print("rms_norm, {} runs of {} pairs each; B is so much more work\n", runs, pairs);
  fmt::print("{:>12} {:>10} {:>8} {:>8}\n", "shape", "more work", "faster", "slower");
  for (const auto& [rows, cols] : {std::pair<std::int64_t, std::int64_t>{1, 2560}, {64, 4096}})
    for (const std::int64_t more : {0, 1, 2, 4}) {
      const Found found = count_claims(rows, cols, more, runs, pairs);
      fmt::print("{:>12} {:>9} % {:>8} {:>8}\n", fmt::format("{}x{}", rows, cols), 5 * more, found.faster,
                 found.slower);
      std::fflush(stdout);
    }
}
