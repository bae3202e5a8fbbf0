// Loads and stores of a SIMD group.
#include <fmt/format.h>

#include <bit>

#include "machine/group.h"

namespace lanefold::machine {

using lane::Statement;

void Group::require_aligned(const Statement& s, std::int64_t address) const {
  // A power of two, so that the test is right for negative addresses too.
  if ((static_cast<std::uint64_t>(address) & (s.alignment - 1)) == 0) return;
  throw Fault{Code::machine_misaligned,
              fmt::format("element {} of {} is not at a multiple of {}", address,
                          threadgroup_.kernel.arguments[s.a].name, s.alignment),
              "promise a smaller alignment"};
}

std::byte* Group::element(const Statement& s, std::int64_t address) const {
  const auto bytes = static_cast<std::int64_t>(element_bytes(threadgroup_.kernel.arguments[s.a].type));
  return static_cast<std::byte*>(threadgroup_.arguments[s.a].pointer) + address * bytes;
}

void Group::load(const Statement& s) {
  require_known(s, 0, "address");
  const ElementType type = threadgroup_.kernel.arguments[s.a].type;
  const Word* addresses = frame_.value(s.operands[0]);
  each_lane(mask_, width_, [&](std::uint32_t lane) {
    const auto address = from_word<std::int64_t>(addresses[lane]);
    require_aligned(s, address);
    for (std::uint32_t i = 0; i < s.count; ++i) {
      frame_.value(s.result + i)[lane] = load_word(element(s, address + i), type);
    }
  });
  for (std::uint32_t i = 0; i < s.count; ++i) define_poison(s.result + i, 0);
}

void Group::store(const Statement& s) {
  require_known(s, 0, "address");
  const lane::Argument& buffer = threadgroup_.kernel.arguments[s.a];
  for (std::uint32_t i = 0; i < s.count; ++i) {
    const LaneMask bad = frame_.poison[s.operands[i + 1]] & mask_;
    if (bad == 0) continue;
    throw Fault{Code::machine_poison_stored,
                fmt::format("%{}, unwritten in lane {}, is stored to {}", s.operands[i + 1], std::countr_zero(bad),
                            buffer.name),
                "write every element and register before it is read"};
  }
  const Word* addresses = frame_.value(s.operands[0]);
  each_lane(mask_, width_, [&](std::uint32_t lane) {
    const auto address = from_word<std::int64_t>(addresses[lane]);
    require_aligned(s, address);
    for (std::uint32_t i = 0; i < s.count; ++i) {
      store_word(element(s, address + i), buffer.type, frame_.value(s.operands[i + 1])[lane]);
    }
  });
}

std::int32_t Group::shared_index(const Statement& s, std::uint32_t lane) {
  const auto index = from_word<std::int32_t>(frame_.value(s.operands[0])[lane]);
  if (threadgroup_.shared.inside(s.a, index)) return index;
  const lane::SharedArray& array = threadgroup_.kernel.shared[s.a];
  throw Fault{Code::machine_shared_bounds,
              fmt::format("index {} of {}[{}] in lane {}", index, array.name, array.size, lane),
              "make the array larger or guard the access"};
}

void Group::shared_load(const Statement& s) {
  require_known(s, 0, "index");
  LaneMask poison = 0;
  Word* out = frame_.value(s.result);
  each_lane(mask_, width_, [&](std::uint32_t lane) {
    const std::int32_t index = shared_index(s, lane);
    out[lane] = threadgroup_.shared.load(s.a, index);
    poison |= LaneMask{threadgroup_.shared.poison(s.a, index)} << lane;
  });
  define_poison(s.result, poison);
}

void Group::shared_store(const Statement& s) {
  require_known(s, 0, "index");
  const Word* in = frame_.value(s.operands[1]);
  const LaneMask poison = frame_.poison[s.operands[1]];
  each_lane(mask_, width_, [&](std::uint32_t lane) {
    threadgroup_.shared.store(s.a, shared_index(s, lane), in[lane], (poison >> lane & 1) != 0);
  });
}

}  // namespace lanefold::machine
