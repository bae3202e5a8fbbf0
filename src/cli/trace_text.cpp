#include "cli/trace_text.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace lanefold::cli {
namespace {

constexpr std::size_t kLanesPerLine = 8;
constexpr std::size_t kCell = 11;   ///< characters of a lane, with the space before it
constexpr std::size_t kNumber = 5;  ///< of a step's number
constexpr std::size_t kName = 7;    ///< of a value's name
constexpr std::size_t kPageWidth = 120;

std::string pad_left(const std::string& text, std::size_t characters, std::size_t wanted) {
  return std::string(wanted > characters ? wanted - characters : 0, ' ') + text;
}

/// Characters of UTF-8 text.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string right(const std::string& text, std::size_t wanted) { return pad_left(text, width(text), wanted); }
std::string left(const std::string& text, std::size_t wanted) {
  const std::size_t characters = width(text);
  return text + std::string(wanted > characters ? wanted - characters : 0, ' ');
}

std::string word_text(machine::Word word, ElementType type) {
  switch (type) {
    case ElementType::boolean: return word != 0 ? "true" : "false";
    case ElementType::f32: return fmt::format("{:.4g}", std::bit_cast<float>(static_cast<std::uint32_t>(word)));
    case ElementType::i32: return fmt::format("{}", static_cast<std::int32_t>(word));
    default: return fmt::format("{}", static_cast<std::int64_t>(word));
  }
}

/// Leaves room for the cells: wider pages where there are few lanes.
std::size_t statement_width(std::size_t lanes) {
  const std::size_t cells = std::min(lanes, kLanesPerLine) * kCell;
  return kPageWidth - kNumber - 2 - 1 - kName - cells;
}

/// Lines of one page: a number, a statement, a value's name, cells.
class Page {
 public:
  explicit Page(std::size_t lanes) : statement_(statement_width(lanes)) {}

  /// The statement has a line of its own where it is too long, or where nothing follows it.
  void line(const std::string& number, const std::string& statement, const std::string& name,
            const std::vector<std::string>& cells) {
    const std::string start = right(number, kNumber) + "  ";
    if (cells.empty()) return put(start + statement);
    std::string rest = start + left(statement, statement_);
    if (width(statement) > statement_) {
      put(start + statement);
      rest = std::string(kNumber + 2 + statement_, ' ');
    }
    for (std::size_t first = 0; first < cells.size(); first += kLanesPerLine) {
      std::string text = rest + " " + right(first == 0 ? name : fmt::format("+{}", first), kName);
      for (std::size_t i = first; i < std::min(first + kLanesPerLine, cells.size()); ++i)
        text += " " + right(cells[i], kCell - 1);
      put(std::move(text));
      rest.assign(kNumber + 2 + statement_, ' ');
    }
  }
  void blank() { text_ += '\n'; }
  std::string take() { return std::move(text_); }

 private:
  void put(std::string line) {
    line.erase(line.find_last_not_of(' ') + 1);
    text_ += line + '\n';
  }

  std::size_t statement_;
  std::string text_;
};

}  // namespace

void Trace::add(const machine::TraceStep& step) {
  ++all_;
  if (steps_.size() >= most_) return;
  const lane::Statement& s = *step.statement;
  Step taken{step.threadgroup, step.group, step.kernel->name, lane::statement_text(module_, *step.kernel, s),
             s.comment,        {}};
  // The text of a constant says its value already.
  const std::size_t count = s.op == lane::Op::constant ? 0 : step.values.size();
  for (std::size_t v = 0; v < count; ++v) {
    const machine::LaneVector& lanes = step.values[v];
    Value value{fmt::format("%{}", s.results != 0 ? s.result + static_cast<lane::ValueId>(v) : s.operands[v]),
                std::string(element_name(step.types[v])),
                {}};
    for (std::uint32_t lane = 0; lane < step.kernel->simd_width; ++lane) {
      const bool active = (step.mask >> lane & 1) != 0, poison = (lanes.poison >> lane & 1) != 0;
      value.cells.push_back(!active ? "·" : poison ? "?" : word_text(lanes.words[lane], step.types[v]));
    }
    taken.values.push_back(std::move(value));
  }
  steps_.push_back(std::move(taken));
}

std::string Trace::text() const {
  std::size_t lanes = 1;
  for (const Step& step : steps_)
    for (const Value& value : step.values) lanes = std::max(lanes, value.cells.size());
  Page page(lanes);
  std::vector<std::string> numbers;
  for (std::size_t lane = 0; lane < lanes; ++lane) numbers.push_back(std::to_string(lane));
  const Step* before = nullptr;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    if (!before || before->threadgroup != step.threadgroup || before->group != step.group ||
        before->kernel != step.kernel) {
      if (before) page.blank();
      page.line("", fmt::format("{}: threadgroup {}, SIMD group {}", step.kernel, step.threadgroup, step.group), "",
                {});
      page.line("step", "statement", "lane", numbers);
    }
    before = &step;
    if (!step.comment.empty()) page.line("", "# " + step.comment, "", {});
    const std::string number = std::to_string(i + 1);
    if (step.values.empty()) page.line(number, step.statement, "", {});
    for (std::size_t v = 0; v < step.values.size(); ++v)
      page.line(v == 0 ? number : "", v == 0 ? step.statement : "", step.values[v].name, step.values[v].cells);
  }
  if (all_ > steps_.size()) {
    page.blank();
    page.line("", fmt::format("{} of {} steps are shown; --trace-steps N shows more", steps_.size(), all_), "", {});
  }
  return page.take();
}

nlohmann::json Trace::json() const {
  nlohmann::json steps = nlohmann::json::array();
  for (const Step& step : steps_) {
    nlohmann::json values = nlohmann::json::array();
    for (const Value& value : step.values)
      values.push_back({{"name", value.name}, {"type", value.type}, {"lanes", value.cells}});
    steps.push_back({{"kernel", step.kernel},
                     {"threadgroup", step.threadgroup},
                     {"simd_group", step.group},
                     {"statement", step.statement},
                     {"comment", step.comment},
                     {"values", values}});
  }
  return {{"steps", steps}, {"executed", all_}};
}

}  // namespace lanefold::cli
