// Public reports on GPU kernels: numbers of threads, slots of threadgroup arrays, and the barriers between two folds.
#include <algorithm>
#include <bit>

#include "conformance/gpu_shapes.h"
#include "driver/pipeline.h"
#include "machine/machine.h"

namespace lanefold::testing {
namespace {

/// Plans the threads exactly: the code of the refusal, or nothing where such a plan has run and given the exact
/// bytes.
std::string with_exact_threads(Trial& trial, const target::Target& target, std::uint32_t threads) {
  plan::Request request = asking(trial, 0);
  request.group_threads = threads;
  request.rows_per_threadgroup = 1;
  const auto plan = plan::choose(trial.program(), target, request);
  if (!plan.ok()) return std::string(code_name(plan.error().code));
  EXPECT_EQ(plan->threads, threads) << "an exact request was changed in silence";
  const Status status = trial.run(machine_options(target, *plan));
  EXPECT_TRUE(status.ok()) << status.error().text();
  if (!status.ok()) return std::string(code_name(status.error().code));
  EXPECT_EQ(difference(trial.program(), trial.output_bytes(), trial.exact()), "");
  expect_close(trial);
  return "";
}

TEST(GpuCases, larql_q8_norms_for_every_pair_of_width_and_threads) {
  const std::string whole(code_name(Code::threads_not_whole_simd_groups)),
      power(code_name(Code::workers_not_power_of_two)), split(code_name(Code::block_split));
  for (const char* name : {"rms_norm_q8", "residual_norm_q8"})
    for (const std::string& target_name : kAll) {
      const target::Target target = *target::find(target_name);
      const auto refusal = [&](std::int64_t cols, std::uint32_t threads) {
        Trial trial(operator_program(name), 1, cols);
        trial.fill_random(threads, -3, 3);
        return with_exact_threads(trial, target, threads);
      };
      SCOPED_TRACE(std::string(name) + " on " + target_name);
      // A block of 32 columns is folded inside one SIMD group, which narrower groups that share a row can do only
      // with wide vectors.
      const bool narrow = target.simd_width < 32;
      for (const std::uint32_t threads : {240u, 80u})
        EXPECT_EQ(refusal(2560, threads), threads % target.simd_width != 0 ? whole : narrow ? split : power) << threads;
      EXPECT_EQ(refusal(200, 100), code_name(Code::columns_not_whole_blocks));
      for (const std::uint32_t threads : {64u, 128u, 256u}) {
        const std::string refused = refusal(2560, threads);
        EXPECT_TRUE(refused.empty() || (narrow && refused == split)) << threads << " threads: " << refused;
      }
      EXPECT_EQ(refusal(2560, target.simd_width), "") << "one SIMD group to a row";
    }
}

TEST(GpuCases, tilelang_2542_candle_1819_any_number_of_threads) {
  // Every number of threads up to 128, so 48, 80 and 96 too, is either refused or gives the right sum.
  for (const std::string target_name : {"generic-8", "generic-16", "generic-32", "generic-64"}) {
    const target::Target target = *target::find(target_name);
    Trial trial(operator_program("sum"), 1, 1000);
    trial.fill_random(5, 0, 2);
    int ran = 0;
    for (std::uint32_t threads = 1; threads <= 128; ++threads) {
      const std::string refused = with_exact_threads(trial, target, threads);
      if (threads % target.simd_width != 0) {
        EXPECT_EQ(refused, code_name(Code::threads_not_whole_simd_groups)) << threads;
      } else if (!std::has_single_bit(threads)) {
        EXPECT_EQ(refused, code_name(Code::workers_not_power_of_two)) << threads;
      } else if (threads / target.simd_width > target.simd_width) {
        // One SIMD group merges what all of them leave, so they cannot be more than it has lanes.
        EXPECT_EQ(refused, code_name(Code::too_many_simd_groups)) << threads;
      } else {
        EXPECT_EQ(refused, "") << threads << " threads on " << target_name;
        ++ran;
      }
    }
    EXPECT_GE(ran, 2) << target_name;
  }
}

TEST(GpuCases, larql_slots_for_every_simd_group) {
  for (const char* name : {"sum", "softmax", "layer_norm", "rms_norm_q8", "argmax"})
    for (const std::string& target_name : kAll)
      for (const std::uint32_t groups : {2u, 4u, 8u, 16u, 32u}) {
        Trial trial(operator_program(name), 1, 4096);
        const target::Target target = *target::find(target_name);
        const auto lowered = driver::lower_program(trial.program(), target, asking(trial, groups));
        if (!lowered.ok()) {
          const Code code = lowered.error().code;
          EXPECT_TRUE(code == Code::block_split || code == Code::too_many_simd_groups ||
                      code == Code::too_many_threads || code == Code::more_workers_than_virtual_lanes)
              << lowered.error().text();
          continue;
        }
        const lane::Kernel& kernel = lowered->module.kernels.at(0);
        EXPECT_EQ(kernel.simd_groups, groups);
        EXPECT_GE(lane::shared_bytes(kernel), lowered->plan.threadgroup_bytes);
        // A threadgroup of a cluster has one slot more, which its peers read.
        for (const lane::SharedArray& array : kernel.shared)
          EXPECT_GE(array.size, array.name.starts_with("total") ? 1 : groups) << name << ' ' << array.name;
        if (groups != 4 && groups != target.simd_width) continue;
        trial.fill_random(groups, -4, 4);
        ASSERT_TRUE(trial.run(machine_options(target, lowered->plan)).ok());
        EXPECT_EQ(difference(trial.program(), trial.output_bytes(), trial.exact()), "")
            << name << " on " << target_name;
      }
}

TEST(GpuCases, larql_mlx_lm_1700_second_fold_of_softmax_with_100_orders) {
  for (const std::uint32_t groups : {2u, 8u}) {
    Trial trial(operator_program("softmax"), 1, 1000);
    trial.fill_random(3, -5, 5);
    const target::Target target = *target::find("generic-32");
    const plan::Plan plan = plan::choose(trial.program(), target, asking(trial, groups)).value();
    ASSERT_EQ(plan.simd_groups_per_row, groups);
    const std::vector<Bytes> exact = trial.exact();
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      const Status status = trial.run(machine_options(target, plan, seed));
      ASSERT_TRUE(status.ok()) << seed << ": " << status.error().text();
      ASSERT_EQ(difference(trial.program(), trial.output_bytes(), exact), "") << seed;
    }
  }
}

/// Takes the barrier with that number, in the order of the text, out of a block.
bool without_barrier(std::vector<lane::Statement>& block, int& number) {
  for (auto s = block.begin(); s != block.end(); ++s) {
    if (s->op == lane::Op::barrier && number-- == 0) {
      block.erase(s);
      return true;
    }
    if (without_barrier(s->body, number) || without_barrier(s->otherwise, number)) return true;
  }
  return false;
}

/// What the machine finds in a lowered kernel on the inputs of the trial.
std::vector<Diagnostic> findings_of(const lane::Module& module, Trial& trial, std::uint64_t seed) {
  const lane::Kernel& kernel = module.kernels.at(0);
  std::vector<verify::Matrix> outputs;
  for (const ir::Store& store : trial.program().stores) {
    const driver::Shape shape = driver::expected_shape(store.kind, trial.rows(), trial.cols());
    outputs.emplace_back(store.storage, shape.rows, shape.cols);
  }
  const std::vector<View> views = verify::views(outputs);
  const runtime::Call call{.inputs = trial.inputs,
                           .outputs = views,
                           .parameters = trial.parameters,
                           .rows = trial.rows(),
                           .cols = trial.cols()};
  std::vector<lane::ArgumentWord> words(kernel.arguments.size());
  runtime::fill_arguments(kernel, call, words);
  std::vector<machine::Buffer> buffers;
  for (const lane::Argument& a : kernel.arguments)
    if (a.buffer)
      buffers.push_back({a.name, a.role, a.role == lane::Role::output ? views[a.index] : trial.inputs[a.index]});
  machine::GlobalMemory memory(module, buffers);
  return machine::run(module, kernel, words, trial.rows(), trial.cols(), memory, {.seed = seed}).findings;
}

TEST(GpuCases, mlx_lm_1700_every_barrier_of_a_lowered_kernel_is_needed) {
  for (const char* name : {"sum", "softmax", "layer_norm", "rms_norm", "argmax", "rms_norm_q8"}) {
    Trial trial(operator_program(name), 1, 1024);
    trial.fill_random(1, -1, 1);
    const auto lowered = driver::lower_program(trial.program(), *target::find("generic-32"), asking(trial, 4));
    ASSERT_TRUE(lowered.ok()) << lowered.error().text();
    const auto sites = static_cast<int>(driver::barrier_sites(lowered->module.kernels.at(0)));
    ASSERT_GT(sites, 0) << name;
    for (const std::uint64_t seed : {0u, 1u, 2u, 3u, 4u}) {
      EXPECT_TRUE(findings_of(lowered->module, trial, seed).empty()) << name;
      for (int site = 0; site < sites; ++site) {
        lane::Module faulty = lowered->module;
        int number = site;
        ASSERT_TRUE(without_barrier(faulty.kernels[0].body, number));
        const std::vector<Diagnostic> findings = findings_of(faulty, trial, seed);
        ASSERT_FALSE(findings.empty()) << name << " passes without barrier " << site << " of " << sites;
        // Whichever of the two comes first: a race, or a slot that nobody has written yet.
        for (const Diagnostic& finding : findings)
          EXPECT_TRUE(finding.code == Code::machine_shared_race || finding.code == Code::machine_poison_stored)
              << finding.text();
        EXPECT_TRUE(std::any_of(findings.begin(), findings.end(),
                                [](const Diagnostic& d) { return d.code == Code::machine_shared_race; }))
            << name << ", barrier " << site << ", seed " << seed;
      }
    }
  }
}

}  // namespace
}  // namespace lanefold::testing
