#include "cli/counts_text.h"

#include <algorithm>
#include <functional>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/report.h"

namespace lanefold::cli {
namespace {

using machine::BufferCount;
using machine::Counts;
using machine::SiteCount;
using nlohmann::json;

/// Elements that the loads or stores of one phase move: those behind one comment, at one buffer.
struct Phase {
  std::string buffer, comment;
  bool store = false;
  std::uint64_t elements = 0, bytes = 0;
};

std::vector<Phase> phases(const Counts& counts) {
  std::vector<Phase> all;
  for (const SiteCount& site : counts.sites) {
    auto found = std::find_if(all.begin(), all.end(), [&](const Phase& p) {
      return p.buffer == site.buffer && p.comment == site.comment && p.store == site.store;
    });
    if (found == all.end()) found = all.insert(all.end(), Phase{site.buffer, site.comment, site.store, 0, 0});
    found->elements += site.elements;
    found->bytes += site.bytes;
  }
  return all;
}

std::uint64_t each(std::uint64_t total, std::uint64_t parts) { return parts == 0 ? 0 : total / parts; }

double times_read(const BufferCount& buffer) {
  return buffer.distinct_reads == 0 ? 0
                                    : static_cast<double>(buffer.reads) / static_cast<double>(buffer.distinct_reads);
}

/// The lines of the table, with their indentation.
class Lines {
 public:
  explicit Lines(std::span<const CountedKernel> kernels) : kernels_(kernels), table_(head(kernels), right(kernels)) {
    for (const CountedKernel& kernel : kernels) phases_.push_back(phases(kernel.counts));
  }

  using Cell = std::function<std::optional<std::string>(const Counts&)>;

  /// A line whose cells are made from the counts; "-" where there is nothing.
  void line(const std::string& label, const Cell& cell) {
    std::vector<std::string> cells = {label};
    for (const CountedKernel& kernel : kernels_) cells.push_back(cell(kernel.counts).value_or("-"));
    table_.add(std::move(cells));
  }
  void number(const std::string& label, const std::function<std::uint64_t(const Counts&)>& value) {
    line(label, [&](const Counts& counts) { return std::optional(grouped(value(counts))); });
  }
  void heading(const std::string& label) { table_.add({label}); }

  /// A line per buffer that is read (or written), and one per phase below it.
  void traffic(bool store) {
    for (const std::string& buffer : buffers(store)) {
      buffer_line("  " + buffer, buffer, [&](const BufferCount& b) { return grouped(store ? b.writes : b.reads); });
      for (const std::string& comment : comments(buffer, store)) phase_line(buffer, comment, store);
    }
  }

  void rereads() {
    for (const std::string& buffer : buffers(false))
      buffer_line("  " + buffer, buffer, [](const BufferCount& b) {
        return fmt::format("{} x {:.1f}", grouped(b.distinct_reads), times_read(b));
      });
  }

  void operations() {
    std::vector<std::string> names;
    for (const CountedKernel& kernel : kernels_)
      for (const auto& [name, count] : kernel.counts.operations)
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    std::sort(names.begin(), names.end());
    for (const std::string& name : names)
      line("  " + name, [&](const Counts& counts) -> std::optional<std::string> {
        const auto found = counts.operations.find(name);
        if (found == counts.operations.end()) return std::nullopt;
        return grouped(found->second);
      });
  }

  std::string text() const { return table_.text(); }

 private:
  static std::vector<std::string> head(std::span<const CountedKernel> kernels) {
    std::vector<std::string> names = {""};
    for (const CountedKernel& kernel : kernels) names.push_back(kernel.name);
    return names;
  }
  static std::vector<bool> right(std::span<const CountedKernel> kernels) {
    std::vector<bool> flags(kernels.size() + 1, true);
    flags[0] = false;
    return flags;
  }

  void buffer_line(const std::string& label, const std::string& buffer,
                   const std::function<std::string(const BufferCount&)>& cell) {
    line(label, [&](const Counts& counts) -> std::optional<std::string> {
      const auto found = std::find_if(counts.buffers.begin(), counts.buffers.end(),
                                      [&](const BufferCount& b) { return b.name == buffer; });
      if (found == counts.buffers.end()) return std::nullopt;
      return cell(*found);
    });
  }

  void phase_line(const std::string& buffer, const std::string& comment, bool store) {
    std::vector<std::string> cells = {fmt::format("    {}", comment.empty() ? "(without a comment)" : comment)};
    for (const std::vector<Phase>& all : phases_) {
      const auto found = std::find_if(all.begin(), all.end(), [&](const Phase& p) {
        return p.buffer == buffer && p.comment == comment && p.store == store;
      });
      cells.push_back(found == all.end() ? "-" : grouped(found->elements));
    }
    table_.add(std::move(cells));
  }

  std::vector<std::string> buffers(bool store) const {
    std::vector<std::string> names;
    for (const CountedKernel& kernel : kernels_)
      for (const BufferCount& buffer : kernel.counts.buffers)
        if ((store ? buffer.writes : buffer.reads) != 0 &&
            std::find(names.begin(), names.end(), buffer.name) == names.end())
          names.push_back(buffer.name);
    return names;
  }

  std::vector<std::string> comments(const std::string& buffer, bool store) const {
    std::vector<std::string> all;
    for (const std::vector<Phase>& list : phases_)
      for (const Phase& phase : list)
        if (phase.buffer == buffer && phase.store == store && phase.elements != 0 &&
            std::find(all.begin(), all.end(), phase.comment) == all.end())
          all.push_back(phase.comment);
    return all;
  }

  std::span<const CountedKernel> kernels_;
  std::vector<std::vector<Phase>> phases_;
  Table table_;
};

}  // namespace

std::string counts_text(std::span<const CountedKernel> kernels) {
  std::string text;
  for (const CountedKernel& kernel : kernels)
    text += fmt::format("{}: {}, SIMD groups of {} lanes\n", kernel.name, kernel.made_for, kernel.simd_width);
  text += '\n';
  Lines lines(kernels);
  lines.number("elements read", [](const Counts& c) { return c.reads(); });
  lines.traffic(false);
  lines.heading("distinct elements x times each is read");
  lines.rereads();
  lines.number("elements written", [](const Counts& c) { return c.writes(); });
  lines.traffic(true);
  lines.number("bytes read", [](const Counts& c) { return c.read_bytes(); });
  lines.number("bytes written", [](const Counts& c) { return c.write_bytes(); });
  lines.number("threadgroup memory: elements read", [](const Counts& c) { return c.shared_reads; });
  lines.number("threadgroup memory: elements written", [](const Counts& c) { return c.shared_writes; });
  lines.number("threadgroup memory: bytes", [](const Counts& c) { return std::uint64_t{c.shared_bytes}; });
  lines.number("barriers in the text", [](const Counts& c) { return std::uint64_t{c.barrier_sites}; });
  lines.number("barriers executed", [](const Counts& c) { return c.barriers; });
  lines.number("barriers per threadgroup", [](const Counts& c) { return each(c.barriers, c.threadgroups); });
  lines.number("SIMD barriers executed", [](const Counts& c) { return c.simd_barriers; });
  lines.number("shuffles executed", [](const Counts& c) { return c.shuffles; });
  lines.number("registers in arrays, per lane", [](const Counts& c) { return c.registers; });
  lines.number("threadgroups", [](const Counts& c) { return c.threadgroups; });
  lines.number("launches", [](const Counts& c) { return c.launches; });
  lines.heading("arithmetic, by lanes");
  lines.operations();
  return text + lines.text();
}

json counts_json(const Counts& counts) {
  json buffers = json::array(), phase_list = json::array(), sites = json::array();
  for (const BufferCount& b : counts.buffers)
    buffers.push_back({{"name", b.name},
                       {"reads", b.reads},
                       {"read_bytes", b.read_bytes},
                       {"distinct_reads", b.distinct_reads},
                       {"times_read", times_read(b)},
                       {"writes", b.writes},
                       {"write_bytes", b.write_bytes},
                       {"distinct_writes", b.distinct_writes}});
  for (const Phase& p : phases(counts))
    phase_list.push_back(
        {{"phase", p.comment}, {"buffer", p.buffer}, {"store", p.store}, {"elements", p.elements}, {"bytes", p.bytes}});
  for (const SiteCount& s : counts.sites)
    sites.push_back({{"place", s.place},
                     {"phase", s.comment},
                     {"buffer", s.buffer},
                     {"store", s.store},
                     {"elements", s.elements},
                     {"bytes", s.bytes}});
  return {{"reads", counts.reads()},
          {"read_bytes", counts.read_bytes()},
          {"writes", counts.writes()},
          {"write_bytes", counts.write_bytes()},
          {"buffers", buffers},
          {"phases", phase_list},
          {"sites", sites},
          {"shared_reads", counts.shared_reads},
          {"shared_writes", counts.shared_writes},
          {"threadgroup_bytes", counts.shared_bytes},
          {"barrier_sites", counts.barrier_sites},
          {"barriers", counts.barriers},
          {"barriers_per_threadgroup", each(counts.barriers, counts.threadgroups)},
          {"simd_barriers", counts.simd_barriers},
          {"shuffles", counts.shuffles},
          {"registers", counts.registers},
          {"threadgroups", counts.threadgroups},
          {"launches", counts.launches},
          {"operations", counts.operations}};
}

}  // namespace lanefold::cli
