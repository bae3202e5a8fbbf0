// Any text either is refused with a diagnostic, or prints as a text that reads back and prints alike.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "ir/lexer.h"
#include "ir/program.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using lanefold::ir::Program;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const lanefold::Result<Program> program = lanefold::ir::parse(text);
  if (!program) return 0;
  const std::string once = lanefold::ir::print(*program);
  // Long sums are cut into named parts, which can take a text beyond what is read.
  if (once.size() > lanefold::ir::kMaxTextBytes) return 0;
  const lanefold::Result<Program> again = lanefold::ir::parse(once);
  if (!again) {
    std::fprintf(stderr, "printed text is refused: %s\n%s", again.error().text().c_str(), once.c_str());
    std::abort();
  }
  const std::string twice = lanefold::ir::print(*again);
  if (twice != once) {
    std::fprintf(stderr, "printed text changes:\n%s\nbecomes\n%s", once.c_str(), twice.c_str());
    std::abort();
  }
  return 0;
}
