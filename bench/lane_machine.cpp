// How long checks and proofs of the lane machine take, and how much memory: each case in a process of its own would be fairer to
// memory, so cases run from small to large and the peak so far is shown.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "driver/kernel_name.h"
#include "verify/module_check.h"
#include "verify/prove.h"

namespace {

using namespace lanefold;

double peak_gib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / (1024.0 * 1024.0);
}

verify::Instance instance(const std::string& name, std::int64_t rows, std::int64_t cols, std::int64_t tokens,
                          kernels::WeightFormat weights = kernels::WeightFormat::bf16) {
  verify::InstanceRequest request;
  request.rows = rows;
  request.cols = cols;
  request.options.target = *target::find("generic-32");
  if (tokens > 0) request.sizes.values["tokens"] = tokens;
  request.sizes.weights = weights;
  const auto kernel = driver::parse_kernel_name(name);
  auto made = verify::make_instance(*kernel, request);
  if (!made) internal_error(made.error().text());
  return std::move(made).value();
}

void check(const char* name, std::int64_t rows, std::int64_t cols) {
  const verify::Instance made = instance(name, rows, cols, 0);
  verify::DeviceOptions options;
  options.device = "lane-machine";
  const auto done = verify::check_module(made, options, verify::Pattern::plain, 1);
  if (!done || !done->ok()) internal_error(std::string(name) + " does not check");
}

void prove(const std::string& a, const std::string& b, std::int64_t tokens, kernels::WeightFormat weights, bool all) {
  const verify::Instance left = instance(a, 1, 2560, tokens, weights), right = instance(b, 1, 2560, tokens, weights);
  verify::ProveOptions options;
  options.all = all;
  const auto proof = verify::prove(left, right, options);
  if (!proof || proof->verdict != verify::Verdict::equal) internal_error(a + " is not proved");
}

void prove_canonical(const std::string& name) {
  const auto proof = verify::prove_canonical(instance(name, 1, 2560, 0));
  if (!proof || proof->verdict != verify::Verdict::equal) internal_error(name + " is not proved");
}

struct Case {
  std::string name;
  double target;  ///< seconds; 0: none
  std::function<void()> run;
};

}  // namespace

int main() {
  using kernels::WeightFormat;
  std::vector<Case> cases = {
      {"prove rms_norm canonical, 2560 columns", 5, [] { prove_canonical("rms_norm"); }},
      {"prove softmax canonical, 2560 columns", 5, [] { prove_canonical("softmax"); }},
      {"prove rms_norm_q8 canonical, 2560 columns", 5, [] { prove_canonical("rms_norm_q8"); }},
      {"check rms_norm 64 x 4096 on generic-32", 2, [] { check("rms_norm", 64, 4096); }},
      {"check softmax 64 x 4096 on generic-32", 0, [] { check("softmax", 64, 4096); }},
      {"prove gr_up old new, 8 tokens, bf16, 3 of 160 tiles", 60,
       [] { prove("gr_up:old", "gr_up:new", 8, WeightFormat::bf16, false); }},
      {"prove gr_up old new, 8 tokens, q8_0, 3 of 160 tiles", 60,
       [] { prove("gr_up:old", "gr_up:new", 8, WeightFormat::q8_0, false); }},
      {"prove gr_up old new, 8 tokens, bf16, all 160 tiles", 0,
       [] { prove("gr_up:old", "gr_up:new", 8, WeightFormat::bf16, true); }},
      {"prove rms_norm per_lane serial, 2560 columns", 0,
       [] { prove("rms_norm:per_lane", "rms_norm:serial", 0, WeightFormat::bf16, false); }},
  };
  constexpr int kSamples = 5;
  std::printf("%-56s %10s %10s %10s %12s\n", "case", "median s", "max s", "target s", "peak GiB");
  for (const Case& c : cases) {
    std::vector<double> seconds;
    for (int i = 0; i < kSamples; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      c.run();
      seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    std::sort(seconds.begin(), seconds.end());
    std::printf("%-56s %10.3f %10.3f %10s %12.2f\n", c.name.c_str(), seconds[kSamples / 2], seconds.back(),
                c.target > 0 ? std::to_string(static_cast<int>(c.target)).c_str() : "-", peak_gib());
  }
}
