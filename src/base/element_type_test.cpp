#include "base/element_type.h"

#include <gtest/gtest.h>

#include "base/diagnostic.h"

namespace lanefold {
namespace {

constexpr ElementType kAll[] = {ElementType::boolean, ElementType::i8,  ElementType::i32,  ElementType::i64,
                                ElementType::f32,     ElementType::f16, ElementType::bf16, ElementType::e4m3,
                                ElementType::e5m2,    ElementType::f64};

TEST(ElementType, NamesRoundTrip) {
  for (const ElementType type : kAll) EXPECT_EQ(element_from_name(element_name(type)), type);
  EXPECT_EQ(element_name(ElementType::bf16), "bf16");
  EXPECT_EQ(element_name(ElementType::boolean), "bool");
  EXPECT_EQ(element_from_name("float"), std::nullopt);
  EXPECT_EQ(element_from_name(""), std::nullopt);
}

TEST(ElementType, Facts) {
  EXPECT_EQ(element_bytes(ElementType::boolean), 1u);
  EXPECT_EQ(element_bytes(ElementType::e5m2), 1u);
  EXPECT_EQ(element_bytes(ElementType::f16), 2u);
  EXPECT_EQ(element_bytes(ElementType::i32), 4u);
  EXPECT_EQ(element_bytes(ElementType::i64), 8u);
  EXPECT_FALSE(is_float(ElementType::i8));
  EXPECT_TRUE(is_float(ElementType::e4m3));
  EXPECT_EQ(register_type(ElementType::bf16), ElementType::f32);
  EXPECT_EQ(register_type(ElementType::i8), ElementType::i32);
  EXPECT_EQ(register_type(ElementType::i64), ElementType::i64);
  EXPECT_EQ(register_type(ElementType::boolean), ElementType::boolean);
  EXPECT_THROW(element_bytes(static_cast<ElementType>(99)), InternalError);
}

}  // namespace
}  // namespace lanefold
