// Results for tests, with a value in every field.
#pragma once

#include <cstdint>
#include <limits>

#include "bench/results/results.h"

namespace lanefold::bench {

inline Failure full_failure(const char* stage) { return {stage, "LF0810", "output_wrong", "2 of 64 elements", "look"}; }

inline CaseRecord full_case() {
  CaseRecord c;
  c.id = "rms_norm 64x4096 f32 canonical";
  c.suite = "norms";
  c.kernel = "rms_norm";
  c.made_for = "64 rows of 4096 columns";
  c.rows = 64;
  c.cols = 4096;
  c.dtype = "f32";
  c.order = "canonical";
  c.device = "cpu";
  c.threads = 2;
  c.launches = 3;
  c.failure = full_failure("check");
  c.plan = R"({"schema": 1, "plan": {"cost": 0.1, "bits": ["reg", "lane"]}})";
  c.plan_line = "one SIMD group a row";
  c.phases = {{"plan", 12.5}, {"compile", 40000}};
  c.sources = {{"lane", std::string(64, 'a'), "sources/rms_norm.lane"}, {"asm", std::string(64, 'b'), ""}};
  c.check = Check{1e-5, 1e-6, 1, {{"y", 262144, 2, 0.25}, {"scale", 64, 0, 0}}};
  c.as_module = true;
  c.bytes_read = 1 << 20;
  c.bytes_written = std::int64_t{1} << 40;
  c.single_us = {1.5, 2.5};
  const Check peer_check{1e-5, 1e-6, 0, {{"y", 262144, 0, 1e-7}}};
  c.arms = {{"lanefold",
             "subject",
             "",
             "preallocated",
             "",
             100,
             0,
             {3.25, 3.5},
             {3.0, 3.125},
             {0, 1},
             std::nullopt,
             std::nullopt},
            {"copy",
             "ceiling",
             "",
             "preallocated",
             "",
             200,
             4096,
             {0.1, 1.0 / 3, 5e-324},
             {},
             {0, 1, 0},
             std::nullopt,
             std::nullopt},
            {"onnxruntime",
             "peer",
             "1.32.0, 2 threads",
             "allocated per call",
             "no such operator",
             0,
             0,
             {},
             {},
             {},
             peer_check,
             full_failure("sample"),
             "x is rounded to q8_0"}};
  c.resources = {{"rms_norm", 48, 16, 8192}};
  c.enqueue_us = {2.5, 2.75};
  return c;
}

inline Results full_results() {
  Results r;
  r.kind = "bench";
  r.complete = true;
  r.command = {"lanefold", "bench", "--suite", "norms"};
  r.started = "2026-01-02T03:04:05Z";
  r.finished = "2026-01-02T03:05:05Z";
  r.protocol = {{"samples", 11}, {"sample_ms", 100}, {"warmup_ms", 0.1}};
  r.environment = {"cpu",
                   "A Processor",
                   "cpu-avx2",
                   "a driver",
                   "LLVM 19.1.7",
                   "g++ 12.2.0",
                   "Linux 6.1 x86_64",
                   2,
                   std::numeric_limits<std::uint64_t>::max(),
                   "0.1.0",
                   std::string(40, 'c'),
                   true,
                   {"lanefold", std::string(64, 'd')},
                   {{"libc.so.6", std::string(64, 'e')}, {"libm.so.6", std::string(64, 'f')}},
                   {0.5, 0.25, 0.125},
                   {1.5, 0.5, 0.25},
                   0.01};
  r.cases = {full_case()};
  r.fits = {{"rms_norm", "f32", "cols", 64, -0.5, 12.5, 0.03, {"rms_norm 64x4096 f32 canonical"}}};
  ComparisonRecord ab;
  ab.a = "rms_norm:per_lane";
  ab.b = "rms_norm";
  ab.made_for = "1 row of 2560 columns";
  ab.dtype = "bf16";
  ab.device = "cpu";
  ab.threads = 1;
  ab.bytes = "differ";
  ab.bytes_detail = "y[3]: 1 ulp";
  ab.max_ulp = 1;
  ab.arms = {full_case(), full_case()};
  ab.figures = {{"loads", "bytes", 10240.0, 20480.0}, {"barriers", "", 2.0, std::nullopt}};
  ab.repetitions = 5;
  ab.calls_a = 100;
  ab.calls_b = std::numeric_limits<std::uint64_t>::max();
  ab.pairs = {{{PairKind::ab, true}, 2.5, 2.25}, {{PairKind::bb, false}, 2.25, 2.125}, {{PairKind::aa, true}, 3, 3.5}};
  ab.verdict = PairedVerdict{Claim::faster, 0.9, 0.8, 0.95, 0.98, 1.02, 0.001};
  ab.failure = full_failure("sample");
  r.comparisons = {ab};
  r.replays = {{"rms_norm 64x4096 f32 canonical",
                7,
                {{"first", R"({"schema": 1})", {1.5, 2.5}, 1.25, 0.5, 1.5, {1.25, 2.25}}, {"second", "", {}, 1, 1, 1}},
                full_failure("prepare")}};
  return r;
}

}  // namespace lanefold::bench
