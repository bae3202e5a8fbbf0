// The command used well: what it computes, prints and writes.
#include "reject/command.h"

#include "base/load_store.h"
#include "lane/module.h"
#include "plan/plan.h"

namespace lanefold {
namespace {

using CommandUseTest = CommandTest;
using Shape = std::vector<std::int64_t>;

double element(const tensor::Tensor& tensor, std::int64_t i) {
  return load_element_f64(tensor.data + i * static_cast<std::int64_t>(element_bytes(tensor.type)), tensor.type);
}

TEST_F(CommandUseTest, RunWritesRightNumbersInTheRightShape) {
  const std::string x = "x=" + matrix("x.npy", {2, 3, 9});
  const Finished run =
      lanefold({"run", "--in", x, "sum", "--out", "y=" + path("y.npy"), "--device", "lane-machine", "--check"});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_NE(run.out.find("y: 6 elements right"), run.out.npos) << run.out;
  EXPECT_NE(run.out.find("wrote   y: f32 [2, 3]"), run.out.npos) << run.out;
  const tensor::Tensor y = read("y.npy");
  ASSERT_EQ(y.shape, (Shape{2, 3}));
  for (std::int64_t r = 0; r < 6; ++r) EXPECT_EQ(element(y, r), static_cast<double>(r) + 1 + 8 * 0.25);
}

TEST_F(CommandUseTest, RunTellsInJsonWhatItDid) {
  const std::string x = "x=" + matrix("x.npy", {4, 64}, ElementType::f16),
                    r = "residual=" + matrix("r.npy", {4, 64}, ElementType::f16);
  const nlohmann::json told =
      json_of({"run", "residual_norm_q8", "--in", x, "--in", r, "--set", "eps=1e-5", "--set", "offset=-1.5", "--out",
               "q=" + path("q.npy"), "--out", "scale=" + path("m.safetensors") + "#scale", "--check", "--device",
               "lane-machine", "--target", "generic-32"});
  EXPECT_EQ(told["rows"], 4);
  EXPECT_EQ(told["cols"], 64);
  EXPECT_EQ(told["dtype"], "f16");
  EXPECT_EQ(told["plan"]["target"], "generic-32");
  EXPECT_EQ(told["check"]["ok"], true);
  EXPECT_EQ(told["check"]["outputs"].size(), 3u);
  ASSERT_EQ(told["written"].size(), 2u);
  EXPECT_EQ(told["written"][1]["shape"], (Shape{4, 2}));
  EXPECT_EQ(read("q.npy").shape, (Shape{4, 64}));
  EXPECT_EQ(read("q.npy").type, ElementType::i8);
  EXPECT_TRUE(exists("m.safetensors"));
}

TEST_F(CommandUseTest, RunReadsBf16ThatAFileCannotSay) {
  const std::string x = "x=" + matrix("x.npy", {2, 40}, ElementType::bf16),
                    w = "weight=" + matrix("w.npy", {40}, ElementType::bf16);
  const nlohmann::json told =
      json_of({"run", "rms_norm", "--in", x, "--in", w, "--dtype", "bf16", "--check", "--device", "lane-machine"});
  EXPECT_EQ(told["dtype"], "bf16");
  EXPECT_EQ(told["check"]["ok"], true);
}

TEST_F(CommandUseTest, NoRowsAndOneRow) {
  const auto run = [&](const std::string& x) {
    return lanefold(
        {"run", "sum", "--in", "x=" + x, "--out", "y=" + path("y.npy"), "--device", "lane-machine", "--check"});
  };
  ASSERT_EQ(run(matrix("none.npy", {0, 5})).status, 0);
  EXPECT_EQ(read("y.npy").shape, (Shape{0}));
  ASSERT_EQ(run(matrix("vector.npy", {5})).status, 0);
  EXPECT_EQ(read("y.npy").shape, Shape{});
  EXPECT_EQ(element(read("y.npy"), 0), 2.0);
}

TEST_F(CommandUseTest, RowVectorsOfAProgramInAFile) {
  const std::string fold =
      write("scaled.fold", "program scaled(x: f32[rows, cols], s: f32[rows])\n  store y: f32[rows] = s * fold sum x\n");
  for (const Shape& shape : {Shape{2, 3}, Shape{6}, Shape{2, 3, 1}}) {
    const Finished run =
        lanefold({"run", fold, "--in", "x=" + matrix("x.npy", {2, 3, 5}), "--in", "s=" + matrix("s.npy", shape),
                  "--out", "y=" + path("y.npy"), "--device", "lane-machine", "--check"});
    ASSERT_EQ(run.status, 0) << run.out << run.err;
    EXPECT_EQ(read("y.npy").shape, (Shape{2, 3}));
  }
  refused({"run", fold, "--in", "x=" + matrix("x.npy", {2, 3, 5}), "--in", "s=" + matrix("s.npy", {5}), "--check"},
          Code::input_shape_mismatch, "with that shape for s");
}

TEST_F(CommandUseTest, CheckPrintsATable) {
  const Finished check = lanefold({"check", "softmax", "argmax", "--rows", "3", "--device", "lane-machine"});
  ASSERT_EQ(check.status, 0) << check.out << check.err;
  EXPECT_NE(check.out.find("16 cases on lane-machine, all right"), check.out.npos) << check.out;
  const nlohmann::json told = json_of({"check", "rms_norm_q8", "--rows", "2", "--cols", "64", "--dtype", "bf16",
                                       "--device", "lane-machine", "--target", "generic-64", "--order", "free"});
  EXPECT_EQ(told["ok"], true);
  ASSERT_EQ(told["cases"].size(), 1u);
  EXPECT_EQ(told["cases"][0]["cols"], 64);
}

TEST_F(CommandUseTest, DigestsDependOnNoPlan) {
  const auto digest = [&](const char* target) {
    return json_of({"digest", "layer_norm", "--rows", "3", "--cols", "257", "--device", "lane-machine", "--target",
                    target})["outputs"];
  };
  const nlohmann::json first = digest("generic-4");
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0]["sha256"].get<std::string>().size(), 64u);
  EXPECT_EQ(digest("generic-64"), first);
  EXPECT_EQ(digest("cuda-sm90"), first);
}

TEST_F(CommandUseTest, ProgramsInStages) {
  const std::string f = write("f.fold",
                              "program centred(x: f32[rows, cols], on: option = 1)\n"
                              "  m = select(on > 0, fold[rows] sum x / rows, 0)\n"
                              "  store y: f32[rows, cols] = x - m\n  store m: f32[cols] = m\n");
  const Finished plan = lanefold({"plan", f, "--rows", "6", "--cols", "40", "--target", "generic-32"});
  ASSERT_EQ(plan.status, 0) << plan.err;
  EXPECT_NE(plan.out.find("stage 1 of 2, along rows; its rows are the columns"), plan.out.npos) << plan.out;
  EXPECT_NE(plan.out.find("centred: 40 rows of 6 columns on generic-32"), plan.out.npos) << plan.out;
  EXPECT_NE(plan.out.find("stage 2 of 2, with columns\ncentred: 6 rows of 40 columns"), plan.out.npos) << plan.out;
  const nlohmann::json told = json_of({"plan", f, "--rows", "6", "--cols", "40", "--target", "generic-32"});
  EXPECT_EQ(told["program"], "centred");
  ASSERT_EQ(told["stages"].size(), 2u);
  EXPECT_EQ(told["stages"][0]["transposed"], true);
  EXPECT_EQ(told["stages"][0]["plan"]["plan"]["cols"], 6);
  refused({"plan", f, "--rows", "6", "--cols", "40", "--out", path("p.json")}, Code::option_not_for_kernel, "--json");
  EXPECT_FALSE(exists("p.json"));
  refused({"plan", f, "--rows", "0", "--cols", "40"}, Code::no_columns, "one row");
  refused({"emit", f, "--rows", "6", "--cols", "40", "--as", "lane"}, Code::unsupported_axis, "each of its stages");
  refused({"count", f, "--rows", "6", "--cols", "40"}, Code::unsupported_axis, "each of its stages");
  refused({"prove", f, "canonical", "--rows", "6", "--cols", "40"}, Code::unsupported_axis, "each of its stages");
  refused({"run", f, "--trace", "--rows", "6", "--cols", "40"}, Code::unsupported_axis, "each of its stages");
  for (const char* on : {"on=0", "on=1"}) {
    const Finished run = lanefold(
        {"run", f, "--in", "x=" + matrix("x.npy", {3, 5}), "--set", on, "--check", "--device", "lane-machine"});
    EXPECT_EQ(run.status, 0) << run.out << run.err;
    EXPECT_NE(run.out.find("m: 5 elements right"), run.out.npos) << run.out;
  }
  // One entry for an output with an inner axis.
  const std::string two =
      write("two.fold", "program two(x: f32[rows, cols], w: f32[3][cols])\n  store y: f32[3][rows] = fold dot(x, w)\n");
  const nlohmann::json check = json_of({"check", two, "--rows", "2", "--cols", "40", "--device", "lane-machine"});
  ASSERT_EQ(check["cases"][0]["outputs"].size(), 1u);
  EXPECT_EQ(check["cases"][0]["outputs"][0]["name"], "y");
  EXPECT_EQ(check["cases"][0]["outputs"][0]["elements"], 6);
  for (const Arguments& words : {Arguments{"check", "matvec:per_lane", "--tokens", "3", "--rows", "2", "--cols", "40"},
                                 Arguments{"run", "matvec", "--tokens", "3", "--fill", "plain", "--rows", "2", "--cols",
                                           "40", "--check", "--device", "lane-machine"}}) {
    const nlohmann::json told_of = json_of(words);
    const nlohmann::json& one = told_of.contains("cases") ? told_of["cases"][0] : told_of["check"];
    ASSERT_EQ(one["outputs"].size(), 1u) << told_of;
    EXPECT_EQ(one["outputs"][0]["elements"], 6);
  }
}

TEST_F(CommandUseTest, PlanSaysTheChoiceAndWhy) {
  const Arguments plan = {"plan",  "softmax",     "--rows",      "128",    "--cols",
                          "1024",  "--target",    "metal-m1max", "--cost", "metal_subgroup_reduction_v1",
                          "--out", path("p.json")};
  const Finished told = lanefold(plan);
  ASSERT_EQ(told.status, 0) << told.err;
  for (const char* part : {"why ", "metal_subgroup_reduction_v1", "rejected because", "\n*  "})
    EXPECT_NE(told.out.find(part), told.out.npos) << part << "\n" << told.out;
  const Result<plan::Plan> written = plan::from_json(content("p.json"));
  ASSERT_TRUE(written.ok()) << written.error().text();
  const nlohmann::json json = json_of(plan);
  EXPECT_EQ(json["plan"]["simd_groups_per_row"], written->simd_groups_per_row);
  EXPECT_EQ(json["plan"]["threads"], written->threads);
  EXPECT_TRUE(json["plan"].contains("private_stripe"));
  EXPECT_EQ(json["candidates"].size(), written->candidates.size());
}

TEST_F(CommandUseTest, EmittedLaneModulesCanBeReadAgain) {
  const Finished emitted =
      lanefold({"emit", "rms_norm", "--rows", "4", "--cols", "384", "--target", "generic-32", "--as", "lane"});
  ASSERT_EQ(emitted.status, 0) << emitted.err;
  EXPECT_NE(emitted.out.find("may be used without conditions"), emitted.out.npos);
  const auto module = lane::parse(emitted.out);
  ASSERT_TRUE(module.ok()) << module.error().text();
  const std::string file = write("k.lane", emitted.out);
  const Finished again = lanefold({"emit", file, "--as", "lane", "--out", path("again.lane")});
  ASSERT_EQ(again.status, 0) << again.err;
  const auto same = lane::parse(content("again.lane"));
  ASSERT_TRUE(same.ok()) << same.error().text();
  EXPECT_EQ(lane::print(*same), lane::print(*module));
}

TEST_F(CommandUseTest, SourceSaysForWhatItIs) {
  const Finished emitted =
      lanefold({"emit", "rms_norm", "--rows", "4", "--cols", "384", "--target", "cuda-sm90", "--as", "source"});
  ASSERT_EQ(emitted.status, 0) << emitted.err;
  for (const char* part :
       {"// rms_norm for 4 rows of 384 columns on cuda-sm90, emitted by Lanefold", "used without conditions",
        "\n// Plan: canonical order; layout ", "\n// Launch: ", "extern \"C\" __global__ void"})
    EXPECT_NE(emitted.out.find(part), emitted.out.npos) << part << "\n" << emitted.out;
  // Whoever embeds the text must know what its vector loads take for granted; one column more allows no vectors.
  EXPECT_NE(emitted.out.find("are multiples of 4; buffers of rows"), emitted.out.npos) << emitted.out;
  const Finished odd =
      lanefold({"emit", "rms_norm", "--rows", "4", "--cols", "385", "--target", "cuda-sm90", "--as", "source"});
  EXPECT_EQ(odd.out.find("are multiples of"), odd.out.npos) << odd.out;
  EXPECT_EQ(odd.out.find("float4"), odd.out.npos) << odd.out;
  const Finished wide = lanefold({"plan", "softmax", "--rows", "4", "--cols", "131072", "--target", "cuda-sm90"});
  EXPECT_NE(wide.out.find("threadgroups share a row"), wide.out.npos) << wide.out;
  // The same from the module's text, but for what only planning knows.
  const std::string file = path("k.lane");
  ASSERT_EQ(lanefold({"emit", "rms_norm", "--rows", "4", "--cols", "384", "--target", "cuda-sm90", "--as", "lane",
                      "--out", file})
                .status,
            0);
  const Finished again = lanefold({"emit", file, "--target", "cuda-sm90", "--as", "source"});
  ASSERT_EQ(again.status, 0) << again.err;
  const auto body = [](const std::string& text) { return text.substr(text.find("namespace ")); };
  EXPECT_EQ(body(again.out), body(emitted.out));
  const Finished hand_written = lanefold({"emit", "gr_norm", "--target", "cuda-sm90", "--as", "source"});
  EXPECT_EQ(hand_written.status, 0) << hand_written.err;
}

TEST_F(CommandUseTest, SourceSaysHowItIsLaunched) {
  const auto launch_of = [&](const char* rows) {
    const nlohmann::json told = json_of({"emit", "residual_norm_q8", "--rows", rows, "--cols", "2560", "--dtype",
                                         "bf16", "--target", "cuda-sm90", "--as", "source"});
    EXPECT_EQ(told["launches"].size(), 1u) << told;
    const nlohmann::json launch = told["launches"][0];
    const std::string text = told["text"];
    EXPECT_NE(text.find(launch["kernel"].get<std::string>() + "("), text.npos);
    return launch;
  };
  const nlohmann::json launch = launch_of("4000");
  const auto per_threadgroup = launch["rows_per_threadgroup"].get<std::int64_t>();
  EXPECT_EQ(launch["threadgroups"], (4000 + per_threadgroup - 1) / per_threadgroup * launch["cluster"].get<int>());
  EXPECT_EQ(launch["threads"].get<int>() % 32, 0);
  EXPECT_EQ(launch["programmatic"], true);
  std::vector<std::string> roles;
  for (const nlohmann::json& argument : launch["arguments"]) roles.push_back(argument["role"]);
  EXPECT_EQ(roles,
            (std::vector<std::string>{"input", "input_row_stride", "input", "input_row_stride", "input", "output",
                                      "output_row_stride", "output", "output_row_stride", "output", "output_row_stride",
                                      "rows", "cols", "parameter", "parameter", "parameter"}));
  EXPECT_EQ(launch["arguments"][0]["type"], "bf16");
  EXPECT_FALSE(json_of({"emit", "sum", "--rows", "1", "--cols", "7", "--as", "lane"}).contains("launches"));
  // Outputs too large for the cache pass it by, as they do where the kernel runs.
  const auto softmax = [&](const char* rows) {
    return json_of(
               {"emit", "softmax", "--rows", rows, "--cols", "2560", "--target", "cuda-sm90", "--as", "source"})["text"]
        .get<std::string>();
  };
  EXPECT_NE(softmax("65536").find("__stcs"), std::string::npos);
  EXPECT_EQ(softmax("64").find("__stcs"), std::string::npos);
}

TEST_F(CommandUseTest, TellsAboutItself) {
  const Finished version = lanefold({"--version"});
  EXPECT_EQ(version.status, 0);
  EXPECT_EQ(version.out.rfind("lanefold ", 0), 0u) << version.out;
  for (const Arguments& help : {Arguments{"--help"}, Arguments{"run", "--help"}, Arguments{"plan", "-h"}}) {
    const Finished told = lanefold(help);
    EXPECT_EQ(told.status, 0);
    EXPECT_NE(told.out.find("lanefold"), told.out.npos);
    EXPECT_EQ(told.err, "");
  }
  EXPECT_NE(lanefold({"run", "--help"}).out.find("--check"), std::string::npos);
  const nlohmann::json ops = json_of({"ops"});
  ASSERT_FALSE(ops["operators"].empty());
  const std::string list = lanefold({"ops"}).out;
  for (const nlohmann::json& op : ops["operators"]) {
    EXPECT_FALSE(op["summary"].get<std::string>().empty());
    EXPECT_FALSE(op["formula"].get<std::string>().empty());
    EXPECT_NE(list.find(op["name"].get<std::string>()), list.npos);
  }
  const nlohmann::json doctor = json_of({"doctor"});
  EXPECT_GE(doctor["cores"], 1);
  EXPECT_FALSE(doctor["target"].get<std::string>().empty());
  EXPECT_NE(lanefold({"doctor"}).out.find("lane-machine"), std::string::npos);
}

}  // namespace
}  // namespace lanefold
