// Special values for tests: NaNs of any sign and payload, infinities, signed zeros and subnormals, in every storage; and
// a call in every order on every device.
#pragma once

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/narrow.h"
#include "conformance/trial.h"

namespace lanefold::testing {

inline constexpr float kInf = std::numeric_limits<float>::infinity();

inline std::uint32_t nan_pattern(ElementType type) {
  switch (type) {
    case ElementType::f16: return kNanF16;
    case ElementType::bf16: return kNanBf16;
    case ElementType::e4m3:
    case ElementType::e5m2: return kNanFp8;
    default: return kNanF32;
  }
}

/// NaNs of a type: quiet and signalling, both signs, several payloads; e4m3 has two.
inline std::vector<std::uint32_t> nans(ElementType type) {
  switch (type) {
    case ElementType::f16: return {0x7e00, 0xfe00, 0x7c01, 0xfc01, 0x7fff, 0xffff, 0x7d23};
    case ElementType::bf16: return {0x7fc0, 0xffc0, 0x7f81, 0xff81, 0x7fff, 0xffff, 0x7fa5};
    case ElementType::e4m3: return {0x7f, 0xff, 0x7f, 0xff, 0x7f};
    case ElementType::e5m2: return {0x7d, 0xfd, 0x7e, 0xfe, 0x7f, 0xff};
    default: return {0x7fc00000, 0xffc00000, 0x7f800001, 0xff800001, 0x7fffffff, 0xffffffff, 0x7fa12345, 0xffd54321};
  }
}

inline std::uint32_t sign_bit(ElementType type) { return 1u << (8 * element_bytes(type) - 1); }

/// The least subnormal of a type is 2 to minus this.
inline int least_exponent(ElementType type) {
  switch (type) {
    case ElementType::f16: return 24;
    case ElementType::bf16: return 133;
    case ElementType::e4m3: return 9;
    case ElementType::e5m2: return 16;
    default: return 149;
  }
}

inline bool is_fp8(ElementType type) { return type == ElementType::e4m3 || type == ElementType::e5m2; }

/// What a store of +inf writes.
inline double stored_infinity(ElementType type) {
  return type == ElementType::e4m3 ? 448 : type == ElementType::e5m2 ? 57344 : static_cast<double>(kInf);
}

/// Fills input i; an infinity stays one where the storage has it. (Stores to e5m2 saturate, but an input may hold one.)
template <class Function>
void fill_with_infinities(Trial& trial, std::size_t i, Function&& value) {
  trial.fill(i, value);
  if (trial.inputs[i].type != ElementType::e5m2) return;
  for (std::int64_t r = 0; r < trial.inputs[i].rows; ++r)
    for (std::int64_t c = 0; c < trial.inputs[i].cols; ++c)
      if (std::isinf(value(r, c))) trial.set_bits(i, r, c, value(r, c) > 0 ? 0x7c : 0xfc);
}

/// Runs the call on every device in the orders, expects the exact bytes, and has `look` judge them.
template <class Look>
void everywhere(Trial& trial, Look&& look,
                std::initializer_list<ir::Order> orders = {ir::Order::canonical, ir::Order::serial}) {
  for (const std::string& device : available_devices())
    for (const ir::Order order : orders) {
      SCOPED_TRACE(device + ' ' + std::string(ir::order_name(order)) + ' ' + trial.program().name + ' ' +
                   std::string(element_name(trial.inputs[0].type)));
      const Status status = trial.run(on_device(device, order));
      ASSERT_TRUE(status.ok()) << status.error().text();
      EXPECT_EQ(difference(trial.program(), trial.output_bytes(), trial.exact(order)), "");
      look();
    }
}

}  // namespace lanefold::testing
