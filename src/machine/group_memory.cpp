// Loads and stores of a SIMD group.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "machine/group.h"
#include "machine/memory.h"

namespace lanefold::machine {

using lane::Op;
using lane::Statement;

namespace {

constexpr const char* kWriteFirst = "write every element and register before it is read";

std::string element_text(const lane::Kernel& kernel, const Statement& s, std::int64_t address) {
  return fmt::format("{}[{}]", kernel.arguments[s.a].name, address);
}

/// Element `i` of a vector; an address at the end of the numbers wraps to one that lies in no buffer either.
std::int64_t element_address(std::int64_t address, std::uint32_t i) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(address) + i);
}

/// The byte address, which must not wrap into the buffer again: what lies farther out than any memory stays there.
std::int64_t byte_address(std::int64_t address, std::uint32_t bytes) {
  constexpr std::int64_t kFarthest = std::int64_t{1} << 59;
  return std::clamp(address, -kFarthest, kFarthest) * bytes;
}

}  // namespace

bool Group::aligned(const Statement& s, std::uint32_t lane, std::int64_t address) {
  // A power of two, so that the test is right for negative addresses too.
  if ((static_cast<std::uint64_t>(address) & (s.alignment - 1)) == 0) return true;
  finding(Code::machine_misaligned, [&] {
    return std::pair{fmt::format("{} in lane {} is not at a multiple of {} elements",
                                 element_text(launch_.kernel, s, address), lane, s.alignment),
                     std::string("promise a smaller alignment")};
  });
  return false;
}

void Group::load(const Statement& s) {
  require_known(s, 0, "address");
  const Word* addresses = frame_.value(s.operands[0]);
  for (std::uint32_t i = 0; i < s.count; ++i) define_known(s.result + i);
  each_lane(mask_, width_, [&](std::uint32_t lane) {
    const auto address = from_word<std::int64_t>(addresses[lane]);
    aligned(s, lane, address);
    for (std::uint32_t i = 0; i < s.count; ++i) load_element(s, i, lane, element_address(address, i));
  });
}

void Group::load_element(const Statement& s, std::uint32_t i, std::uint32_t lane, std::int64_t address) {
  Region& region = *launch_.regions[s.a];
  const ElementType type = launch_.kernel.arguments[s.a].type;
  const auto bytes = static_cast<std::uint32_t>(element_bytes(type));
  const std::int64_t at = byte_address(address, bytes);
  const lane::ValueId result = s.result + i;
  const LaneMask bit = LaneMask{1} << lane;
  if (!region.inside(at, bytes)) {
    frame_.poison[result] |= bit;
    return finding(Code::machine_out_of_bounds, [&] {
      return std::pair{fmt::format("load of {} in lane {} lies outside of the buffer",
                                   element_text(launch_.kernel, s, address), lane),
                       std::string("guard the access, or make the buffer larger")};
    });
  }
  if (region.tracked()) {
    Track* tracks = region.tracks(at);
    for (std::uint32_t u = 0; u < region.units(bytes); ++u)
      if (const auto earlier = tracks[u].read(access(lane)))
        race(Code::machine_global_race, s, lane, *earlier, element_text(launch_.kernel, s, address));
  }
  region.mark_read(at, bytes);
  if (!region.known(at, bytes)) {
    frame_.poison[result] |= bit;
    return;
  }
  if (Symbols* symbols = launch_.options.symbols)
    return launch_.evaluator.put(frame_, result, lane, symbols->widen(type, region.load_symbol(*symbols, at, bytes)));
  frame_.value(result)[lane] = load_word(region.data() + at, type);
}

void Group::store(const Statement& s) {
  require_closed(s);
  require_known(s, 0, "address");
  for (std::uint32_t i = 0; i < s.count; ++i) {
    const LaneMask bad = frame_.poison[s.operands[i + 1]] & mask_;
    if (bad == 0) continue;
    finding(Code::machine_poison_stored, [&] {
      const int lane = std::countr_zero(bad);
      const auto address = from_word<std::int64_t>(frame_.value(s.operands[0])[lane]);
      return std::pair{fmt::format("%{}, unwritten in lane {}, is stored to {}", s.operands[i + 1], lane,
                                   element_text(launch_.kernel, s, element_address(address, i))),
                       std::string(kWriteFirst)};
    });
  }
  const Word* addresses = frame_.value(s.operands[0]);
  each_lane(mask_, width_, [&](std::uint32_t lane) {
    const auto address = from_word<std::int64_t>(addresses[lane]);
    aligned(s, lane, address);
    for (std::uint32_t i = 0; i < s.count; ++i) store_element(s, i, lane, element_address(address, i));
  });
}

void Group::store_element(const Statement& s, std::uint32_t i, std::uint32_t lane, std::int64_t address) {
  Region& region = *launch_.regions[s.a];
  const ElementType type = launch_.kernel.arguments[s.a].type;
  const auto bytes = static_cast<std::uint32_t>(element_bytes(type));
  const std::int64_t at = byte_address(address, bytes);
  const lane::ValueId value = s.operands[i + 1];
  if (!region.inside(at, bytes))
    return finding(Code::machine_out_of_bounds, [&] {
      return std::pair{fmt::format("store to {} in lane {} lies outside of the buffer",
                                   element_text(launch_.kernel, s, address), lane),
                       std::string("guard the access, or make the buffer larger")};
    });
  bool raced = false;
  Track* tracks = region.tracks(at);
  for (std::uint32_t u = 0; u < region.units(bytes); ++u)
    if (const auto earlier = tracks[u].write(access(lane))) {
      raced = true;
      race(Code::machine_global_race, s, lane, *earlier, element_text(launch_.kernel, s, address));
    }
  if (!raced && region.buffer().role == lane::Role::output && region.written(at, bytes))
    finding(Code::machine_written_twice, [&] {
      return std::pair{fmt::format("{} is written again in lane {}", element_text(launch_.kernel, s, address), lane),
                       std::string("write each element of an output once")};
    });
  region.mark_written(at, bytes);
  const Word word = frame_.value(value)[lane];
  if (Symbols* symbols = launch_.options.symbols) {
    const bool poison = (frame_.poison[value] >> lane & 1) != 0;
    const NodeId node = launch_.evaluator.node(register_type(type), poison ? 0 : word,
                                               !poison && (frame_.symbolic[value] >> lane & 1) != 0);
    return region.store_symbol(at, bytes, symbols->narrow(type, node));
  }
  store_word(region.data() + at, type, word);
}

SharedElement* Group::shared_element(const Statement& s, std::uint32_t lane, bool peer) {
  const lane::SharedArray& array = launch_.kernel.shared[s.a];
  Threadgroup* owner = &threadgroup_;
  if (peer) {
    const auto rank = from_word<std::int32_t>(frame_.value(s.operands[0])[lane]);
    if (rank < 0 || static_cast<std::size_t>(rank) >= threadgroup_.peers.size()) {
      finding(Code::machine_shared_bounds, [&] {
        return std::pair{
            fmt::format("threadgroup {} of a cluster of {} in lane {}", rank, threadgroup_.peers.size(), lane),
            std::string("stay below the size of the cluster")};
      });
      return nullptr;
    }
    owner = threadgroup_.peers[static_cast<std::size_t>(rank)];
    if (owner != &threadgroup_) owner->peer_access = access(lane);
  }
  const auto index = from_word<std::int32_t>(frame_.value(s.operands[peer ? 1 : 0])[lane]);
  if (owner->shared.inside(s.a, index)) return &owner->shared.at(s.a, index);
  finding(Code::machine_shared_bounds, [&] {
    return std::pair{fmt::format("{} of {}[{}] in lane {}: the array ends at {}", op_name(s.op), array.name, index,
                                 lane, array.size),
                     std::string("make the array larger or guard the access")};
  });
  return nullptr;
}

void Group::shared_race(const Statement& s, std::uint32_t lane, bool peer, const Access& earlier) {
  const auto index = from_word<std::int32_t>(frame_.value(s.operands[peer ? 1 : 0])[lane]);
  const bool apart = earlier.threadgroup != threadgroup_.index;
  race(apart ? Code::machine_cluster_race : Code::machine_shared_race, s, lane, earlier,
       fmt::format("{}[{}]", launch_.kernel.shared[s.a].name, index));
}

void Group::shared_load(const Statement& s) {
  const bool peer = s.op == Op::peer_load;
  if (peer) require_known(s, 0, "rank");
  require_known(s, peer ? 1 : 0, "index");
  define_known(s.result);
  LaneMask poison = 0;
  each_lane(mask_, width_, [&](std::uint32_t lane) {
    SharedElement* element = shared_element(s, lane, peer);
    const LaneMask bit = LaneMask{1} << lane;
    if (element == nullptr) {
      poison |= bit;
      return;
    }
    if (const auto earlier = element->track.read(shared_access(lane))) shared_race(s, lane, peer, *earlier);
    frame_.value(s.result)[lane] = element->word;
    if (element->poison) poison |= bit;
    if (element->symbolic) frame_.symbolic[s.result] |= bit;
  });
  define_poison(s.result, poison);
}

void Group::keep(SharedElement& element, ElementType type, lane::ValueId value, std::uint32_t lane) {
  element.poison = (frame_.poison[value] >> lane & 1) != 0;
  element.symbolic = !element.poison && (frame_.symbolic[value] >> lane & 1) != 0;
  Word word = frame_.value(value)[lane];
  if (element.symbolic) {
    Symbols& symbols = *launch_.options.symbols;
    word = symbols.widen(type, symbols.narrow(type, static_cast<NodeId>(word)));
    if (const std::optional<Word> known = symbols.constant_bits(static_cast<NodeId>(word))) {
      word = *known;
      element.symbolic = false;
    }
  } else {
    std::array<std::byte, 8> stored;
    store_word(stored.data(), type, word);
    word = load_word(stored.data(), type);
  }
  element.word = word;
}

void Group::shared_store(const Statement& s) {
  const bool peer = s.op == Op::peer_store;
  require_closed(s);
  if (peer) require_known(s, 0, "rank");
  require_known(s, peer ? 1 : 0, "index");
  const lane::ValueId value = s.operands.back();
  const ElementType type = launch_.kernel.shared[s.a].type;
  each_lane(mask_, width_, [&](std::uint32_t lane) {
    SharedElement* element = shared_element(s, lane, peer);
    if (element == nullptr) return;
    if (const auto earlier = element->track.write(shared_access(lane))) shared_race(s, lane, peer, *earlier);
    keep(*element, type, value, lane);
  });
}

void Group::exchange(const Statement& s) {
  const std::uint32_t place = threadgroup_.rank * launch_.kernel.simd_groups + index_;
  for (std::uint32_t k = 0; k < s.operands.size(); ++k) {
    const std::uint32_t array = s.a + k;
    for (std::uint32_t rank = 0; rank < threadgroup_.peers.size(); ++rank) {
      SharedElement& element = threadgroup_.peers[rank]->shared.at(array, place);
      Access by = shared_access(rank);
      by.exchanged = true;
      if (const auto earlier = element.track.write(by)) {
        const bool apart = earlier->threadgroup != threadgroup_.index;
        race(apart ? Code::machine_cluster_race : Code::machine_shared_race, s, rank, *earlier,
             fmt::format("{}[{}] of threadgroup {}", launch_.kernel.shared[array].name, place, rank));
      }
      keep(element, launch_.kernel.shared[array].type, s.operands[k], rank);
    }
  }
}

}  // namespace lanefold::machine
