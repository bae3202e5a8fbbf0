// The command's words: every wrong one has its own code, exit status 2 and a hint.
#include "reject/command.h"

#include "verify/device.h"

namespace lanefold {
namespace {

constexpr const char* kNoMatrix = "program flat(w: f32[cols])\n  store y: f32[rows, cols] = w\n";
constexpr const char* kOuter = "program outer(r: f32[rows], c: f32[cols])\n  store y: f32[rows, cols] = r * c\n";
constexpr const char* kSum = "program total(x: f32[rows, cols])\n  store y: f32[rows] = fold sum x\n";
constexpr const char* kLossy = "program lossy(x: f32[rows, cols])\n  store y: f32[rows, cols] = (x + 1e8) - 1e8\n";

/// Whether this build has the JIT.
bool has_cpu() {
  for (const verify::DeviceFact& fact : verify::devices())
    if (fact.name == "cpu") return fact.available;
  return false;
}

using CommandLineTest = CommandTest;

TEST_F(CommandLineTest, ArgumentsThatFollowNoUsage) {
  refused({}, Code::bad_arguments, "lanefold --help");
  refused({"frobnicate"}, Code::bad_arguments, "lanefold --help");
  refused({"run"}, Code::bad_arguments, "lanefold run --help");
  refused({"run", "sum", "--frob"}, Code::bad_arguments, "lanefold run --help");
  refused({"plan", "sum", "--rows", "1"}, Code::bad_arguments, "lanefold plan --help");
  refused({"plan", "sum", "--rows"}, Code::bad_arguments, "lanefold plan --help");
  refused({"plan", "sum", "--rows", "1", "--cols", "2", "--cols", "3"}, Code::bad_arguments, "lanefold plan --help");
  refused({"check", "sum", "--all"}, Code::bad_arguments, "--all");
  refused({"emit", "sum", "--as", "lane", "--cols", "3"}, Code::bad_arguments, "--rows R");
}

TEST_F(CommandLineTest, DiagnosticsForPeopleGoToStandardError) {
  const Finished parse = lanefold({"plan", "sum", "--rows", "1"});
  EXPECT_EQ(parse.status, 2);
  EXPECT_EQ(parse.out, "");
  EXPECT_NE(parse.err.find("lanefold plan: error LF0603 (bad_arguments): "), parse.err.npos) << parse.err;
  EXPECT_NE(parse.err.find("\nhint: see `lanefold plan --help`\n"), parse.err.npos) << parse.err;
  const Finished missing = lanefold({"run", "sum", "--in", "x=" + path("none.npy"), "--check"});
  EXPECT_EQ(missing.status, 2);
  EXPECT_EQ(missing.out, "");
  EXPECT_NE(missing.err.find("none.npy: error LF0501 (file_missing): "), missing.err.npos) << missing.err;
  EXPECT_NE(missing.err.find("\nhint: "), missing.err.npos) << missing.err;
}

TEST_F(CommandLineTest, NumbersOutOfRange) {
  for (const char* rows : {"-1", "x", "1.5", "1 ", "99999999999999999999", "0x10"})
    refused({"plan", "sum", "--rows", rows, "--cols", "3"}, Code::number_invalid, "whole number from 0");
  refused({"plan", "sum", "--rows", "1", "--cols", "-7"}, Code::number_invalid, "--cols");
  for (const char* wrong : {"0", "3", "32", "x", "-1"}) {
    refused({"plan", "sum", "--rows", "1", "--cols", "64", "--alignment", wrong}, Code::number_invalid, "1");
    refused({"emit", "sum", "--rows", "1", "--cols", "64", "--as", "lane", "--alignment", wrong}, Code::number_invalid,
            "1");
  }
  refused({"plan", "sum", "--rows", "1", "--cols", "12", "--alignment", "8"}, Code::number_invalid, "at most 4");
  refused({"emit", "gr_norm", "--as", "lane", "--alignment", "4"}, Code::option_not_for_kernel, "--alignment");
  refused({"plan", "sum", "--rows", "1", "--cols", "7", "--simd-groups", "-2"}, Code::number_invalid, "--simd-groups");
  refused({"plan", "sum", "--rows", "1", "--cols", "7", "--simd-groups", "0"}, Code::request_out_of_range, "1 to");
  for (const char* threads : {"0", "1025", "two"})
    refused({"digest", "sum", "--rows", "1", "--cols", "3", "--threads", threads}, Code::number_invalid, "1 to 1024");
  const std::string x = matrix("x.npy", {2, 4});
  for (const char* eps : {"eps=small", "eps=1e60", "eps=1e-6x"})
    refused({"run", "rms_norm", "--in", "x=" + x, "--set", eps, "--check"}, Code::number_invalid, "number");
}

TEST_F(CommandLineTest, NamesThatDoNotExist) {
  const Arguments shape = {"--rows", "1", "--cols", "32"};
  const auto digest = [&](const char* kernel, const char* option, const char* value) {
    Arguments all = {"digest", kernel};
    all.insert(all.end(), shape.begin(), shape.end());
    if (*option != '\0') all.insert(all.end(), {option, value});
    return all;
  };
  refused(digest("sum", "--dtype", "f33"), Code::unknown_dtype, "f32, f16, bf16");
  refused(digest("sum", "--order", "random"), Code::unknown_order, "canonical, serial, free");
  refused(digest("sum", "--device", "tpu"), Code::unknown_device, "lane-machine");
  refused(digest("sum", "--target", "cpu-avx1024"), Code::unknown_target, "cpu-avx2");
  refused(digest("summ", "", ""), Code::unknown_operator, "sum");
  refused(digest("sum:fast", "", ""), Code::unknown_form, "planned, serial, per_lane");
  refused(digest("sum@fast", "", ""), Code::kernel_name_malformed, "OP[:FORM][@PLAN.json]");
  refused(digest("canonical", "", ""), Code::kernel_kind_unsupported, "lanefold ops");
  refused(digest("k.cu#norm", "", ""), Code::kernel_kind_unsupported, "lanefold ops");
  refused(digest("k.metal#norm", "", ""), Code::kernel_kind_unsupported, "lanefold ops");
  refused({"plan", "k.lane", "--rows", "1", "--cols", "3"}, Code::kernel_not_for_verb, "row program");
  refused({"plan", "sum", "--rows", "1", "--cols", "3", "--cost", "guess"}, Code::unknown_cost_basis, "cpu_traffic_v1");
  refused({"plan", "sum@p.json", "--rows", "1", "--cols", "3"}, Code::kernel_not_for_verb, "without @PLAN.json");
  refused({"emit", "sum", "--rows", "1", "--cols", "3", "--as", "cuda"}, Code::unknown_emission,
          "lane, source, llvm or asm");
  refused({"emit", "k.lane", "--as", "asm"}, Code::kernel_not_for_verb, "--as lane");
}

TEST_F(CommandLineTest, TargetsAndOptionsThatDoNotFit) {
  for (const char* target : {"metal-m1max", "cpu-avx2"})
    refused({"emit", "sum", "--rows", "1", "--cols", "3", "--target", target, "--as", "source"},
            Code::no_source_language, "cuda-sm90");
  const std::string narrow = write("narrow.lane",
                                   "module m\n\nkernel k simd_width 8 simd_groups 1 threadgroups 1\n"
                                   "  buffer y: f32[8] role output\n  body\n    %0 = lane\n");
  refused({"emit", narrow, "--target", "cuda-sm90", "--as", "source"}, Code::not_for_cuda, "SIMD width 32");
  refused({"emit", narrow, "--as", "source"}, Code::no_source_language, "--as lane");
  refused({"check", "sum", "--target", "metal-m1max"}, Code::target_not_here, "--device lane-machine");
  refused({"emit", "sum", "--rows", "1", "--cols", "3", "--target", "metal-m1max", "--as", "llvm"},
          Code::no_machine_code, "CPU target");
  const std::string fold = write("sum.fold", kSum);
  refused({"digest", fold, "--rows", "1", "--cols", "3", "--dtype", "f16"}, Code::option_not_for_kernel,
          "leave --dtype out");
  refused({"run", fold, "--in", "x=" + matrix("x.npy", {1, 2}), "--dtype", "f16", "--check"},
          Code::option_not_for_kernel, "leave --dtype out");
  refused({"emit", write("k.lane", "module m\n"), "--as", "lane", "--rows", "3"}, Code::option_not_for_kernel,
          "leave --rows out");
  for (const char* verb : {"check", "digest"})
    refused({verb, "sum", "--rows", "1000000000", "--cols", "1000000000"}, Code::out_of_memory,
            "fewer rows or columns");
  refused({"run", write("outer.fold", kOuter), "--in", "r=" + matrix("r.npy", {1 << 20}), "--in",
           "c=" + matrix("c.npy", {1 << 20}), "--check"},
          Code::out_of_memory, "fewer rows or columns");
  refused({"digest", "sum", "--rows", "1", "--cols", "0"}, Code::no_columns, "--cols 1");
  refused({"check"}, Code::nothing_asked, "--all");
}

TEST_F(CommandLineTest, RulesSpeakThroughTheCommand) {
  const Arguments serial = {"plan", "sum", "--rows", "4", "--cols", "100", "--order", "serial", "--simd-groups", "2"};
  refused(serial, Code::order_forbids_cooperation, "order canonical");
  Arguments metal = serial;
  metal.insert(metal.end(), {"--target", "metal-m1max", "--cost", "metal_subgroup_reduction_v1"});
  refused(metal, Code::order_forbids_cooperation, "order canonical");
  refused({"plan", "sum", "--rows", "4", "--cols", "0"}, Code::no_columns, "");
  refused({"plan", "rms_norm_q8", "--rows", "4", "--cols", "100"}, Code::columns_not_whole_blocks, "");
  refused({"digest", "rms_norm_q8", "--rows", "1", "--cols", "31", "--device", "lane-machine"},
          Code::columns_not_whole_blocks, "");
}

TEST_F(CommandLineTest, EmptyValues) {
  const auto empty = [&](const Arguments& words) {
    refused(words, Code::bad_arguments, "give " + words[words.size() - 2] + " a value");
  };
  empty({"ops", "--pages", ""});
  empty({"plan", "sum", "--cols", "3", "--rows", ""});
  empty({"plan", "sum", "--rows", "1", "--cols", "3", "--out", ""});
  empty({"check", "sum", "--target", ""});
  empty({"run", "sum", "--in", ""});
  empty({"emit", "sum", "--rows", "1", "--cols", "3", "--as", ""});
}

TEST_F(CommandLineTest, PagesThatCannotBeWritten) {
  refused({"ops", "--pages", path("none")}, Code::write_failed, "create the directory first");
  refused({"ops", "--pages", write("file", "")}, Code::write_failed, "create the directory first");
  EXPECT_EQ(content("file"), "");
  std::filesystem::create_directory(path("pages"));
  // The last page cannot take its place, so none does.
  std::filesystem::create_directories(path("pages/softmax.md/in_the_way"));
  write("pages/README.md", "old");
  refused({"ops", "--pages", path("pages")}, Code::write_failed, "");
  EXPECT_EQ(content("pages/README.md"), "old");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(path("pages")), std::filesystem::directory_iterator()),
            2);
}

TEST_F(CommandLineTest, AFullDiskLeavesNothing) {
  std::filesystem::create_directory(path("pages"));
  const std::string x = matrix("x.npy", {64, 64});
  const auto limited = [&](const Arguments& words) {
    const FileSizeLimit limit(4096);
    refused(words, Code::write_failed, "free some space");
  };
  limited({"ops", "--pages", path("pages")});
  EXPECT_TRUE(std::filesystem::is_empty(path("pages")));
  limited({"run", "softmax", "--in", "x=" + x, "--out", "y=" + path("pages/y.npy"), "--device", "lane-machine"});
  EXPECT_TRUE(std::filesystem::is_empty(path("pages")));
}

TEST_F(CommandLineTest, OptionsAndParametersHaveOneSpelling) {
  const std::string x = "x=" + matrix("x.npy", {2, 4});
  const std::string l = "label=" + matrix("l.npy", {2}, ElementType::i32);
  const auto message = [&](Arguments words) {
    words.insert(words.end(), {"--in", x, "--check", "--json", "--device", "lane-machine"});
    const Finished finished = lanefold(words);
    EXPECT_EQ(finished.status, 2) << finished.out;
    const nlohmann::json error = nlohmann::json::parse(finished.out, nullptr, false).at("error");
    EXPECT_EQ(error.at("place"), words[2] + " " + words[3]);
    return error.at("code").get<std::string>() + error.at("message").get<std::string>() +
           error.at("hint").get<std::string>();
  };
  for (const auto& [kernel, number] :
       {std::pair("softmax", "cap=3"), std::pair("rms_norm", "cap=3"), std::pair("sum", "cap=3"),
        std::pair("softmax", "scale=x"), std::pair("rms_norm", "eps=1e60"),
        std::pair("cross_entropy", "ignore_index=nan"), std::pair("cross_entropy", "ignore_index=0.5"),
        std::pair("cross_entropy", "ignore_index=16777217"), std::pair("cross_entropy", "ignore_index=-inf")}) {
    EXPECT_EQ(message({"run", kernel, "--set", number}), message({"run", kernel, "--option", number})) << number;
  }
  refused({"run", "softmax", "--in", x, "--set", "cap=3", "--check"}, Code::unknown_parameter, "scale, soft_cap");
  refused({"run", "cross_entropy", "--in", x, "--in", l, "--set", "ignore_index=nan", "--check"}, Code::number_invalid,
          "whole number");
  refused({"check", "cross_entropy", "--option", "ignore_index=nan"}, Code::number_invalid, "whole number");
  // Twice is twice, by whichever of the two.
  for (const char* name : {"eps", "offset"})
    for (const char* second : {"--set", "--option"})
      refused({"run", "rms_norm", "--in", x, "--set", std::string(name) + "=1", second, std::string(name) + "=1",
               "--check"},
              Code::assignment_repeated, "once");
  refused({"run", "softmax", "--in", x, "--option", "scale=1", "--set", "scale=1", "--check"},
          Code::assignment_repeated, "once");
  // And either says the same.
  const auto digest = [&](const char* option) {
    const Finished run = lanefold({"run", "softmax", "--in", x, option, "soft_cap=0.5", "--out", "y=" + path("y.npy"),
                                   "--device", "lane-machine", "--check"});
    EXPECT_EQ(run.status, 0) << run.err;
    return content("y.npy");
  };
  EXPECT_EQ(digest("--set"), digest("--option"));
  EXPECT_EQ(lanefold({"run", "softmax", "--fill", "mixed", "--rows", "2", "--cols", "9", "--set", "soft_cap=0.5",
                      "--check", "--device", "lane-machine"})
                .status,
            0);
}

TEST_F(CommandLineTest, WidthsThatNoKernelHasAreRefusedBeforeMemoryIsFilled) {
  // One f32 per row: it is the columns that are too many, of one row or of the stage along rows.
  const std::string means = write("means.fold", "program means(x: f32[rows])\n store y: f32[rows] = x * 2\n");
  const std::string along = write("along.fold", "program along(w: f32[cols])\n store y: f32[cols] = w * 2\n");
  for (const char* verb : {"check", "digest"}) {
    refused({verb, means, "--rows", "1", "--cols", "2147483648", "--device", "lane-machine"}, Code::too_many_columns,
            "cut the rows");
    refused({verb, along, "--rows", "2147483648", "--cols", "1", "--device", "lane-machine"}, Code::too_many_columns,
            "cut the rows");
  }
}

TEST_F(CommandLineTest, Assignments) {
  const std::string x = matrix("x.npy", {2, 4});
  for (const char* in : {"x", "=x.npy", "x="})
    refused({"run", "sum", "--in", in, "--check"}, Code::assignment_malformed, "--in NAME=FILE");
  refused({"run", "rms_norm", "--in", "x=" + x, "--set", "eps", "--check"}, Code::assignment_malformed,
          "--set NAME=NUMBER");
  refused({"run", "sum", "--in", "x=" + x, "--in", "x=" + x, "--check"}, Code::assignment_repeated, "x=... once");
  refused({"run", "sum", "--in", "x=" + x, "--out", "y=a.npy", "--out", "y=b.npy"}, Code::assignment_repeated,
          "y=... once");
  refused({"run", "rms_norm", "--in", "x=" + x, "--set", "eps=1", "--set", "eps=2", "--check"},
          Code::assignment_repeated, "eps=... once");
  refused({"run", "sum", "--in", "z=" + x, "--check"}, Code::unknown_input, "its inputs are: x");
  refused({"run", "sum", "--in", "x=" + x, "--out", "z=z.npy"}, Code::unknown_output, "its outputs are: y");
  refused({"run", "rms_norm", "--in", "x=" + x, "--set", "epsilon=1", "--check"}, Code::unknown_parameter, "eps");
  refused({"run", "sum", "--in", "x=" + x, "--set", "eps=1", "--check"}, Code::unknown_parameter, "leave it out");
  refused({"run", "residual_norm", "--in", "x=" + x, "--check"}, Code::input_missing, "--in residual=FILE.npy");
  refused({"run", "sum", "--in", "x=" + x}, Code::nothing_asked, "--out y=FILE.npy or --check");
}

TEST_F(CommandLineTest, InputsThatDoNotFitEachOther) {
  const std::string x = matrix("x.npy", {2, 4});
  refused({"run", "rms_norm", "--in", "x=" + x, "--in", "weight=" + matrix("w5.npy", {5}), "--check"},
          Code::input_shape_mismatch, "weight");
  refused({"run", "residual_norm", "--in", "x=" + x, "--in", "residual=" + matrix("r3.npy", {3, 4}), "--check"},
          Code::input_shape_mismatch, "residual");
  refused({"run", "rms_norm", "--in", "x=" + x, "--in", "weight=" + matrix("h.npy", {4}, ElementType::f16), "--check"},
          Code::storage_disagreement, "h.npy");
  refused({"run", write("flat.fold", kNoMatrix), "--in", "w=" + matrix("w.npy", {4}), "--check"}, Code::shape_unknown,
          "[rows, cols]");
  refused({"run", "sum", "--in", "x=" + matrix("i.npy", {2, 4}, ElementType::i32), "--check"}, Code::operator_storage,
          "f32");
  refused({"run", write("sum.fold", kSum), "--in", "x=" + matrix("x16.npy", {2, 4}, ElementType::f16), "--check"},
          Code::dtype_mismatch, "");
  refused({"run", "sum", "--in", "x=" + matrix("none.npy", {3, 0}), "--device", "lane-machine", "--check"},
          Code::no_columns, "");
  refused({"run", "rms_norm_q8", "--in", "x=" + matrix("x33.npy", {2, 33}), "--device", "lane-machine", "--check"},
          Code::columns_not_whole_blocks, "");
}

TEST_F(CommandLineTest, FilesThatCannotBeUsed) {
  matrix("x.npy", {2, 4});
  const auto run = [&](const std::string& file) { return Arguments{"run", "sum", "--in", "x=" + file, "--check"}; };
  refused(run(path("missing.npy")), Code::file_missing, "");
  refused(run(path("x.bin")), Code::file_kind_unknown, "");
  refused(run(directory_.string() + "/cache.npy"), Code::file_missing, "");
  const std::string whole = content("x.npy");
  refused(run(write("short.npy", whole.substr(0, whole.size() - 5))), Code::file_truncated, "");
  refused(run(write("text.npy", "1, 2, 3\n")), Code::file_not_npy, "");
  Arguments raw = run(matrix("b.npy", {2, 4}, ElementType::bf16));
  refused(raw, Code::dtype_needed, "");
  refused({"run", write("bad.fold", "program p(\n"), "--check"}, Code::syntax, "");
  refused({"run", path("none.fold"), "--check"}, Code::file_missing, "");
}

TEST_F(CommandLineTest, PlansForSomethingElse) {
  const std::string p = path("p.json");
  ASSERT_EQ(lanefold({"plan", "sum", "--rows", "4", "--cols", "100", "--out", p}).status, 0);
  const std::string x = matrix("x.npy", {4, 100});
  const Arguments end = {"--in", "x=" + x, "--device", "lane-machine", "--check"};
  const auto run = [&](const std::string& kernel, const Arguments& more = {}) {
    Arguments all = {"run", kernel};
    all.insert(all.end(), end.begin(), end.end());
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  EXPECT_EQ(lanefold(run("sum@" + p)).status, 0);
  refused(run("max@" + p), Code::plan_for_other_program, "");
  refused(run("sum@" + p, {"--order", "serial"}), Code::option_contradicts_plan, "leave --order out");
  refused(run("sum@" + p, {"--target", "generic-64"}), Code::option_contradicts_plan, "leave --target out");
  refused({"digest", "sum@" + p, "--rows", "4", "--cols", "100000", "--device", "lane-machine"},
          Code::cols_outside_width_class, "");
  refused(run("sum@" + write("bad.json", "{}")), Code::plan_field_missing, "");
  refused(run("sum@" + path("none.json")), Code::file_missing, "");
}

TEST_F(CommandLineTest, FailuresLeaveFilesAsTheyWere) {
  const std::string lossy = write("lossy.fold", kLossy);
  const std::string x = "x=" + matrix("x.npy", {2, 40});
  const std::string old = write("old.npy", "old");
  const Arguments start = {"run", lossy, "--in", x, "--device", "lane-machine"};
  const auto run = [&](const Arguments& more) {
    Arguments all = start;
    all.insert(all.end(), more.begin(), more.end());
    return lanefold(all);
  };
  const Finished failed = run({"--out", "y=" + old, "--check"});
  EXPECT_EQ(failed.status, 1) << failed.out << failed.err;
  EXPECT_NE(failed.out.find("elements wrong, the first at [0, 0]"), failed.out.npos) << failed.out;
  EXPECT_EQ(content("old.npy"), "old");
  EXPECT_EQ(run({"--out", "y=" + path("new.npy"), "--check"}).status, 1);
  EXPECT_FALSE(exists("new.npy"));
  EXPECT_EQ(lanefold({"check", lossy, "--rows", "1", "--cols", "8", "--device", "lane-machine"}).status, 1);

  const std::string q8_in = "x=" + matrix("q.npy", {2, 32});
  const Arguments q8 = {"run", "rms_norm_q8", "--in", q8_in, "--device", "lane-machine"};
  const auto q8_to = [&](const std::string& q, const std::string& scale) {
    Arguments all = q8;
    all.insert(all.end(), {"--out", "q=" + q, "--out", "scale=" + scale});
    return all;
  };
  refused(q8_to(path("a.npy"), path("a.npy")), Code::output_repeated, "");
  refused(q8_to(path("a.npy"), path("a.txt")), Code::file_kind_unknown, "");
  refused(q8_to(path("a.npy"), path("no/such/folder/s.npy")), Code::write_failed, "");
  EXPECT_FALSE(exists("a.npy"));
  refused({"plan", "sum", "--rows", "1", "--cols", "0", "--out", old}, Code::no_columns, "");
  EXPECT_EQ(content("old.npy"), "old");
  refused({"plan", "sum", "--rows", "1", "--cols", "5", "--out", path("no/such/folder/p.json")}, Code::write_failed,
          "");
  refused({"emit", "sum", "--rows", "1", "--cols", "5", "--as", "lane", "--out", path("no/such/folder/p.lane")},
          Code::write_failed, "");
}

TEST_F(CommandLineTest, PagesOfOperatorsAreWrittenAllOrNone) {
  refused({"ops", "--pages", path("none")}, Code::write_failed, "create the directory first");
  refused({"ops", "--pages", write("file", "mine")}, Code::write_failed, "");
  EXPECT_EQ(content("file"), "mine");
  const std::filesystem::path blocked = directory_ / "blocked", good = directory_ / "good";
  std::filesystem::create_directories(blocked / "softmax.md");  // no file can take the place of a folder
  refused({"ops", "--pages", blocked.string()}, Code::write_failed, "");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(blocked), {}), 1) << "something was left behind";
  std::filesystem::create_directories(good);
  const nlohmann::json told = json_of({"ops", "--pages", good.string()});
  EXPECT_EQ(told["wrote"], good.string());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(good), {}), told["operators"].get<int>() + 1);
  EXPECT_NE(content("good/rms_norm.md").find("# rms_norm\n"), std::string::npos);
  EXPECT_NE(content("good/README.md").find("[rms_norm](rms_norm.md)"), std::string::npos);
}

TEST_F(CommandLineTest, OutputThatCannotBePrinted) {
  const Finished full = lanefold({"ops"}, "/dev/full");
  EXPECT_EQ(full.status, 2);
  EXPECT_NE(full.err.find(code_number(Code::write_failed)), full.err.npos) << full.err;
}

TEST_F(CommandLineTest, WhatIsMissingInThisBuildSaysSo) {
  if (has_cpu()) {
    EXPECT_EQ(lanefold({"digest", "sum", "--rows", "2", "--cols", "5"}).status, 0);
    EXPECT_NE(lanefold({"emit", "sum", "--rows", "2", "--cols", "5", "--as", "llvm"}).out.find("define "),
              std::string::npos);
    EXPECT_NE(lanefold({"emit", "sum", "--rows", "2", "--cols", "5", "--as", "asm"}).out.find("ret"),
              std::string::npos);
  } else {
    refused({"digest", "sum", "--rows", "2", "--cols", "5"}, Code::device_missing, "--device lane-machine");
    refused({"emit", "sum", "--rows", "2", "--cols", "5", "--as", "llvm"}, Code::device_missing, "--as lane");
  }
}

}  // namespace
}  // namespace lanefold
