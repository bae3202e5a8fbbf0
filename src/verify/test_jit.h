// Running one lane module on the lane machine and through the JIT for every target of this processor.
#pragma once

#include <bit>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/float_environment.h"
#include "jit/jit.h"
#include "lane/builder.h"
#include "machine/test_machine.h"
#include "target/target.h"

namespace lanefold::verify {

/// The CPU targets whose code this processor runs.
inline std::vector<target::Target> runnable_targets() {
  std::vector<target::Target> all;
  for (const char* name : {"cpu-sse", "cpu-avx2", "cpu-avx512"}) {
    if (target::host().name == "cpu-neon") break;
    all.push_back(*target::find(name));
    if (target::host().name == name) return all;
  }
  return {target::host()};
}

/// Memory of one argument at an address that is a multiple of 256 plus `offset` bytes, with guards on both sides.
class GuardedBytes {
 public:
  explicit GuardedBytes(std::span<const std::byte> bytes, std::size_t offset = 0)
      : memory_(bytes.size() + 1024, std::byte{0xe7}) {
    begin_ = 256 - std::bit_cast<std::uintptr_t>(memory_.data()) % 256 + 256 + offset;
    size_ = bytes.size();
    if (size_ > 0) std::memcpy(data(), bytes.data(), size_);
  }
  std::byte* data() { return memory_.data() + begin_; }
  std::vector<std::byte> content() { return {data(), data() + size_}; }
  bool guards_intact() const {
    for (std::size_t i = 0; i < memory_.size(); ++i)
      if ((i < begin_ || i >= begin_ + size_) && memory_[i] != std::byte{0xe7}) return false;
    return true;
  }

 private:
  std::vector<std::byte> memory_;
  std::size_t begin_ = 0, size_ = 0;
};

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

template <class T>
std::vector<T> values_of(const std::vector<std::byte>& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

/// Runs kernel 0, whose arguments are these buffers, on the lane machine; then on every target, which must leave the same
/// bytes. Gives the lane machine's buffers. `offset` shifts every buffer by so many bytes.
inline std::vector<std::vector<std::byte>> run_everywhere(const lane::Module& module,
                                                          const std::vector<std::vector<std::byte>>& buffers,
                                                          std::int64_t threadgroups, std::size_t offset = 0) {
  const auto faults = lane::verify(module);
  EXPECT_TRUE(faults.empty()) << (faults.empty() ? "" : faults.front().text());
  if (!faults.empty()) return {};
  const auto with_memory = [&](auto&& run) {
    std::vector<GuardedBytes> memory;
    for (const auto& buffer : buffers) memory.emplace_back(buffer, offset);
    std::vector<lane::ArgumentWord> words;
    for (GuardedBytes& m : memory) words.push_back({.pointer = m.data()});
    run(words);
    std::vector<std::vector<std::byte>> after;
    for (GuardedBytes& m : memory) {
      EXPECT_TRUE(m.guards_intact()) << "a write beyond argument " << after.size();
      after.push_back(m.content());
    }
    return after;
  };
  const auto expected = with_memory([&](std::span<const lane::ArgumentWord> words) {
    std::vector<std::int64_t> elements;
    for (std::size_t i = 0; i < buffers.size(); ++i)
      elements.push_back(std::ssize(buffers[i]) /
                         static_cast<std::int64_t>(element_bytes(module.kernels[0].arguments[i].type)));
    machine::GlobalMemory memory(module, machine::plain_buffers(module.kernels[0], words, elements));
    const machine::Report report =
        machine::run(module, module.kernels[0], words, 0, 0, memory, {.begin = 0, .end = threadgroups});
    // Here lanes may store to one place: what counts is that the JIT lets the same one win.
    for (const Diagnostic& found : report.findings)
      if (found.code != Code::machine_global_race && found.code != Code::machine_written_twice)
        ADD_FAILURE() << found.text();
  });
  for (const target::Target& target : runnable_targets()) {
    SCOPED_TRACE(target.name + ", SIMD width " + std::to_string(module.kernels[0].simd_width));
    const Result<jit::Object> object = jit::compile(module, target);
    EXPECT_TRUE(object.ok()) << (object.ok() ? "" : object.error().text());
    if (!object) continue;
    const auto linked = jit::load(*object, module);
    EXPECT_TRUE(linked.ok()) << (linked.ok() ? "" : linked.error().text());
    if (!linked) continue;
    const auto got = with_memory([&](std::span<const lane::ArgumentWord> words) {
      std::vector<std::byte> shared(lane::shared_bytes(module.kernels[0]));
      GuardedBytes scratch(shared);
      const FloatEnvironment environment;
      (*linked)->entry(0)(words.data(), 0, threadgroups, scratch.data());
      EXPECT_TRUE(scratch.guards_intact());
    });
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (got[i] == expected[i]) continue;
      std::size_t at = 0;
      while (got[i][at] == expected[i][at]) ++at;
      ADD_FAILURE() << "argument " << i << " differs from byte " << at << " of " << got[i].size()
                    << ": the lane machine has " << std::to_integer<int>(expected[i][at]) << ", the JIT "
                    << std::to_integer<int>(got[i][at]);
    }
  }
  return expected;
}

/// A module of one kernel, under construction; the body takes a builder over it.
struct KernelDraft {
  lane::Module module;

  KernelDraft(std::uint32_t simd_width, std::uint32_t simd_groups,
              const std::vector<std::pair<ElementType, lane::Role>>& buffers) {
    module.name = "m";
    lane::Kernel& kernel = module.kernels.emplace_back();
    kernel.name = "k";
    kernel.simd_width = simd_width;
    kernel.simd_groups = simd_groups;
    for (std::size_t i = 0; i < buffers.size(); ++i)
      kernel.arguments.push_back(
          {"p" + std::to_string(i), true, buffers[i].first, buffers[i].second, static_cast<std::uint32_t>(i)});
  }
  lane::Kernel& kernel() { return module.kernels[0]; }
  lane::Builder builder() { return lane::Builder(kernel().types, kernel().body); }
};

/// i64: this lane's number in the whole launch.
inline lane::ValueId global_lane(lane::Builder& b, const lane::Kernel& kernel) {
  const lane::ValueId group = b.mul(b.threadgroup(), b.i64(kernel.simd_width * kernel.simd_groups));
  lane::ValueId at = b.add(group, b.convert(b.lane(), ElementType::i64));
  if (kernel.simd_groups > 1)
    at = b.add(at, b.mul(b.convert(b.simd_group(), ElementType::i64), b.i64(kernel.simd_width)));
  return at;
}

}  // namespace lanefold::verify
