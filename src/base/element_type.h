// Element types: how a number is stored, and the register types that arithmetic uses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace lanefold {

/// Storage and register types. Arithmetic happens in f32, i32, i64 and boolean; the others are storage only:
/// a load widens them exactly (f16, bf16, fp8 to f32; i8 to i32), a store narrows to nearest even.
enum class ElementType : std::uint8_t { boolean, i8, i32, i64, f32, f16, bf16, e4m3, e5m2, f64 };

/// Bytes of one stored element.
std::size_t element_bytes(ElementType type);
/// "f32", "bf16", ...
std::string_view element_name(ElementType type);
/// The type of that name, if there is one.
std::optional<ElementType> element_from_name(std::string_view name);
/// f32, f16, bf16, e4m3, e5m2 or f64.
bool is_float(ElementType type);
/// The register type in which a stored element is computed with: f32 for f16, bf16 and fp8, i32 for i8, else itself.
ElementType register_type(ElementType type);

}  // namespace lanefold
