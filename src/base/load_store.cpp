#include "base/load_store.h"

#include <cstring>
#include <string>

#include "base/diagnostic.h"
#include "base/narrow.h"

namespace lanefold {
namespace {

// memcpy, for elements may lie at any address.
template <class T>
T read_as(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

template <class T>
void write_as(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

[[noreturn]] void wrong_type(const char* what, ElementType type) {
  internal_error(std::string(what) + " of element type " + std::string(element_name(type)));
}

}  // namespace

double load_element_f64(const std::byte* at, ElementType type) {
  if (type == ElementType::f64) return read_as<double>(at);
  if (is_float(type)) return load_element_f32(at, type);
  return static_cast<double>(load_element_integer(at, type));
}

float load_element_f32(const std::byte* at, ElementType type) {
  switch (type) {
    case ElementType::f32: return read_as<float>(at);
    case ElementType::f16: return widen_f16(read_as<std::uint16_t>(at));
    case ElementType::bf16: return widen_bf16(read_as<std::uint16_t>(at));
    case ElementType::e4m3: return widen_e4m3(read_as<std::uint8_t>(at));
    case ElementType::e5m2: return widen_e5m2(read_as<std::uint8_t>(at));
    case ElementType::f64: return static_cast<float>(read_as<double>(at));
    case ElementType::boolean:
    case ElementType::i8:
    case ElementType::i32:
    case ElementType::i64: return static_cast<float>(load_element_integer(at, type));
  }
  internal_error("load_element_f32 of an unknown element type");
}

std::int64_t load_element_integer(const std::byte* at, ElementType type) {
  switch (type) {
    case ElementType::boolean: return read_as<std::uint8_t>(at) != 0 ? 1 : 0;
    case ElementType::i8: return read_as<std::int8_t>(at);
    case ElementType::i32: return read_as<std::int32_t>(at);
    case ElementType::i64: return read_as<std::int64_t>(at);
    default: wrong_type("load_element_integer", type);
  }
}

void store_element(std::byte* at, ElementType type, float value) {
  switch (type) {
    case ElementType::f32: return write_as(at, canonical_nan(value));
    case ElementType::f16: return write_as(at, narrow_f16(value));
    case ElementType::bf16: return write_as(at, narrow_bf16(value));
    case ElementType::e4m3: return write_as(at, narrow_e4m3(value));
    case ElementType::e5m2: return write_as(at, narrow_e5m2(value));
    case ElementType::f64: return write_as(at, static_cast<double>(canonical_nan(value)));
    default: wrong_type("store_element", type);
  }
}

void store_integer(std::byte* at, ElementType type, std::int64_t value) {
  switch (type) {
    case ElementType::boolean: return write_as(at, static_cast<std::uint8_t>(value != 0));
    case ElementType::i8: return write_as(at, static_cast<std::int8_t>(value));
    case ElementType::i32: return write_as(at, static_cast<std::int32_t>(value));
    case ElementType::i64: return write_as(at, value);
    default: wrong_type("store_integer", type);
  }
}

}  // namespace lanefold
