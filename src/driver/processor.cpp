#include "driver/processor.h"

#include <sys/utsname.h>

#include <fstream>
#include <iterator>

namespace lanefold::driver {

std::string model_name(std::string_view cpuinfo) {
  while (!cpuinfo.empty()) {
    const std::size_t end = cpuinfo.find('\n');
    const std::string_view line = cpuinfo.substr(0, end);
    cpuinfo.remove_prefix(end == cpuinfo.npos ? cpuinfo.size() : end + 1);
    const std::size_t colon = line.find(':');
    if (!line.starts_with("model name") || colon == line.npos) continue;
    const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
    if (begin == line.npos) continue;
    return std::string(line.substr(begin, line.find_last_not_of(" \t\r") + 1 - begin));
  }
  return "";
}

namespace {

std::string asked_name() {
  // Files of /proc have no size that could be asked for.
  std::ifstream file("/proc/cpuinfo", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (std::string model = model_name(text); !model.empty()) return model;
  struct utsname names{};
  return ::uname(&names) >= 0 ? names.machine : "";
}

}  // namespace

const std::string& processor_name() {
  static const std::string name = asked_name();
  return name;
}

}  // namespace lanefold::driver
