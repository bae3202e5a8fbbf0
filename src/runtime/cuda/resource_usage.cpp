#include "runtime/cuda/resource_usage.h"

#include <charconv>
#include <optional>

namespace lanefold::runtime {
namespace {

/// The number that stands before `words` in the line, as 644 in "644 bytes spill stores".
std::uint32_t number_before(std::string_view line, std::string_view words) {
  const std::size_t end = line.find(words);
  if (end == std::string_view::npos) return 0;
  std::size_t begin = end;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  std::uint32_t number = 0;
  std::from_chars(line.data() + begin, line.data() + end, number);
  return number;
}

/// The name in quotes after `words`.
std::optional<std::string_view> name_after(std::string_view line, std::string_view words) {
  const std::size_t at = line.find(words);
  if (at == std::string_view::npos) return std::nullopt;
  const std::size_t begin = at + words.size();
  const std::size_t end = line.find('\'', begin);
  if (end == std::string_view::npos) return std::nullopt;
  return line.substr(begin, end - begin);
}

}  // namespace

std::vector<ResourceUsage> parse_resource_usage(std::string_view log) {
  std::vector<ResourceUsage> kernels;
  // Properties of functions that a kernel calls stand between; only the kernel's own count, in which theirs are included.
  bool of_kernel = false;
  while (!log.empty()) {
    const std::string_view line = log.substr(0, log.find('\n'));
    log.remove_prefix(std::min(line.size() + 1, log.size()));
    constexpr std::string_view kProperties = "Function properties for ";
    if (const auto name = name_after(line, "Compiling entry function '")) {
      kernels.push_back({.kernel = std::string(*name)});
      of_kernel = true;
      continue;
    }
    if (kernels.empty()) continue;
    ResourceUsage& usage = kernels.back();
    if (const std::size_t at = line.find(kProperties); at != std::string_view::npos) {
      of_kernel = line.substr(at + kProperties.size()) == usage.kernel;
    } else if (of_kernel && line.find(" bytes stack frame") != std::string_view::npos) {
      usage.stack_bytes = number_before(line, " bytes stack frame");
      usage.spill_store_bytes = number_before(line, " bytes spill stores");
      usage.spill_load_bytes = number_before(line, " bytes spill loads");
    } else if (line.find(" registers") != std::string_view::npos && line.find("Used ") != std::string_view::npos) {
      usage.registers = number_before(line, " registers");
      usage.barriers = number_before(line, " barriers");
      usage.shared_bytes = number_before(line, " bytes smem");
    }
  }
  return kernels;
}

}  // namespace lanefold::runtime
