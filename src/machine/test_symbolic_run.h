// For tests of runs on symbols: a module from text, run on memory whose contents are symbols.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "machine/test_checks.h"
#include "machine/test_symbols.h"

namespace lanefold::machine {

struct MachineSymbolicRun : MachineSymbols {
  /// Runs all kernels of the text on symbols. Scalars of i64 are 3.
  std::vector<Diagnostic> go_text(const std::string& text, std::uint64_t seed = 0,
                                  std::span<const Helper> helpers = {}) {
    Bench bench(text);
    module = bench.module();
    std::vector<Buffer> buffers;
    for (const lane::Kernel& kernel : module.kernels)
      for (const lane::Argument& a : kernel.arguments)
        if (const Buffer* buffer = bench.find(a.name); buffer != nullptr && !a.memory_of)
          if (std::none_of(buffers.begin(), buffers.end(), [&](const Buffer& b) { return b.name == a.name; })) {
            buffers.push_back(*buffer);
            buffers.back().view.data = nullptr;  // contents are symbols
          }
    memory.emplace(module, buffers, true);
    std::vector<Diagnostic> findings;
    for (const lane::Kernel& kernel : module.kernels) {
      std::vector<lane::ArgumentWord> words(kernel.arguments.size());
      for (std::size_t w = 0; w < words.size(); ++w) words[w].integer = 3;
      const Report report =
          run(module, kernel, words, 0, 0, *memory, {.seed = seed, .symbols = &s, .helpers = helpers});
      findings.insert(findings.end(), report.findings.begin(), report.findings.end());
    }
    return findings;
  }
  std::vector<Diagnostic> go(const KernelText& kernel, std::uint32_t width = 4, std::uint64_t seed = 0) {
    return go_text(whole_text(kernel, width), seed);
  }
  NodeId stored(const std::string& buffer, std::int64_t element, std::uint32_t bytes = 4) {
    return memory->find(buffer)->load_symbol(s, element * bytes, bytes);
  }
  void expect(NodeId got, NodeId wanted) { EXPECT_EQ(got, wanted) << s.text(got, 6) << "\nfor " << s.text(wanted, 6); }
  void expect_refused(const KernelText& kernel, const std::string& place, const std::string& says) {
    for (const std::uint64_t seed : {0u, 1u, 2u}) {
      const std::vector<Diagnostic> findings = go(kernel, 8, seed);
      ASSERT_EQ(findings.size(), 1u) << findings_text(findings) << whole_text(kernel, 8);
      EXPECT_EQ(code_name(findings[0].code), code_name(Code::machine_depends_on_data));
      EXPECT_EQ(findings[0].place, place);
      EXPECT_NE(findings[0].message.find(says), std::string::npos) << findings[0].text();
    }
  }

  lane::Module module;
  std::optional<GlobalMemory> memory;
};

inline const std::string kTotal = "function total(%0: f32, %1: f32) -> f32\n%2 = add %0, %1\nreturn %2\n";
inline const std::string kFloats =
    "buffer x: f32[$T] role input\nbuffer y: f32[$T] "
    "role output\nregister r: f32[1]\n";

}  // namespace lanefold::machine
