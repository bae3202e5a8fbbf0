#include "driver/kernel_name.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace lanefold::driver {
namespace {

class KernelNameTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "lanefold-test-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string write(const std::string& name, const std::string& content) const {
    std::ofstream(directory_ / name, std::ios::binary) << content;
    return (directory_ / name).string();
  }

  std::filesystem::path directory_;
};

KernelName parsed(std::string_view text) {
  Result<KernelName> name = parse_kernel_name(text);
  EXPECT_TRUE(name.ok()) << name.error().text();
  return name.ok() ? *name : KernelName{};
}

Result<ResolvedProgram> resolved(std::string_view text, ElementType storage = ElementType::f32,
                                 const std::vector<std::string>& absent = {}) {
  return resolve_program(parsed(text), {.storage = storage, .known = {.absent = absent}});
}

template <class T>
void expect_code(const Result<T>& result, Code code) {
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, code) << result.error().text();
}

TEST_F(KernelNameTest, TakesOperatorsApart) {
  const KernelName plain = parsed("rms_norm");
  EXPECT_EQ(plain.kind, KernelName::Kind::op);
  EXPECT_EQ(plain.name, "rms_norm");
  EXPECT_EQ(plain.form + plain.plan_path + plain.file, "");
  const KernelName full = parsed("sum:rows@a@b/p.json");
  EXPECT_EQ(full.kind, KernelName::Kind::op);
  EXPECT_EQ(full.name, "sum");
  EXPECT_EQ(full.form, "rows");
  EXPECT_EQ(full.plan_path, "a@b/p.json");
}

TEST_F(KernelNameTest, TakesFilesApart) {
  EXPECT_EQ(parsed("a@b/c.fold").kind, KernelName::Kind::fold_file);
  EXPECT_EQ(parsed("a@b/c.fold").file, "a@b/c.fold");
  EXPECT_EQ(parsed("a@b/c.fold@p.json").file, "a@b/c.fold");
  EXPECT_EQ(parsed("c.fold@../p.json").file, "c.fold");
  EXPECT_EQ(parsed("c.fold@../p.json").plan_path, "../p.json");
  EXPECT_EQ(parsed("dir/k.lane").kind, KernelName::Kind::lane_file);
  EXPECT_EQ(parsed("dir/k.lane").file, "dir/k.lane");
  EXPECT_EQ(parsed("k.metal#norm").kind, KernelName::Kind::metal_file);
  EXPECT_EQ(parsed("k.metal#norm").name, "norm");
  EXPECT_EQ(parsed("d/k.cu#norm").kind, KernelName::Kind::cuda_file);
  EXPECT_EQ(parsed("d/k.cu#norm").file, "d/k.cu");
  EXPECT_EQ(parsed("canonical").kind, KernelName::Kind::canonical);
}

TEST_F(KernelNameTest, RefusesNamesOutsideTheGrammar) {
  for (const char* text : {"", "sum@", "sum@plan", "sum@.json", ":form", "sum:", "sum:a b", "@p.json", "x.npy",
                           "rms-norm", "k.metal", "k.metal#", "k.cu", "k.cu#", "k.lane@p.json", "k.folder"})
    expect_code(parse_kernel_name(text), Code::kernel_name_malformed);
}

TEST_F(KernelNameTest, ResolvesOperators) {
  const auto f16 = resolved("rms_norm", ElementType::f16);
  ASSERT_TRUE(f16.ok()) << f16.error().text();
  EXPECT_EQ(f16->program.inputs[0].storage, ElementType::f16);
  EXPECT_EQ(f16->storage_inputs, (std::vector<std::string>{"x", "weight"}));
  EXPECT_GT(f16->relative_tolerance, 0);
  EXPECT_FALSE(f16->plan);
  const auto bare = resolved("rmsnorm", ElementType::f32, {"weight"});
  ASSERT_TRUE(bare.ok()) << bare.error().text();
  EXPECT_EQ(bare->storage_inputs, (std::vector<std::string>{"x"}));
}

TEST_F(KernelNameTest, ResolvesFiles) {
  const std::string file = write(
      "half.fold", "program half(x: f16[rows, cols], b: f32[cols] = 0.0)\n  store y: f32[rows] = fold sum (x + b)\n");
  const auto whole = resolved(file);
  ASSERT_TRUE(whole.ok()) << whole.error().text();
  EXPECT_EQ(whole->program.inputs.size(), 2u);
  EXPECT_TRUE(whole->storage_inputs.empty());
  EXPECT_EQ(whole->code_tolerance, 1);
  const auto less = resolved(file, ElementType::f32, {"b"});
  ASSERT_TRUE(less.ok()) << less.error().text();
  EXPECT_EQ(less->program.inputs.size(), 1u);
}

TEST_F(KernelNameTest, ReadsThePlan) {
  const auto sum = resolved("sum");
  ASSERT_TRUE(sum.ok());
  plan::Request request;
  request.rows = 4;
  request.cols = 100;
  const auto plan = plan::choose(sum->program, target::host(), request);
  ASSERT_TRUE(plan.ok()) << plan.error().text();
  const std::string path = write("p.json", plan::to_json(*plan));
  const auto again = resolved("sum@" + path);
  ASSERT_TRUE(again.ok()) << again.error().text();
  ASSERT_TRUE(again->plan);
  EXPECT_EQ(again->plan->program_hash, plan->program_hash);
  expect_code(resolved("sum@" + write("q.json", "{")), Code::plan_not_json);
  expect_code(resolved("sum@" + (directory_ / "none.json").string()), Code::file_missing);
}

TEST_F(KernelNameTest, RefusesWhatThereIsNot) {
  expect_code(resolved("summ"), Code::unknown_operator);
  expect_code(resolved("sum:fast"), Code::unknown_form);
  expect_code(resolved("sum", ElementType::f64), Code::operator_storage);
  expect_code(resolved((directory_ / "none.fold").string()), Code::file_missing);
  expect_code(resolved(write("bad.fold", "program p(\n")), Code::syntax);
  for (const char* text : {"canonical", "k.metal#f", "k.cu#f"})
    expect_code(resolved(text), Code::kernel_kind_unsupported);
  expect_code(resolved("k.lane"), Code::kernel_not_for_verb);
}

TEST_F(KernelNameTest, ReadsLaneModules) {
  const std::string text = "module empty\n";
  const auto module = read_lane_module(parsed(write("k.lane", text)));
  if (module.ok()) {
    EXPECT_EQ(module->name, "empty");
  } else {
    EXPECT_EQ(module.error().place.find((directory_ / "k.lane").string()), 0u) << module.error().text();
  }
  const auto bad = read_lane_module(parsed(write("bad.lane", "nonsense\n")));
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().code, Code::lane_syntax) << bad.error().text();
}

}  // namespace
}  // namespace lanefold::driver
