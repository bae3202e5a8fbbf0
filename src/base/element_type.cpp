#include "base/element_type.h"

#include <array>

#include "base/diagnostic.h"

namespace lanefold {
namespace {

struct TypeEntry {
  ElementType type;
  std::string_view name;
  std::size_t bytes;
  bool is_float;
  ElementType register_type;
};

// Indexed by ElementType.
constexpr std::array kTypes = {
    TypeEntry{ElementType::boolean, "bool", 1, false, ElementType::boolean},
    TypeEntry{ElementType::i8, "i8", 1, false, ElementType::i32},
    TypeEntry{ElementType::i32, "i32", 4, false, ElementType::i32},
    TypeEntry{ElementType::i64, "i64", 8, false, ElementType::i64},
    TypeEntry{ElementType::f32, "f32", 4, true, ElementType::f32},
    TypeEntry{ElementType::f16, "f16", 2, true, ElementType::f32},
    TypeEntry{ElementType::bf16, "bf16", 2, true, ElementType::f32},
    TypeEntry{ElementType::e4m3, "e4m3", 1, true, ElementType::f32},
    TypeEntry{ElementType::e5m2, "e5m2", 1, true, ElementType::f32},
    TypeEntry{ElementType::f64, "f64", 8, true, ElementType::f64},
};

constexpr bool in_enum_order() {
  for (std::size_t i = 0; i < kTypes.size(); ++i) {
    if (static_cast<std::size_t>(kTypes[i].type) != i) return false;
  }
  return true;
}
static_assert(in_enum_order());

const TypeEntry& entry(ElementType type) {
  const auto index = static_cast<std::size_t>(type);
  if (index >= kTypes.size()) internal_error("no element type has index " + std::to_string(index));
  return kTypes[index];
}

}  // namespace

std::size_t element_bytes(ElementType type) { return entry(type).bytes; }
std::string_view element_name(ElementType type) { return entry(type).name; }
bool is_float(ElementType type) { return entry(type).is_float; }
ElementType register_type(ElementType type) { return entry(type).register_type; }

std::optional<ElementType> element_from_name(std::string_view name) {
  for (const TypeEntry& e : kTypes) {
    if (e.name == name) return e.type;
  }
  return std::nullopt;
}

}  // namespace lanefold
