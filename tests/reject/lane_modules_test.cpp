// Lane modules through the command: counts, proofs, checks and traces, of files, forms and hand-written modules.
#include "reject/command.h"

#include <algorithm>
#include <sstream>

#include "base/load_store.h"
#include "lane/module.h"

namespace lanefold {
namespace {

using Shape = std::vector<std::int64_t>;

/// Reverses 8 elements through threadgroup memory; `meet` stands between writing and reading it.
std::string reverse(const char* meet) {
  return std::string(R"(module reverse

kernel reverse simd_width 4 simd_groups 2 threadgroups 1
  buffer x: f32[8] role input
  buffer y: f32[8] role output
  shared s: f32[8]
  body
    %0 = lane
    %1 = simd_group
    %2 = constant i32 4
    %3 = mul %1, %2
    %4 = add %3, %0
    %5 = convert %4 to i64
    # publish
    %6 = load x[%5]
    shared_store s[%4] = %6
)") + meet +
         R"(    %7 = constant i32 7
    %8 = sub %7, %4
    %9 = shared_load s[%8]
    %10 = canonical_nan %9
    store y[%5] = %10
)";
}

/// Two of four lanes take the branch.
constexpr const char* kHalf = R"(module half

kernel half simd_width 4 simd_groups 1 threadgroups 1
  buffer y: i32[4] role output
  register r: i32[1]
  body
    %0 = lane
    %1 = constant i32 2
    %2 = convert %0 to i64
    set r[0] = %1
    %3 = lt %0, %1
    if %3
      set r[0] = %0
    end
    %4 = get r[0]
    store y[%2] = %4
)";

/// Reads where another buffer says.
constexpr const char* kGather = R"(module gather

kernel gather simd_width 4 simd_groups 1 threadgroups 1
  buffer x: f32[4] role input
  buffer index: i32[4] role input 1
  buffer y: f32[4] role output
  body
    %0 = lane
    %1 = convert %0 to i64
    %2 = load index[%1]
    %3 = convert %2 to i64
    %4 = load x[%3]
    %5 = canonical_nan %4
    store y[%1] = %5
)";

/// Multiplies a matrix of rows and columns by a factor that the caller sets.
constexpr const char* kScale = R"(module scale

kernel scale simd_width 4 simd_groups 1 rows_per_threadgroup 1 cols_per_threadgroup 4
  buffer x: f32[rows, cols] role input
  buffer y: f32[rows, cols] role output
  scalar factor: f32 role parameter
  body
    %0 = lane
    %1 = convert %0 to i64
    %2 = threadgroup
    %3 = constant i64 4
    %4 = mul %2, %3
    %5 = add %4, %1
    %6 = load x[%5]
    %7 = argument factor
    %8 = mul %6, %7
    %9 = canonical_nan %8
    store y[%5] = %9
)";

class LaneModuleTest : public CommandTest {
 protected:
  /// Expects the exit status and text in what is printed.
  Finished finished(const Arguments& arguments, int status, const std::vector<std::string>& parts) const {
    Finished told = lanefold(arguments);
    EXPECT_EQ(told.status, status) << told.out << told.err;
    for (const std::string& part : parts)
      EXPECT_NE((told.out + told.err).find(part), std::string::npos) << part << "\n" << told.out << told.err;
    return told;
  }

  nlohmann::json counts(const Arguments& kernel) const {
    Arguments all = {"count"};
    all.insert(all.end(), kernel.begin(), kernel.end());
    return json_of(all)["kernels"];
  }
};

const nlohmann::json& phase(const nlohmann::json& counts, const std::string& buffer, const std::string& start) {
  for (const nlohmann::json& entry : counts["phases"])
    if (entry["buffer"] == buffer && entry["phase"].get<std::string>().starts_with(start)) return entry;
  static const nlohmann::json none = {{"elements", -1}};
  return none;
}

TEST_F(LaneModuleTest, CountsTheOldFormBesideThePlannedOne) {
  const nlohmann::json kernels = counts({"rms_norm:per_lane", "rms_norm", "--cols", "2560"});
  ASSERT_EQ(kernels.size(), 2u);
  const nlohmann::json& old = kernels[0]["counts"];
  const nlohmann::json& planned = kernels[1]["counts"];
  EXPECT_EQ(phase(old, "x", "fold")["elements"], 6553600);
  EXPECT_EQ(old["barriers"], 0);
  EXPECT_EQ(old["barrier_sites"], 0);
  EXPECT_EQ(phase(planned, "x", "load the row")["elements"], 2560);
  EXPECT_EQ(planned["barriers"], 1);
  EXPECT_EQ(planned["barrier_sites"], 1);
  EXPECT_EQ(planned["writes"], 2560);
  EXPECT_EQ(planned["launches"], 1);
  finished({"count", "rms_norm:per_lane", "rms_norm", "--cols", "2560"}, 0,
           {"rms_norm:per_lane  ", "6,553,600", "2,560 x 2561.0", "barriers executed"});
}

TEST_F(LaneModuleTest, CountsTheNormsOfAModel) {
  const nlohmann::json told = json_of({"count", "--model", "gemma-3-4b-norms"});
  EXPECT_EQ(told["redundant_reads"], 34 * 3 * (6553600 - 2560));
  EXPECT_EQ(told["norms"][0]["launches"], 102);
  EXPECT_EQ(told["norms"][0]["fold_reads_per_lane"], 6553600);
  EXPECT_EQ(told["norms"][0]["fold_reads_planned"], 2560);
  finished({"count", "--model", "gemma-3-4b-norms", "--target", "generic-16"}, 0, {"668,206,080", "generic-16"});
  refused({"count", "--model", "gemma-4"}, Code::unknown_model, "gemma-3-4b-norms");
  refused({"count", "--model", "gemma-3-4b-norms", "sum"}, Code::bad_arguments, "--model NAME");
  refused({"count", "--model", "gemma-3-4b-norms", "--cols", "8"}, Code::option_not_for_kernel, "leave --cols out");
  refused({"count"}, Code::nothing_asked, "--model");
}

TEST_F(LaneModuleTest, CountsHandWrittenModulesAndFiles) {
  const nlohmann::json forms = counts({"qsa_merge:old", "qsa_merge:new", "--tokens", "1", "--size", "heads=2"});
  EXPECT_GT(forms[0]["counts"]["barriers"], forms[1]["counts"]["barriers"]);
  EXPECT_EQ(forms[0]["counts"]["writes"], forms[1]["counts"]["writes"]);
  const std::string good = write("good.lane", reverse("    barrier\n"));
  const nlohmann::json file = counts({good})[0]["counts"];
  EXPECT_EQ(file["reads"], 8);
  EXPECT_EQ(file["shared_writes"], 8);
  EXPECT_EQ(file["threadgroup_bytes"], 32);
  EXPECT_EQ(file["barriers"], 1);
  EXPECT_EQ(phase(file, "x", "publish")["elements"], 8);
}

TEST_F(LaneModuleTest, OptionsThatMeanNothing) {
  const std::string good = write("good.lane", reverse("    barrier\n")), scale = write("scale.lane", kScale);
  refused({"count", "rms_norm"}, Code::shape_unknown, "--cols C");
  refused({"count", scale}, Code::shape_unknown, "--cols C");
  refused({"count", "gr_up", "--rows", "3"}, Code::option_not_for_kernel, "leave --rows out");
  refused({"count", "gr_up", "--target", "generic-16"}, Code::option_not_for_kernel, "leave --target out");
  refused({"count", "sum", "--cols", "8", "--tokens", "3"}, Code::option_not_for_kernel, "leave --tokens out");
  refused({"count", "sum", "--cols", "8", "--simd-width", "4"}, Code::option_not_for_kernel, "leave --simd-width out");
  refused({"count", "sum:serial", "--cols", "8", "--order", "free"}, Code::option_not_for_kernel, "leave --order out");
  refused({"count", "gr_norm", "--weights", "q8_0"}, Code::option_not_for_kernel, "leave --weights out");
  refused({"count", good, "--dtype", "f16"}, Code::option_not_for_kernel, "leave --dtype out");
  refused({"digest", "sum:serial", "--rows", "1", "--cols", "8", "--order", "canonical", "--device", "lane-machine"},
          Code::option_not_for_kernel, "leave --order out");
  refused({"check", "sum", "--tokens", "3", "--device", "lane-machine"}, Code::option_not_for_kernel,
          "leave --tokens out");
  refused({"emit", "sum", "--rows", "1", "--cols", "8", "--as", "lane", "--tokens", "3"}, Code::option_not_for_kernel,
          "leave --tokens out");
  refused({"run", "sum", "--rows", "3", "--check", "--device", "lane-machine"}, Code::option_not_for_kernel,
          "--fill or --trace");
#ifdef LANEFOLD_JIT
  refused({"check", good, "--device", "cpu"}, Code::option_not_for_kernel, "leave --device out");
#endif
  refused({"run", good, "--fill", "plain", "--check"}, Code::option_not_for_kernel, "leave --check out");
  refused({"count", "gr_up", "--weights", "q4_0"}, Code::unknown_dtype, "bf16, q8_0");
  refused({"count", "gr_up", "--size", "depth=3"}, Code::module_size_unknown, "tokens (1 to 8)");
  refused({"count", "gr_up", "--tokens", "9"}, Code::module_size_invalid, "1 to 8");
  refused({"count", "gr_up", "--tokens", "2", "--size", "tokens=3"}, Code::assignment_repeated, "not both");
  refused({"count", "gr_up", "--size", "tokens"}, Code::assignment_malformed, "--size NAME=NUMBER");
  refused({"count", "gr_up", "--size", "tokens=many"}, Code::number_invalid, "whole number");
  refused({"count", "gr_up:newest"}, Code::unknown_form, "new, old");
  refused({"count", "sum:newest", "--cols", "8"}, Code::unknown_form, "per_lane");
  refused({"plan", "sum:per_lane", "--rows", "1", "--cols", "8"}, Code::kernel_not_for_verb, "row program");
  refused({"plan", "gr_up", "--rows", "1", "--cols", "8"}, Code::kernel_not_for_verb, "row program");
  refused({"digest", "sum"}, Code::shape_unknown, "--cols C");
  refused({"digest", path("none.lane")}, Code::file_missing, "");
}

TEST_F(LaneModuleTest, LaunchesOfNothingAndOfTooMuch) {
  const auto file = [&](const char* name, const std::string& text) { return write(name, text); };
  for (const char* verb : {"count", "check", "digest"})
    refused({verb, file("empty.lane", "module m\n")}, Code::lane_kernel_limits, "write one");
  const std::string many = "module m\nkernel k simd_width 4 simd_groups 1 threadgroups 4294967295\nbody\n";
  refused({"count", file("many.lane", many)}, Code::lane_kernel_limits, "at most");
  const std::string grid =
      "module m\nkernel k simd_width 4 simd_groups 1 rows_per_threadgroup 1 cols_per_threadgroup 1\nbody\n";
  refused({"check", file("grid.lane", grid), "--rows", "2147483648", "--cols", "2147483648"}, Code::lane_kernel_limits,
          "at most");
  const std::string role =
      "module m\nkernel k simd_width 4 simd_groups 1 threadgroups 1\nscalar p: i64 role parameter\nbody\n";
  refused({"count", file("role.lane", role)}, Code::lane_bad_attribute, "a parameter is f32");
}

TEST_F(LaneModuleTest, PlansAreForRowPrograms) {
  refused({"count", "gr_up@p.json"}, Code::option_not_for_kernel, "without @PLAN.json");
  refused({"check", "sum:per_lane@p.json"}, Code::option_not_for_kernel, "without @PLAN.json");
}

TEST_F(LaneModuleTest, ModulesThatNothingCanBeAllocatedFor) {
  const auto module = [&](const char* arguments) {
    return write("m.lane", std::string("module m\n\nkernel m simd_width 4 simd_groups 1 threadgroups 1\n") + arguments +
                               "  body\n    barrier\n");
  };
  refused({"count", module("  buffer x: f32 role input\n")}, Code::module_buffer_unsized, "f32[rows, cols]");
  refused({"count", module("  scalar n: i64 role other\n")}, Code::module_argument_unknown, "role");
  const std::string two = write("two.lane", R"(module two

kernel first simd_width 4 simd_groups 1 threadgroups 1
  buffer x: f32[4] role input
  body
    barrier

kernel second simd_width 4 simd_groups 1 threadgroups 1
  buffer x: f32[8] role input
  body
    barrier
)");
  refused({"check", two}, Code::module_buffer_conflict, "different names");
}

TEST_F(LaneModuleTest, ProofsAndTheirExitStatus) {
  const std::string good = write("good.lane", reverse("    barrier\n")), gather = write("gather.lane", kGather);
  finished({"prove", good, good}, 0, {"equal for all inputs\n", "8 output elements"});
  finished({"prove", "rms_norm", "canonical", "--rows", "64", "--cols", "100"}, 0, {"equal for all inputs\n", "of 64"});
  finished({"prove", "canonical", "sum", "--rows", "3", "--cols", "100", "--all"}, 0, {"all 3 rows"});
  finished({"prove", "sum:serial", "sum:per_lane", "--cols", "9"}, 0, {"equal for all inputs\n"});
  finished({"prove", gather, gather}, 3, {"not provable\n", "because ", "LF0459"});
  const Finished differ =
      finished({"prove", "sum", "sum:serial", "--cols", "9"}, 1,
               {"different\n", "output      y[0]", "they first differ here", "on the inputs ", "0x"});
  EXPECT_TRUE(differ.out.starts_with("different\n")) << differ.out;
  const Finished json = lanefold({"prove", "sum", "sum:serial", "--cols", "9", "--json"});
  EXPECT_EQ(json.status, 1);
  const nlohmann::json told = nlohmann::json::parse(json.out, nullptr, false);
  EXPECT_EQ(told["verdict"], "different");
  EXPECT_EQ(told["output"], "y");
  EXPECT_EQ(told["element"], 0);
  EXPECT_NE(told["a_expression"], told["b_expression"]);
  EXPECT_NE(told["witness"]["a"], told["witness"]["b"]);
}

TEST_F(LaneModuleTest, ProofsOfHandWrittenForms) {
  const Arguments sizes = {"--tokens", "2", "--size", "hidden=64", "--size", "rank=8"};
  const auto prove = [&](const char* a, const char* b, const char* weights) {
    Arguments all = {"prove", a, b, "--weights", weights};
    all.insert(all.end(), sizes.begin(), sizes.end());
    return all;
  };
  finished(prove("gr_up:old", "gr_up:new", "bf16"), 0, {"equal for all inputs\n", "tokens 2", "weights bf16"});
  finished(prove("gr_up:old", "gr_up:tree", "bf16"), 1, {"different\n", "output      sums["});
}

TEST_F(LaneModuleTest, WhatCannotBeProved) {
  const std::string good = write("good.lane", reverse("    barrier\n"));
  refused({"prove", "canonical", "canonical"}, Code::kernel_not_for_verb, "row program");
  refused({"prove", good, "canonical"}, Code::prove_no_program, "row program");
  refused({"prove", "sum", "softmax", "--cols", "4"}, Code::prove_buffers_differ, "same inputs and outputs");
  refused({"prove", "sum", "canonical", "--cols", "64", "--order", "free"}, Code::prove_order_free, "canonical");
  refused({"prove", "sum", "canonical", "--cols", "4", "--seed", "one"}, Code::number_invalid, "--seed");
}

TEST_F(LaneModuleTest, FaultyModulesFailTheirCheck) {
  const std::string racy = write("racy.lane", reverse(""));
  finished({"check", racy}, 1,
           {"FAULTY", "error LF0461 (machine_shared_race)", "put a barrier between them", "FAILED"});
  finished({"count", racy}, 1, {"is faulty", "LF0461"});
  finished({"run", racy, "--fill", "plain", "--out", "y=" + path("y.npy")}, 1, {"nothing was written"});
  EXPECT_FALSE(exists("y.npy"));
  const Finished json = lanefold({"check", racy, "--json"});
  EXPECT_EQ(json.status, 1);
  const nlohmann::json told = nlohmann::json::parse(json.out, nullptr, false);
  EXPECT_EQ(told["ok"], false);
  const nlohmann::json& findings = told["cases"][0]["findings"];
  EXPECT_TRUE(std::any_of(findings.begin(), findings.end(), [](const nlohmann::json& f) {
    return f["name"] == "machine_shared_race";
  })) << json.out;
}

TEST_F(LaneModuleTest, GoodModulesPassTheirCheck) {
  const std::string good = write("good.lane", reverse("    barrier\n"));
  finished({"check", good}, 0, {"no findings", "nothing was compared"});
  finished({"check", "rms_norm:per_lane", "--rows", "2", "--cols", "31", "--device", "lane-machine"}, 0,
           {"right", "2 cases on lane-machine, all right"});
  finished({"check", "qsa_merge:old", "--tokens", "1", "--size", "heads=1", "--device", "lane-machine"}, 0,
           {"tokens 1", "all right"});
}

TEST_F(LaneModuleTest, DigestsOfFormsAreEqual) {
  const auto digest = [&](const char* kernel) {
    return json_of({"digest", kernel, "--tokens", "1", "--size", "heads=1", "--device", "lane-machine"})["outputs"];
  };
  const nlohmann::json old = digest("qsa_merge:old");
  ASSERT_EQ(old.size(), 3u);
  EXPECT_EQ(old[0]["sha256"].get<std::string>().size(), 64u);
  EXPECT_EQ(digest("qsa_merge"), old);
}

TEST_F(LaneModuleTest, EmitsWhatCanBeReadAndProvedAgain) {
  for (const Arguments& kernel :
       {Arguments{"qsa_merge", "--tokens", "1", "--size", "heads=1"}, Arguments{"sum:per_lane", "--cols", "9"}}) {
    Arguments emit = {"emit", "--as", "lane", "--out", path("k.lane")};
    emit.insert(emit.end(), kernel.begin(), kernel.end());
    ASSERT_EQ(lanefold(emit).status, 0);
    EXPECT_TRUE(lane::parse(content("k.lane")).ok());
    Arguments prove = {"prove", path("k.lane")};
    prove.insert(prove.end(), kernel.begin(), kernel.end());
    finished(prove, 0, {"equal for all inputs"});
  }
}

TEST_F(LaneModuleTest, RunsOnFilesAndPatterns) {
  const std::string good = write("good.lane", reverse("    barrier\n")), scale = write("scale.lane", kScale);
  const std::string x = "x=" + matrix("x.npy", {2, 4});
  finished({"run", good, "--in", x, "--out", "y=" + path("y.npy")}, 0, {"wrote   y: f32 [8]"});
  const tensor::Tensor y = read("y.npy");
  EXPECT_EQ(load_element_f64(y.data + 7 * 4, y.type), 1.0);  // the first of x comes last
  finished({"run", scale, "--rows", "2", "--cols", "4", "--in", x, "--set", "factor=3", "--out", "y=" + path("z.npy")},
           0, {"wrote   y: f32 [2, 4]"});
  const tensor::Tensor z = read("z.npy");
  EXPECT_EQ(z.shape, (Shape{2, 4}));
  EXPECT_EQ(load_element_f64(z.data + 4 * 4, z.type), 6.0);
  finished({"run", "rms_norm", "--fill", "mixed", "--seed", "3", "--rows", "2", "--cols", "40", "--check", "--device",
            "lane-machine"},
           0, {"check   y: 80 elements right"});
  finished({"run", "qsa_merge", "--fill", "plain", "--tokens", "1", "--size", "heads=1", "--check", "--device",
            "lane-machine"},
           0, {"elements right"});
  refused({"run", good, "--out", "y=" + path("n.npy")}, Code::input_missing, "--fill plain");
  refused({"run", good, "--in", x}, Code::nothing_asked, "--out y=FILE.npy");
  refused({"run", good, "--in", "q=" + path("x.npy"), "--trace"}, Code::unknown_input, "x");
  refused({"run", good, "--in", x, "--out", "q=q.npy"}, Code::unknown_output, "y");
  refused({"run", good, "--in", x, "--set", "eps=1", "--trace"}, Code::unknown_parameter, "leave --set out");
  refused({"run", good, "--in", "x=" + matrix("x9.npy", {9}), "--trace"}, Code::input_shape_mismatch, "for x");
  refused({"run", good, "--fill", "noise", "--trace"}, Code::bad_arguments, "plain, mixed");
  refused({"run", good, "--in", x, "--seed", "2", "--trace"}, Code::bad_arguments, "--fill PATTERN");
  refused({"run", good, "--in", x, "--trace-steps", "2", "--out", "y=y.npy"}, Code::bad_arguments, "--trace");
  refused({"run", good, "--in", x, "--trace", "--device", "cpu"}, Code::bad_arguments, "leave --device out");
}

TEST_F(LaneModuleTest, TracesLaneByLane) {
  const Finished half = finished({"run", write("half.lane", kHalf), "--trace"}, 0,
                                 {"half: threadgroup 0, SIMD group 0\n", "%3 = lt %0, %1", "set r[0] = %0", "·"});
  // Every lane of the store is active, and two lanes have kept the register as it was.
  const std::size_t get = half.out.find("%4 = get r[0]");
  ASSERT_NE(get, half.out.npos) << half.out;
  std::istringstream line(half.out.substr(get + std::string("%4 = get r[0]").size()));
  std::string name;
  int a = -1, b = -1, c = -1, d = -1;
  line >> name >> a >> b >> c >> d;
  EXPECT_EQ(name, "%4");
  EXPECT_EQ((std::vector<int>{a, b, c, d}), (std::vector<int>{0, 1, 2, 2}));
  finished({"run", "sum", "--trace", "--trace-steps", "5", "--cols", "8", "--target", "generic-4"}, 0,
           {"%0 = argument rows", "5 of "});
}

TEST_F(LaneModuleTest, TracesAsJson) {
  const std::string good = write("good.lane", reverse("    barrier\n"));
  const nlohmann::json trace = json_of({"run", good, "--trace"})["trace"];
  EXPECT_EQ(trace["executed"], trace["steps"].size());
  std::size_t barriers = 0;
  for (const nlohmann::json& step : trace["steps"]) {
    barriers += step["statement"] == "barrier";
    for (const nlohmann::json& value : step["values"]) EXPECT_EQ(value["lanes"].size(), 4u);
  }
  EXPECT_EQ(barriers, 2u);  // each SIMD group comes once
  const nlohmann::json wide = json_of({"run", "sum", "--trace", "--cols", "8", "--target", "generic-16"})["trace"];
  EXPECT_EQ(wide["steps"][0]["values"][0]["lanes"].size(), 16u);
}

TEST_F(LaneModuleTest, ListsModulesAndForms) {
  const nlohmann::json ops = json_of({"ops"});
  EXPECT_EQ(ops["operator_forms"].size(), 3u);
  ASSERT_FALSE(ops["modules"].empty());
  const std::string list = lanefold({"ops"}).out;
  for (const nlohmann::json& module : ops["modules"]) {
    EXPECT_FALSE(module["forms"].empty());
    EXPECT_FALSE(module["sizes"].empty());
    EXPECT_NE(list.find("\n" + module["name"].get<std::string>() + "\n"), list.npos);
  }
}

}  // namespace
}  // namespace lanefold
