// The text form of lane modules, read: modules, functions and kernels.
#include <fmt/format.h>

#include "lane/roles.h"
#include "lane/text_parser.h"
#include "lane/typing.h"
#include "lane/verify.h"

namespace lanefold::lane {

bool TextParser::next_line() {
  comment_.reset();
  while (!text_.empty()) {
    const std::size_t end = text_.find('\n');
    const std::string_view line = text_.substr(0, end);
    text_.remove_prefix(end == std::string_view::npos ? text_.size() : end + 1);
    cursor_.emplace(line, file_, ++line_number_);
    if (!cursor_->at_end()) return true;
    const std::size_t mark = line.find('#');
    if (mark == std::string_view::npos) continue;
    std::string_view words = line.substr(mark + 1);
    if (words.starts_with(' ')) words.remove_prefix(1);
    comment_ = comment_ ? fmt::format("{}\n{}", *comment_, words) : std::string(words);
  }
  cursor_.emplace(std::string_view(), file_, line_number_ + 1);
  return false;
}

Module TextParser::run() {
  if (!next_line()) cursor().fail(Code::lane_syntax, "the text is empty", "begin with \"module NAME\"");
  cursor().keyword("module");
  module_.name = cursor().word("the module's name");
  cursor().expect_end();
  next_line();
  while (!cursor().at_end()) {
    const std::string_view word = cursor().word("function or kernel");
    if (word == "function") {
      parse_function();
    } else if (word == "kernel") {
      parse_kernel();
    } else {
      cursor().fail(Code::lane_syntax, fmt::format("expected function or kernel and found {}", word),
                    "statements stand in a function or in the body of a kernel");
    }
  }
  return std::move(module_);
}

void TextParser::parse_function() {
  Function f;
  f.name = cursor().word("the function's name");
  types_ = &f.types;
  defined_.clear();
  kernel_ = nullptr;
  cursor().expect("(");
  while (!cursor().eat(")")) {
    if (!f.parameters.empty()) cursor().expect(",");
    if (cursor().value() != f.parameters.size()) {
      cursor().fail(Code::lane_result_numbering, "parameters count from %0",
                    fmt::format("write %{}", f.parameters.size()));
    }
    cursor().expect(":");
    f.parameters.push_back(cursor().type());
    f.types.push_back(f.parameters.back());
    defined_.push_back(true);
  }
  std::vector<ElementType> promised;
  if (cursor().eat("->")) {
    do promised.push_back(cursor().type());
    while (cursor().eat(","));
  }
  cursor().expect_end();
  next_line();
  parse_block(f.body, 0);
  cursor().keyword("return");
  while (!cursor().at_end()) {
    if (!f.returns.empty()) cursor().expect(",");
    f.returns.push_back(operand());
  }
  std::vector<ElementType> returned;
  for (const ValueId v : f.returns) returned.push_back(f.types[v]);
  if (returned != promised) {
    cursor().fail(Code::lane_type_mismatch,
                  fmt::format("{} does not return the types that its first line says", f.name),
                  "change the types after ->");
  }
  next_line();
  module_.functions.push_back(std::move(f));
}

void TextParser::parse_kernel() {
  Kernel k;
  k.name = cursor().word("the kernel's name");
  cursor().keyword("simd_width");
  k.simd_width = cursor().number("the SIMD width");
  cursor().keyword("simd_groups");
  k.simd_groups = cursor().number("the number of SIMD groups");
  parse_launch(k);
  cursor().expect_end();
  next_line();
  while (parse_declaration(k)) {
  }
  types_ = &k.types;
  defined_.clear();
  kernel_ = &k;
  parse_block(k.body, 0);
  kernel_ = nullptr;
  module_.kernels.push_back(std::move(k));
}

void TextParser::parse_launch(Kernel& k) {
  if (cursor().peek_word() == "threadgroups") {
    cursor().keyword("threadgroups");
    k.threadgroups = cursor().number("the number of threadgroups");
    if (k.threadgroups == 0) cursor().fail(Code::lane_kernel_limits, "a launch of no threadgroups", "launch 1 or more");
  } else {
    cursor().keyword("rows_per_threadgroup");
    k.rows_per_threadgroup = cursor().number("the number of rows");
  }
  if (cursor().peek_word() == "cols_per_threadgroup") {
    cursor().keyword("cols_per_threadgroup");
    k.cols_per_threadgroup = cursor().number("the number of columns");
  }
  if (cursor().peek_word() == "threadgroups_per_row") {
    cursor().keyword("threadgroups_per_row");
    k.threadgroups_per_row = cursor().number("the number of threadgroups");
  }
  if (cursor().peek_word() == "cluster") {
    cursor().keyword("cluster");
    k.cluster = cursor().number("the number of threadgroups in a cluster");
  }
  if (cursor().peek_word() == "programmatic_launch") {
    cursor().keyword("programmatic_launch");
    k.programmatic_launch = true;
  }
}

void TextParser::parse_shape(Argument& argument) {
  cursor().expect("[");
  do {
    Dimension d;
    const std::string_view word = cursor().peek_word();
    if (word == "rows" || word == "cols") {
      cursor().keyword(word);
      d.of = word == "rows" ? Dimension::Of::rows : Dimension::Of::cols;
      if (cursor().eat("/")) d.amount = cursor().number("a divisor");
    } else {
      d.amount = cursor().number("rows, cols or a length");
    }
    argument.shape.push_back(d);
  } while (cursor().eat(","));
  cursor().expect("]");
}

bool TextParser::parse_declaration(Kernel& k) {
  const std::string_view word = cursor().word("buffer, scalar, shared, register or body");
  bool more = true;
  if (word == "buffer" || word == "scalar") {
    parse_argument(k, word == "buffer");
  } else if (word == "shared" || word == "register") {
    const std::string name(cursor().word("the array's name"));
    cursor().expect(":");
    const ElementType type = cursor().type();
    cursor().expect("[");
    const std::uint32_t size = cursor().number("the array's size");
    cursor().expect("]");
    if (word == "shared") {
      k.shared.push_back({name, type, size});
    } else {
      k.registers.push_back({name, type, size});
    }
  } else if (word == "body") {
    more = false;
  } else {
    cursor().fail(Code::lane_syntax,
                  fmt::format("expected buffer, scalar, shared, register or body and found {}", word), "");
  }
  cursor().expect_end();
  next_line();
  return more;
}

void TextParser::parse_argument(Kernel& k, bool buffer) {
  Argument argument;
  argument.buffer = buffer;
  argument.name = cursor().word("the argument's name");
  cursor().expect(":");
  argument.type = cursor().type();
  if (buffer && cursor().peek() == '[') parse_shape(argument);
  if (buffer && cursor().peek_word() == "of") {
    cursor().keyword("of");
    argument.memory_of = find(k.arguments, "argument");
  }
  if (cursor().peek_word() == "role") {
    cursor().keyword("role");
    const std::string_view name = cursor().word("a role");
    const std::optional<Role> role = role_from_name(name);
    if (!role)
      cursor().fail(Code::lane_unknown_word, fmt::format("there is no role {}", name),
                    "use input, output, rows, cols, ...");
    argument.role = *role;
    if (!cursor().at_end()) argument.index = cursor().number("the index of the role");
  }
  k.arguments.push_back(std::move(argument));
}

Result<Module> parse(std::string_view text, std::string_view file) {
  try {
    return TextParser(text, file).run();
  } catch (const TextFault& fault) {
    return fault.diagnostic;
  }
}

}  // namespace lanefold::lane
