// The hand-written modules: their figures, their FP64 meaning on every device, old forms against new ones byte for byte, and many
// tokens at once against one by one.
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <tuple>

#include <gtest/gtest.h>

#include "conformance/hand_written_sizes.h"
#include "conformance/trial.h"
#include "verify/cuda_module.h"
#include "verify/module_check.h"

namespace lanefold::testing {
namespace {

using kernels::WeightFormat;
using verify::Instance;
using verify::ModuleMemory;
using verify::Pattern;

/// One instance and its code, made once for each name and size in a test.
struct Ready {
  Instance instance;
  std::optional<verify::CpuModule> cpu;
  std::optional<verify::CudaModule> cuda;
};

class ReadyInstances {
 public:
  Ready& get(const std::string& name, std::int64_t tokens, WeightFormat weights) {
    std::unique_ptr<Ready>& ready = ready_[{name, tokens, weights}];
    if (ready) return *ready;
    const kernels::HandWritten& op = *kernels::find_hand_written(name.substr(0, name.find(':')));
    ready = std::make_unique<Ready>(Ready{made(name, small(op, tokens, weights)), std::nullopt, std::nullopt});
    if (has_cpu()) {
      auto compiled = verify::CpuModule::compile(ready->instance, target::host());
      EXPECT_TRUE(compiled.ok()) << (compiled.ok() ? "" : compiled.error().text());
      if (compiled) ready->cpu.emplace(std::move(compiled).value());
    }
    if (has_cuda()) {
      auto compiled = verify::CudaModule::compile(ready->instance, on_device("cuda"));
      EXPECT_TRUE(compiled.ok()) << (compiled.ok() ? "" : compiled.error().text());
      if (compiled) ready->cuda.emplace(std::move(compiled).value());
    }
    return *ready;
  }

 private:
  std::map<std::tuple<std::string, std::int64_t, WeightFormat>, std::unique_ptr<Ready>> ready_;
};

/// Runs on the device; findings are failures.
void run(const Ready& ready, const ModuleMemory& memory, const std::string& device, std::uint64_t seed = 0) {
  if (device == "cpu") {
    const Status status = ready.cpu->run(memory, 1);
    ASSERT_TRUE(status.ok()) << status.error().text();
    return;
  }
  if (device == "cuda") {
    const Status status = ready.cuda->run(memory);
    ASSERT_TRUE(status.ok()) << status.error().text();
    return;
  }
  machine::Options options;
  options.seed = seed;
  const auto report = verify::run_on_machine(ready.instance, memory, options);
  ASSERT_TRUE(report.ok()) << report.error().text();
  for (const Diagnostic& found : report->findings) ADD_FAILURE() << found.text();
}

template <class Visit>
void each_module(const Visit& visit) {
  for (const kernels::HandWritten& op : kernels::hand_written())
    for (const WeightFormat weights : {WeightFormat::bf16, WeightFormat::q8_0}) {
      if (weights == WeightFormat::q8_0 && !op.has_weights) continue;
      visit(op, weights);
    }
}

TEST(HandWritten, EveryRightFormHasItsMeaningOnEveryDevice) {
  each_module([](const kernels::HandWritten& op, WeightFormat weights) {
    for (const kernels::FormFact& form : op.forms)
      for (const std::int64_t tokens : {1, 3, 8})
        for (const std::uint32_t width : {16u, 32u, 64u}) {
          if (!form.right || (width != 32 && tokens != 3)) continue;
          const Instance instance =
              made(std::string(op.name) + ":" + std::string(form.name), small(op, tokens, weights, width));
          for (const std::string& device : available_devices()) {
            if (device == "cuda" && width != 32) continue;
            SCOPED_TRACE(instance.name + " on " + device + ", " + std::to_string(tokens) + " tokens, width " +
                         std::to_string(width));
            const auto check = verify::check_module(instance, on_device(device), Pattern::plain, 7);
            ASSERT_TRUE(check.ok()) << check.error().text();
            for (const Diagnostic& found : check->findings) ADD_FAILURE() << found.text();
            EXPECT_GE(check->report.outputs.size(), 2u);
            for (const verify::OutputReport& output : check->report.outputs)
              EXPECT_EQ(output.wrong, 0) << output.name << "[" << output.first_column << "]: " << output.got << " for "
                                         << output.expected;
          }
        }
  });
}

TEST(HandWritten, OldAndNewStoreTheSameBytes) {
  each_module([](const kernels::HandWritten& op, WeightFormat weights) {
    ReadyInstances instances;
    for (const Pattern pattern : {Pattern::mixed, Pattern::extreme, Pattern::negative_zeros})
      for (const std::int64_t tokens : {1, 2, 3, 4, 8}) {
        std::optional<std::map<std::string, std::vector<std::byte>>> first;
        for (const char* form : {"old", "new"})
          for (const std::string& device : available_devices()) {
            const Ready& ready = instances.get(std::string(op.name) + ":" + form, tokens, weights);
            const Instance& instance = ready.instance;
            SCOPED_TRACE(instance.name + " on " + device + ", " + std::to_string(tokens) + " tokens, " +
                         std::string(verify::pattern_name(pattern)));
            ModuleMemory memory(instance.buffers);
            verify::fill_inputs(memory, instance, pattern, 11);
            run(ready, memory, device, static_cast<std::uint64_t>(tokens));
            std::map<std::string, std::vector<std::byte>> bytes;
            for (std::size_t b = 0; b < memory.buffers().size(); ++b) bytes[memory.buffers()[b].name] = memory.bytes(b);
            if (!first) first = bytes;
            EXPECT_TRUE(*first == bytes);
          }
      }
  });
}

machine::Counts counted(const std::string& name, std::int64_t tokens) {
  verify::InstanceRequest request;
  request.sizes.values["tokens"] = tokens;
  const Instance instance = made(name, request);
  ModuleMemory memory(instance.buffers);
  verify::fill_inputs(memory, instance, Pattern::plain, 1);
  const auto report = verify::run_on_machine(instance, memory);
  EXPECT_TRUE(report.ok() && report->findings.empty());
  return report->counts;
}

// Source of the figures: the report on prepared sums by shuffles; 97 mixers and 12 merges a token.
TEST(HandWritten, BarriersAndThreadgroupBytesAreThePublishedOnes) {
  struct Figure {
    const char* op;
    std::uint32_t old_bytes, new_bytes, old_barriers, new_barriers;
  };
  constexpr Figure kFigures[] = {{"gr_up", 2560, 2048, 2, 1},
                                 {"gr_up3", 12800, 12288, 3, 2},
                                 {"qsa_merge", 1024, 0, 1, 0},
                                 {"gr_norm", 32, 32, 1, 1}};
  std::map<std::string, std::array<machine::Counts, 2>> all;
  for (const Figure& figure : kFigures) {
    const std::string op = figure.op;
    const machine::Counts before = counted(op + ":old", 1), after = counted(op + ":new", 1);
    EXPECT_EQ(before.shared_bytes, figure.old_bytes) << op;
    EXPECT_EQ(after.shared_bytes, figure.new_bytes) << op;
    EXPECT_EQ(before.barrier_sites, figure.old_barriers) << op;
    EXPECT_EQ(after.barrier_sites, figure.new_barriers) << op;
    EXPECT_EQ(before.barriers, before.threadgroups * figure.old_barriers) << op;
    EXPECT_EQ(after.barriers, after.threadgroups * figure.new_barriers) << op;
    all[op] = {before, after};
  }
  constexpr std::uint64_t kMixers = 97, kMerges = 12;
  const auto sites = [&](const char* op) { return all[op][0].barrier_sites - all[op][1].barrier_sites; };
  EXPECT_EQ(kMixers * sites("gr_up") + kMerges * sites("qsa_merge"), 109u);
  EXPECT_EQ(kMixers * (all["gr_up"][0].barriers - all["gr_up"][1].barriers), 15520u);
}

using Named = std::map<std::string, std::vector<std::byte>>;

/// Runs one module over given inputs and hands out everything that it stored.
Named stored(ReadyInstances& instances, const std::string& name, std::int64_t tokens, WeightFormat weights,
             const std::string& device, const Named& inputs) {
  const Ready& ready = instances.get(name, tokens, weights);
  const Instance& instance = ready.instance;
  ModuleMemory memory(instance.buffers);
  verify::fill_inputs(memory, instance, Pattern::plain, 3);
  for (std::size_t b = 0; b < memory.buffers().size(); ++b) {
    const auto given = inputs.find(memory.buffers()[b].name);
    if (given == inputs.end()) continue;
    const View view = memory.view(b);
    EXPECT_EQ(given->second.size(), static_cast<std::size_t>(view.cols) * element_bytes(view.type)) << given->first;
    std::memcpy(view.data, given->second.data(), given->second.size());
  }
  run(ready, memory, device);
  Named outputs;
  for (std::size_t b = 0; b < memory.buffers().size(); ++b)
    if (memory.buffers()[b].role != lane::Role::input) outputs[memory.buffers()[b].name] = memory.bytes(b);
  return outputs;
}

/// The share of token t of T.
std::vector<std::byte> token(const std::vector<std::byte>& all, std::int64_t t, std::int64_t tokens) {
  const auto size = static_cast<std::ptrdiff_t>(all.size()) / tokens;
  return {all.begin() + t * size, all.begin() + (t + 1) * size};
}

/// gr_norm → gr_down → gr_up → qsa_merge, each fed with what the one before stored; a gate is a mixed vector.
Named chain(ReadyInstances& instances, const std::string& form, std::int64_t tokens, WeightFormat weights,
            const std::string& device, const Named& start) {
  const auto next = [&](const std::string& op, const Named& inputs) {
    return stored(instances, op + ":" + form, tokens, weights, device, inputs);
  };
  Named norm = next("gr_norm", start);
  Named down = next("gr_down", {{"xn", norm["xn"]}});
  Named up = next("gr_up", {{"xn", norm["xn"]}, {"lo", down["lo"]}});
  Named states;
  for (const char* name : {"acc", "m", "l"}) states[name] = start.at(name);
  states["gate"] = up["mixed"];
  Named merge = next("qsa_merge", states);
  return {{"residual", norm["residual"]}, {"inject", down["inject"]},  {"mixed", up["mixed"]},
          {"mixed_sums", up["sums"]},     {"merged", merge["merged"]}, {"planes", merge["planes"]},
          {"sums", merge["sums"]}};
}

Named start_of_chain(std::int64_t tokens) {
  Named start;
  for (const char* name : {"gr_norm", "qsa_merge"}) {
    const Instance instance = made(name, small(*kernels::find_hand_written(name), tokens, WeightFormat::bf16));
    ModuleMemory memory(instance.buffers);
    verify::fill_inputs(memory, instance, Pattern::plain, 5);
    for (std::size_t b = 0; b < memory.buffers().size(); ++b)
      if (memory.buffers()[b].role != lane::Role::output && memory.buffers()[b].name != "w_norm")
        start[memory.buffers()[b].name] = memory.bytes(b);
  }
  return start;
}

TEST(HandWritten, TheChainOfTokensAtOnceIsThatOfTokensOneByOne) {
  ReadyInstances instances;
  for (const WeightFormat weights : {WeightFormat::bf16, WeightFormat::q8_0})
    for (const std::string& device : available_devices())
      for (const char* form : {"old", "new"})
        for (const std::int64_t tokens : {2, 3, 8}) {
          SCOPED_TRACE(std::string(form) + " on " + device + ", " + std::to_string(tokens) + " tokens");
          const Named start = start_of_chain(tokens);
          const Named together = chain(instances, form, tokens, weights, device, start);
          for (std::int64_t t = 0; t < tokens; ++t) {
            Named one;
            for (const auto& [name, bytes] : start) one[name] = token(bytes, t, tokens);
            for (const auto& [name, bytes] : chain(instances, form, 1, weights, device, one))
              EXPECT_TRUE(bytes == token(together.at(name), t, tokens)) << name << " of token " << t;
          }
        }
}

}  // namespace
}  // namespace lanefold::testing
