// For tests of what the lane machine checks: a kernel as text for any SIMD width, its buffers, and what a run finds.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lane/verify.h"
#include "machine/machine.h"

namespace lanefold::machine {

inline constexpr std::uint32_t kWidths[] = {4, 8, 16, 32, 64};
inline constexpr std::uint64_t kSeeds = 20;

/// A kernel k in parts. In every part $W stands for the SIMD width, $H for half of it, $B for its bits, $G for the
/// number of SIMD groups and $T for the threads of a threadgroup. The body comes behind 14 statements, so that its own
/// first one is k:15, and its values count from %20. They define
///   i32: %0 lane, %1 SIMD group, %2 the width, %4 thread = %1 · %2 + %0, %6 zero, %7 one;
///   i64: %5 thread, %10 threadgroup, %11 zero, %13 lane;  f32: %12 one;
///   boolean: %8 whether the lane is 0, %9 whether the thread is 0.
struct KernelText {
  std::string body;
  std::string declarations = "buffer y: i32[$T] role output\n";
  std::uint32_t groups = 2;
  std::string launch = "threadgroups 1";
  std::string functions = "";
};

inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

inline std::string at_width(std::string text, std::uint32_t width, std::uint32_t groups) {
  text = replaced(text, "$W", std::to_string(width));
  text = replaced(text, "$H", std::to_string(width / 2));
  text = replaced(text, "$B", std::to_string(std::countr_zero(width)));
  text = replaced(text, "$G", std::to_string(groups));
  return replaced(text, "$T", std::to_string(width * groups));
}

inline std::string whole_text(const KernelText& kernel, std::uint32_t width) {
  return at_width("module m\n" + kernel.functions + "kernel k simd_width $W simd_groups $G " + kernel.launch + "\n" +
                      kernel.declarations +
                      "body\n%0 = lane\n%1 = simd_group\n%2 = constant i32 "
                      "$W\n%3 = mul %1, %2\n%4 = add %3, %0\n"
                      "%5 = convert %4 to i64\n%6 = constant i32 0\n%7 = "
                      "constant i32 1\n%8 = eq %0, %6\n%9 = eq %4, %6\n"
                      "%10 = threadgroup\n%11 = constant i64 0\n%12 = constant "
                      "f32 1\n%13 = convert %0 to i64\n" +
                      kernel.body,
                  width, kernel.groups);
}

/// A module whose buffers have shapes of fixed lengths, and memory for them: inputs hold their elements' positions.
class Bench {
 public:
  explicit Bench(const std::string& text) : module_(parsed(text)) {
    for (const lane::Kernel& kernel : module_.kernels)
      for (const lane::Argument& a : kernel.arguments) {
        if (!a.buffer || a.memory_of || find(a.name) != nullptr) continue;
        std::int64_t count = 1;
        for (const lane::Dimension& axis : a.shape) count *= lane::extent(axis, 0, 0);
        bytes_.push_back(
            std::make_unique<std::vector<std::byte>>(element_bytes(a.type) * static_cast<std::size_t>(count)));
        buffers_.push_back({a.name, a.role, View{bytes_.back()->data(), a.type, 1, count, count, 1}});
        for (std::int64_t i = 0; a.role != lane::Role::output && i < count; ++i) put(buffers_.back().view, i);
      }
  }

  const lane::Module& module() const { return module_; }
  Buffer* find(const std::string& name) {
    const auto found = std::find_if(buffers_.begin(), buffers_.end(), [&](const Buffer& b) { return b.name == name; });
    return found == buffers_.end() ? nullptr : &*found;
  }
  template <class T>
  T value(const std::string& name, std::int64_t element) {
    T out;
    std::memcpy(&out, find(name)->view.at(0, element), sizeof out);
    return out;
  }

  /// Launches all kernels; counts are those of all launches. Where nothing else is wrong, outputs that are not whole
  /// are.
  Report run(std::uint64_t seed = 0) {
    GlobalMemory memory(module_, buffers_);
    Report all;
    for (const lane::Kernel& kernel : module_.kernels) {
      std::vector<lane::ArgumentWord> words(kernel.arguments.size());
      for (std::size_t i = 0; i < words.size(); ++i) words[i].integer = 0;
      Report one = machine::run(module_, kernel, words, 0, 0, memory, {.seed = seed});
      all.counts.add(one.counts);
      all.findings.insert(all.findings.end(), one.findings.begin(), one.findings.end());
    }
    if (all.findings.empty()) all.findings = unwritten_outputs(memory);
    return all;
  }

 private:
  static lane::Module parsed(const std::string& text) {
    Result<lane::Module> module = lane::parse(text);
    if (!module.ok()) internal_error(module.error().text() + "\n" + text);
    return std::move(module).value();
  }
  static void put(const View& view, std::int64_t i) {
    const auto real = static_cast<float>(i);
    std::byte* at = view.at(0, i);
    if (view.type == ElementType::f32) {
      std::memcpy(at, &real, sizeof real);
    } else {
      std::memcpy(at, &i, element_bytes(view.type));  // little-endian
    }
  }

  lane::Module module_;
  std::vector<std::unique_ptr<std::vector<std::byte>>> bytes_;
  std::vector<Buffer> buffers_;
};

inline std::string findings_text(const std::vector<Diagnostic>& findings) {
  std::string text;
  for (const Diagnostic& finding : findings) text += finding.text() + "\n";
  return text;
}

/// What a faulty kernel must be told.
struct Expected {
  Code code;
  /// Where the findings stand. More than one: which of two racing statements comes second depends on the seed, and
  /// each of them may.
  std::set<std::string> places;
  /// What each text has in it; $W and the others as above.
  std::vector<std::string> says = {};
};

/// At every width and seed: findings of this code at these places only, each place once.
inline void expect_caught(const KernelText& kernel, const Expected& expected) {
  for (const std::uint32_t width : kWidths)
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      SCOPED_TRACE("SIMD width " + std::to_string(width) + ", seed " + std::to_string(seed));
      const std::vector<Diagnostic> findings = Bench(whole_text(kernel, width)).run(seed).findings;
      ASSERT_FALSE(findings.empty()) << whole_text(kernel, width);
      std::set<std::string> places;
      for (const Diagnostic& finding : findings) {
        ASSERT_EQ(code_name(finding.code), code_name(expected.code)) << findings_text(findings);
        ASSERT_TRUE(expected.places.contains(finding.place)) << findings_text(findings);
        ASSERT_TRUE(places.insert(finding.place).second) << "said twice:\n" << findings_text(findings);
        ASSERT_FALSE(finding.hint.empty());
        for (const std::string& part : expected.says)
          ASSERT_NE(finding.text().find(at_width(part, width, kernel.groups)), std::string::npos)
              << "no " << at_width(part, width, kernel.groups) << " in " << finding.text();
      }
    }
}

/// At every width and seed: nothing is found.
inline void expect_clean(const KernelText& kernel) {
  for (const std::uint32_t width : kWidths)
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      const std::vector<Diagnostic> findings = Bench(whole_text(kernel, width)).run(seed).findings;
      ASSERT_TRUE(findings.empty()) << "SIMD width " << width << ", seed " << seed << '\n'
                                    << findings_text(findings) << whole_text(kernel, width);
    }
}

/// Both, of a body with a mark @ where `mend` belongs: without it the kernel is faulty, with it it is right.
inline void expect_mended_by(KernelText kernel, const std::string& mend, const Expected& expected) {
  const std::string body = kernel.body;
  kernel.body = replaced(body, "@", "");
  expect_caught(kernel, expected);
  kernel.body = replaced(body, "@", mend + "\n");
  expect_clean(kernel);
}

}  // namespace lanefold::machine
