#include "kernels/hand_written.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace lanefold::kernels {
namespace {

struct Case {
  const HandWritten* module;
  const FormFact* form;
  ModuleSizes sizes;

  std::string text() const {
    return std::string(module->name) + ":" + std::string(form->name) + " tokens " + std::to_string(sizes.at("tokens")) +
           (sizes.weights == WeightFormat::bf16 ? " bf16" : " q8_0") + " width " + std::to_string(sizes.simd_width);
  }
};

const HandWritten& find(std::string_view name) {
  const HandWritten* module = find_hand_written(name);
  if (module == nullptr) internal_error("test: no module " + std::string(name));
  return *module;
}

/// Sizes for which every form builds at every SIMD width of `widths`.
ModuleSizes small(const HandWritten& module, std::uint32_t width) {
  ModuleSizes sizes;
  sizes.simd_width = width;
  if (module.name == "qsa_merge") {
    sizes.values = {{"head_size", 64}, {"heads", 3}, {"chunks", 5}};
  } else {
    sizes.values = {{"hidden", 128}, {"streams", 4}};
    if (module.name == "gr_norm") sizes.values["simd_groups"] = 2;
    if (module.name != "gr_norm") sizes.values["rank"] = 32;
  }
  return sizes;
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const HandWritten& module : hand_written()) {
    for (const FormFact& form : module.forms) {
      for (const WeightFormat weights : {WeightFormat::bf16, WeightFormat::q8_0}) {
        if (weights == WeightFormat::q8_0 && !module.has_weights) continue;
        for (const std::int64_t tokens : {1, 3, 8}) {
          for (ModuleSizes sizes : {small(module, 16), small(module, 32), small(module, 64), ModuleSizes{}}) {
            sizes.weights = weights;
            sizes.values["tokens"] = tokens;
            all.push_back({&module, &form, sizes});
          }
        }
      }
    }
  }
  return all;
}

int barriers(const std::vector<lane::Statement>& block) {
  int count = 0;
  for (const lane::Statement& s : block)
    count += (s.op == lane::Op::barrier ? 1 : 0) + barriers(s.body) + barriers(s.otherwise);
  return count;
}

int comments(const std::vector<lane::Statement>& block) {
  int count = 0;
  for (const lane::Statement& s : block)
    count += (s.comment.empty() ? 0 : 1) + comments(s.body) + comments(s.otherwise);
  return count;
}

lane::Kernel kernel(std::string_view name, std::string_view form, ModuleSizes sizes = {}) {
  Result<lane::Module> module = build_hand_written(find(name), form, sizes);
  if (!module) internal_error(module.error().text());
  return std::move(module->kernels.at(0));
}

void expect_refusal(std::string_view name, std::string_view form, const ModuleSizes& sizes, Code code,
                    std::string_view message, std::string_view hint) {
  const Result<lane::Module> module = build_hand_written(find(name), form, sizes);
  ASSERT_FALSE(module.ok()) << name << ": " << message;
  EXPECT_EQ(module.error().code, code) << module.error().text();
  EXPECT_EQ(module.error().place, name);
  EXPECT_NE(module.error().message.find(message), std::string::npos) << module.error().text();
  EXPECT_NE(module.error().hint.find(hint), std::string::npos) << module.error().text();
}

void expect_misfit(std::string_view name, std::map<std::string, std::int64_t, std::less<>> values,
                   std::string_view message, std::string_view hint, std::string_view form = "",
                   std::uint32_t width = 32, WeightFormat weights = WeightFormat::bf16) {
  expect_refusal(name, form, {std::move(values), weights, width}, Code::module_size_invalid, message, hint);
}

TEST(HandWritten, IsAGoodModuleInEveryFormAndSize) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.text());
    const Result<lane::Module> module = build_hand_written(*c.module, c.form->name, c.sizes);
    ASSERT_TRUE(module.ok()) << module.error().text();
    const std::vector<Diagnostic> faults = lane::verify(*module);
    ASSERT_TRUE(faults.empty()) << faults.front().text();
    EXPECT_EQ(module->name, c.module->name);
    ASSERT_EQ(module->kernels.size(), 1u);
    EXPECT_GE(comments(module->kernels[0].body), 2);
  }
}

TEST(HandWritten, PrintsAndParsesAlike) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.text());
    const std::string text = lane::print(*build_hand_written(*c.module, c.form->name, c.sizes));
    const Result<lane::Module> parsed = lane::parse(text);
    ASSERT_TRUE(parsed.ok()) << parsed.error().text();
    EXPECT_EQ(lane::print(*parsed), text);
  }
}

TEST(HandWritten, SaysWhereEveryBufferComesFrom) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.text());
    const lane::Kernel k = kernel(c.module->name, c.form->name, c.sizes);
    EXPECT_GT(k.threadgroups, 0u);
    std::map<lane::Role, std::uint32_t> seen;
    for (const lane::Argument& argument : k.arguments) {
      EXPECT_TRUE(argument.buffer) << argument.name;
      ASSERT_FALSE(argument.shape.empty()) << argument.name;
      for (const lane::Dimension& d : argument.shape) EXPECT_EQ(d.of, lane::Dimension::Of::fixed);
      if (argument.memory_of) {
        const lane::Argument& owner = k.arguments.at(*argument.memory_of);
        EXPECT_EQ(argument.name, owner.name + "_scale");
        EXPECT_EQ(argument.role, owner.role);
        EXPECT_EQ(argument.index, owner.index);
        EXPECT_EQ(argument.shape.back().amount * 2, owner.shape.back().amount);
      } else {
        EXPECT_EQ(argument.index, seen[argument.role]++) << argument.name;
      }
    }
    EXPECT_GE(seen[lane::Role::output], 2u);
  }
}

TEST(HandWritten, HasTheThreadgroupMemoryAndBarriersOfTheRewrite) {
  struct Row {
    std::string_view module, form;
    std::uint32_t bytes;
    int barriers;
  };
  const Row rows[] = {
      {"gr_norm", "old", 32, 1},     {"gr_norm", "new", 32, 1},       {"gr_up", "old", 2560, 2},
      {"gr_up", "new", 2048, 1},     {"gr_up3", "old", 12800, 3},     {"gr_up3", "new", 12288, 2},
      {"qsa_merge", "old", 1024, 1}, {"qsa_merge", "new", 0, 0},      {"gr_down", "old", 256, 1},
      {"gr_up", "tree", 2048, 1},    {"gr_up", "one_chain", 2048, 1}, {"qsa_merge", "split_guard", 0, 0},
  };
  for (const Row& row : rows) {
    for (const std::int64_t tokens : {1, 8}) {
      SCOPED_TRACE(std::string(row.module) + ":" + std::string(row.form) + " tokens " + std::to_string(tokens));
      ModuleSizes sizes;
      sizes.values["tokens"] = tokens;
      const lane::Kernel k = kernel(row.module, row.form, sizes);
      const std::uint32_t bytes = row.module == "gr_down" && tokens == 1 ? 32 : row.bytes;
      EXPECT_EQ(lane::shared_bytes(k), bytes);
      EXPECT_EQ(barriers(k.body), row.barriers);
    }
  }
}

TEST(HandWritten, OneGroupARowNeedsNoBarrier) {
  ModuleSizes sizes;
  sizes.values["k_split"] = 1;
  const lane::Kernel k = kernel("gr_down", "", sizes);
  EXPECT_EQ(barriers(k.body), 0);
  EXPECT_EQ(lane::shared_bytes(k), 0u);
  EXPECT_EQ(k.threadgroups, 41u);  // 324 rows, 8 a threadgroup
}

TEST(HandWritten, LaunchesAThreadgroupPerTile) {
  EXPECT_EQ(kernel("gr_up", "").threadgroups, 160u);
  EXPECT_EQ(kernel("gr_down", "").threadgroups, 324u);
  EXPECT_EQ(kernel("gr_norm", "").threadgroups, 32u);
  EXPECT_EQ(kernel("qsa_merge", "").threadgroups, 192u);
}

TEST(HandWritten, UnrolledNormHasNoLoop) {
  const auto loops = [](const lane::Kernel& k) {
    return std::count_if(k.body.begin(), k.body.end(), [](const lane::Statement& s) { return s.op == lane::Op::loop; });
  };
  EXPECT_EQ(loops(kernel("gr_norm", "unrolled")), 0);
  EXPECT_EQ(loops(kernel("gr_norm", "generic")), 2);
}

TEST(HandWritten, NormWithoutABranchOnlyReadsTheResidual) {
  ModuleSizes sizes;
  sizes.values["apply"] = 0;
  const lane::Kernel k = kernel("gr_norm", "", sizes);
  ASSERT_EQ(k.arguments.size(), 4u);
  EXPECT_EQ(k.arguments[0].role, lane::Role::input);
  EXPECT_EQ(kernel("gr_norm", "").arguments[0].role, lane::Role::inout);
  EXPECT_EQ(kernel("gr_norm", "").arguments.size(), 6u);
}

TEST(HandWritten, NamesAreUniqueAndFormsResolve) {
  std::set<std::string_view> names;
  for (const HandWritten& module : hand_written()) {
    EXPECT_TRUE(names.insert(module.name).second);
    EXPECT_FALSE(module.summary.empty() || module.formula.empty());
    EXPECT_GT(module.relative_tolerance, 0);
    EXPECT_TRUE(module.forms.front().right);
    ModuleSizes sizes;
    const std::string standard = lane::print(*build_hand_written(module, "", sizes));
    EXPECT_EQ(lane::print(*build_hand_written(module, "new", sizes)), standard);
    std::set<std::string_view> forms;
    for (const FormFact& form : module.forms) {
      EXPECT_TRUE(forms.insert(form.name).second);
      for (const std::string_view alias : form.aliases) EXPECT_TRUE(forms.insert(alias).second);
      const std::string text = lane::print(*build_hand_written(module, form.name, sizes));
      EXPECT_EQ(text == standard, &form == &module.forms.front()) << form.name;
    }
    EXPECT_TRUE(forms.contains("old") && forms.contains("new"));
  }
  EXPECT_EQ(find_hand_written("rms_norm"), nullptr);
}

TEST(HandWritten, RefusesWhatItDoesNotKnow) {
  expect_refusal("gr_up", "fast", {}, Code::unknown_form, "no form \"fast\"", "new, old, tree");
  expect_refusal("gr_norm", "tree", {}, Code::unknown_form, "no form \"tree\"", "unrolled, new, generic, old");
  ModuleSizes sizes;
  sizes.values["cols"] = 1;
  expect_refusal("gr_norm", "", sizes, Code::module_size_unknown, "no size \"cols\"", "tokens (1 to 8), hidden");
}

TEST(HandWritten, RefusesSizesOutOfRange) {
  for (const HandWritten& module : hand_written()) {
    for (const SizeFact& size : module.sizes) {
      EXPECT_GE(size.standard, size.least);
      EXPECT_LE(size.standard, size.most);
      for (const std::int64_t value : {size.least - 1, size.most + 1})
        expect_misfit(module.name, {{std::string(size.name), value}},
                      std::string(size.name) + " is " + std::to_string(value),
                      "from " + std::to_string(size.least) + " to " + std::to_string(size.most));
    }
    for (const std::uint32_t width : {0u, 2u, 24u, 128u})
      expect_misfit(module.name, {}, "simd_width is", "power of two from 4 to 64", "", width);
  }
}

TEST(HandWritten, RefusesSizesThatDoNotFitTogether) {
  expect_misfit("gr_norm", {{"hidden", 2561}}, "hidden is 2561, not a multiple of 256", "2560 or 2816 would fit");
  expect_misfit("gr_norm", {{"hidden", 128}}, "not a multiple of 256", "256 would fit");
  expect_misfit("gr_norm", {{"hidden", 256 * 17}}, "17 elements for each of 256 threads", "hidden up to 4096");
  expect_misfit("gr_norm", {{"simd_groups", 32}}, "32 SIMD groups of 64 lanes", "at most 16", "old", 64);
  expect_misfit("gr_down", {{"simd_groups", 8}, {"k_split", 3}}, "simd_groups is 8, not a multiple of 3", "6 or 9");
  expect_misfit("gr_down", {{"hidden", 33}, {"streams", 1}}, "streams · hidden is 33, not a multiple of 8", "32 or 40");
  expect_misfit("gr_down", {{"hidden", 160}, {"streams", 1}}, "160, not a multiple of 256", "256 would fit", "", 32,
                WeightFormat::q8_0);
  for (const std::string_view name : {"gr_up", "gr_up3"}) {
    expect_misfit(name, {}, "simd_width is 8", "use 16, 32 or 64", "", 8);
    expect_misfit(name, {{"simd_groups", 2}}, "fewer than 128 threads", "4 SIMD groups or more");
    expect_misfit(name, {{"simd_groups", 6}}, "16 · streams is 64, not a multiple of 6", "60 or 66");
    expect_misfit(name, {{"hidden", 40}}, "hidden is 40, not a multiple of 16", "32 or 48");
    expect_misfit(name, {{"hidden", 64}, {"planes", 3}}, "hidden is 64, not a multiple of 3", "63 or 66");
    expect_misfit(name, {{"rank", 40}}, "rank is 40, not a multiple of 32", "32 or 64", "", 32, WeightFormat::q8_0);
  }
  expect_misfit("qsa_merge", {}, "simd_width is 4", "use 16, 32 or 64", "", 4);
  expect_misfit("qsa_merge", {{"head_size", 48}}, "head_size is 48, not a multiple of 32", "32 or 64");
  expect_misfit("qsa_merge", {{"head_size", 1024}}, "64 SIMD groups of 16 lanes", "at most 32", "", 16);
  expect_misfit("qsa_merge", {{"planes", 7}}, "kv_heads · heads · head_size is 6144, not a multiple of 7", "6139");
}

}  // namespace
}  // namespace lanefold::kernels
