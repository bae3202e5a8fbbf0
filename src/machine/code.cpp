#include "machine/code.h"

namespace lanefold::machine {
namespace {

using lane::Op;
using lane::Statement;

void flatten_block(const std::vector<Statement>& block, std::vector<Instruction>& code) {
  for (const Statement& s : block) {
    if (s.op == Op::branch) {
      const std::size_t begin = code.size();
      code.push_back({Step::branch, &s, 0});
      flatten_block(s.body, code);
      code[begin].target = code.size();
      const std::size_t middle = code.size();
      code.push_back({Step::otherwise, &s, 0});
      flatten_block(s.otherwise, code);
      code[middle].target = code.size();
      code.push_back({Step::join, &s, 0});
    } else if (s.op == Op::loop) {
      const std::size_t begin = code.size();
      code.push_back({Step::loop, &s, 0});
      flatten_block(s.body, code);
      code.push_back({Step::repeat, &s, begin + 1});
      code[begin].target = code.size();
    } else {
      code.push_back({Step::statement, &s, 0});
    }
  }
}

}  // namespace

std::vector<Instruction> flatten(const lane::Kernel& kernel) {
  std::vector<Instruction> code;
  flatten_block(kernel.body, code);
  code.push_back({Step::end, nullptr, 0});
  return code;
}

}  // namespace lanefold::machine
