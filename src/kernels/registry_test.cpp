#include "kernels/registry.h"

#include <set>

#include <gtest/gtest.h>

namespace lanefold::kernels {
namespace {

TEST(Registry, NamesAndAliasesAreUnique) {
  std::set<std::string_view> names;
  for (const Operator& op : operators()) {
    EXPECT_TRUE(names.insert(op.name).second) << op.name;
    for (const std::string_view alias : op.aliases) EXPECT_TRUE(names.insert(alias).second) << alias;
    EXPECT_FALSE(op.summary.empty());
    EXPECT_FALSE(op.formula.empty());
  }
  EXPECT_GE(operators().size(), 39u);
}

TEST(Registry, FindsByNameAndAlias) {
  for (const Operator& op : operators()) {
    EXPECT_EQ(find(op.name), &op);
    for (const std::string_view alias : op.aliases) EXPECT_EQ(find(alias), &op);
  }
  EXPECT_EQ(find("rmsnorm"), find("rms_norm"));
  EXPECT_EQ(find("norm"), nullptr);
}

TEST(Registry, ExplainsAnUnknownOperator) {
  const auto misspelt = find_or_explain("rms_nrom");
  ASSERT_FALSE(misspelt.ok());
  EXPECT_EQ(misspelt.error().code, Code::unknown_operator);
  EXPECT_NE(misspelt.error().message.find("rms_nrom"), std::string::npos);
  EXPECT_NE(misspelt.error().hint.find("close to it: rms_norm"), std::string::npos) << misspelt.error().hint;
  EXPECT_EQ(misspelt.error().hint.find("argmax"), std::string::npos);
  const auto part = find_or_explain("residual");
  EXPECT_NE(part.error().hint.find("residual_norm, residual_norm_store, "), std::string::npos) << part.error().hint;
  for (const char* strange : {"qqqqqqqqqqqqqqqq", ""}) {
    const auto result = find_or_explain(strange);
    ASSERT_FALSE(result.ok());
    for (const Operator& op : operators())
      EXPECT_NE(result.error().hint.find(op.name), std::string::npos) << result.error().hint;
  }
  ASSERT_TRUE(find_or_explain("softmax").ok());
  EXPECT_EQ(*find_or_explain("softmax"), find("softmax"));
}

TEST(Registry, SaysWhatTheFormulaLeavesOpenAndWhereItComesFrom) {
  for (const Operator& op : operators()) {
    EXPECT_TRUE(op.special_values.ends_with('.')) << op.name;
    EXPECT_FALSE(op.source.empty()) << op.name;
  }
}

TEST(Registry, OffersIntegersWhereNothingIsStoredAsT) {
  for (const Operator& op : operators()) {
    if (!op.integers) {
      const auto refused = build(op, ElementType::i8);
      ASSERT_FALSE(refused.ok()) << op.name;
      EXPECT_EQ(refused.error().code, Code::operator_storage);
      continue;
    }
    EXPECT_EQ(storages(op).back(), ElementType::i8);
    const ir::Program program = build(op, ElementType::i8).value(), wide = build(op, ElementType::f32).value();
    for (std::size_t s = 0; s < program.stores.size(); ++s)
      EXPECT_EQ(program.stores[s].storage, wide.stores[s].storage) << op.name;
  }
}

TEST(Registry, RefusesAStorageThatIsNotOffered) {
  for (const ElementType storage : {ElementType::i8, ElementType::f64, ElementType::boolean}) {
    const auto result = build(*find("rms_norm"), storage);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, Code::operator_storage);
    EXPECT_NE(result.error().hint.find("f32, f16, bf16"), std::string::npos);
  }
}

TEST(Operators, BuildInEveryStorage) {
  for (const Operator& op : operators()) {
    for (const ElementType storage : storages(op)) {
      const auto program = build(op, storage);
      ASSERT_TRUE(program.ok()) << program.error().text();
      EXPECT_EQ(program->name, op.name);
      EXPECT_TRUE(program->inputs.at(0).name == "x" || op.name == "matvec");
      for (const ir::Input& input : program->inputs) {
        EXPECT_EQ(input.storage, input.name == "label" ? ElementType::i32 : storage) << op.name << ' ' << input.name;
        EXPECT_EQ(input.absent.has_value(), input.name.ends_with("weight") || input.name == "bias")
            << op.name << ' ' << input.name;
      }
      EXPECT_TRUE(ir::verify(*program, op.name).empty());
    }
  }
}

TEST(Operators, PrintAndParseAlike) {
  for (const Operator& op : operators()) {
    const std::string printed = ir::print(*build(op, ElementType::bf16));
    const auto parsed = ir::parse(printed, op.name);
    ASSERT_TRUE(parsed.ok()) << parsed.error().text() << '\n' << printed;
    EXPECT_EQ(ir::print(*parsed), printed);
  }
}

TEST(Operators, QuantisedOnesSayHowCodesMayDiffer) {
  for (const Operator& op : operators()) {
    bool has_codes = false;
    const ir::Program program = build(op, ElementType::f32).value();
    for (const ir::Store& store : program.stores) has_codes |= store.name == "q" && store.storage == ElementType::i8;
    EXPECT_EQ(has_codes, op.code_tolerance > 0) << op.name;
  }
}

TEST(Operators, StoreUnderTheNamesOfEveryLanguage) {
  const std::set<std::string> known = {"y", "residual_out", "q", "scale"};
  for (const Operator& op : operators()) {
    const ir::Program program = build(op, ElementType::f16).value();
    for (const ir::Store& store : program.stores) EXPECT_TRUE(known.contains(store.name)) << store.name;
  }
  const auto sum = build(*find("sum"), ElementType::f16);
  EXPECT_EQ(sum->stores.at(0).storage, ElementType::f32);
  const auto residual = build(*find("residual_norm_q8"), ElementType::f16);
  EXPECT_EQ(residual->stores.at(0).storage, ElementType::f32);
}

TEST(Operators, DoWithoutOptionalInputs) {
  const auto program = build(*find("layer_norm"), ElementType::f32, {"weight", "bias"});
  ASSERT_TRUE(program.ok()) << program.error().text();
  ASSERT_EQ(program->inputs.size(), 1u);
  EXPECT_FALSE(build(*find("layer_norm"), ElementType::f32, {"x"}).ok());
}

}  // namespace
}  // namespace lanefold::kernels
