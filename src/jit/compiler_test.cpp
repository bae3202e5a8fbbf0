#include <gtest/gtest.h>

#include "jit/jit.h"
#include "lane/builder.h"

namespace lanefold::jit {
namespace {

/// y[lane] = lane + `offset`.
lane::Module numbered(std::int32_t offset) {
  lane::Module module;
  module.name = "numbered";
  lane::Kernel& kernel = module.kernels.emplace_back();
  kernel.name = "fill";
  kernel.simd_width = 4;
  kernel.arguments = {{"y", true, ElementType::i32, lane::Role::output, 0}};
  lane::Builder b(kernel.types, kernel.body);
  const lane::ValueId value = b.add(b.lane(), b.i32(offset));
  b.store(0, b.convert(b.lane(), ElementType::i64), std::vector{value});
  return module;
}

int first_value(const LinkedModule& linked, std::size_t kernel = 0) {
  std::int32_t y[4] = {};
  const lane::ArgumentWord words[] = {{.pointer = y}};
  linked.entry(kernel)(words, 0, 1, nullptr);
  EXPECT_EQ(y[3], y[0] + 3);
  return y[0];
}

TEST(Compiler, CompilesLinksAndRuns) {
  const lane::Module module = numbered(7);
  const auto object = compile(module, target::host());
  ASSERT_TRUE(object.ok()) << object.error().text();
  const auto linked = load(*object, module);
  ASSERT_TRUE(linked.ok()) << linked.error().text();
  EXPECT_EQ(first_value(**linked), 7);
  // The same object again, and another one with the same symbols, live beside each other.
  const auto again = load(*object, module);
  ASSERT_TRUE(again.ok());
  const auto other = load(*compile(numbered(40), target::host()), numbered(40));
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(first_value(**again), 7);
  EXPECT_EQ(first_value(**other), 40);
  EXPECT_EQ(first_value(**linked), 7);
}

TEST(Compiler, EveryKernelOfAModuleHasItsEntry) {
  lane::Module module = numbered(1);
  module.kernels.push_back(numbered(2).kernels[0]);
  module.kernels[1].name = "fill_more";
  EXPECT_NE(kernel_symbol(module, 0), kernel_symbol(module, 1));
  const auto linked = load(*compile(module, target::host()), module);
  ASSERT_TRUE(linked.ok()) << linked.error().text();
  EXPECT_EQ(first_value(**linked, 0), 1);
  EXPECT_EQ(first_value(**linked, 1), 2);
}

TEST(Compiler, CompilingTwiceGivesOneObject) {
  EXPECT_EQ(*compile(numbered(3), target::host()), *compile(numbered(3), target::host()));
  EXPECT_NE(*compile(numbered(3), target::host()), *compile(numbered(4), target::host()));
}

TEST(Compiler, ShowsItsCode) {
  const lane::Module module = numbered(7);
  const auto llvm = llvm_text(module, target::host());
  const auto assembly = assembly_text(module, target::host());
  ASSERT_TRUE(llvm.ok() && assembly.ok());
  for (const std::string& text : {*llvm, *assembly}) EXPECT_NE(text.find(kernel_symbol(module, 0)), std::string::npos);
  EXPECT_FALSE(llvm_version().empty());
  EXPECT_EQ(generator_hash().size(), 64u);
}

TEST(Compiler, RefusesAProcessorThatLlvmDoesNotKnow) {
  for (const std::string cpu : {"no-such-processor", ""}) {
    target::Target target = target::host();
    target.llvm_cpu = cpu;
    const auto object = compile(numbered(0), target);
    ASSERT_FALSE(object.ok());
    EXPECT_EQ(object.error().code, Code::code_generation_failed);
    EXPECT_NE(object.error().message.find(target.name), std::string::npos) << object.error().text();
    EXPECT_FALSE(object.error().hint.empty());
    EXPECT_FALSE(assembly_text(numbered(0), target).ok());
    EXPECT_FALSE(llvm_text(numbered(0), target).ok());
  }
}

TEST(Compiler, RefusesClusters) {
  lane::Module module = numbered(0);
  module.kernels[0].cluster = 2;
  const auto object = compile(module, target::host());
  ASSERT_FALSE(object.ok());
  EXPECT_EQ(object.error().code, Code::cluster_on_cpu) << object.error().text();
}

TEST(Linker, RefusesADamagedObject) {
  const lane::Module module = numbered(7);
  const Object whole = *compile(module, target::host());
  const auto refused = [&](const Object& object) {
    const auto linked = load(object, module);
    ASSERT_FALSE(linked.ok()) << object.size() << " of " << whole.size() << " bytes";
    EXPECT_EQ(linked.error().code, Code::object_damaged);
    EXPECT_FALSE(linked.error().hint.empty());
  };
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{3}, std::size_t{20}, std::size_t{63}, whole.size() / 2, whole.size() - 64})
    refused(Object(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)));
  Object zeroed = whole;
  std::fill_n(zeroed.begin(), 16, std::byte{0});
  refused(zeroed);
}

TEST(Linker, RefusesAnObjectOfOtherKernels) {
  const Object object = *compile(numbered(7), target::host());
  lane::Module other = numbered(7);
  other.kernels[0].name = "another";
  const auto linked = load(object, other);
  ASSERT_FALSE(linked.ok());
  EXPECT_EQ(linked.error().code, Code::object_damaged);
  EXPECT_NE(linked.error().message.find(kernel_symbol(other, 0)), std::string::npos) << linked.error().text();
}

}  // namespace
}  // namespace lanefold::jit
