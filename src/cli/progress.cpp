#include "cli/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

namespace lanefold::cli {

using std::chrono::steady_clock;

Progress::Progress(std::string what, std::int64_t total)
    : what_(std::move(what)),
      total_(total),
      terminal_(isatty(STDERR_FILENO) != 0),
      next_(steady_clock::now() + std::chrono::seconds(2)) {}

Progress::~Progress() {
  // Back to the start of the line, and the rest of it erased.
  if (drawn_) fmt::print(stderr, "\r\x1b[K");
}

void Progress::update(std::int64_t done) {
  if (!terminal_) return;
  const auto now = steady_clock::now();
  if (now < next_) return;
  next_ = now + std::chrono::milliseconds(100);
  fmt::print(stderr, "\r\x1b[K{}", progress_line(what_, done, total_, 30));
  std::fflush(stderr);
  drawn_ = true;
}

std::string progress_line(const std::string& what, std::int64_t done, std::int64_t total, int width) {
  const double part = total <= 0 ? 1.0 : std::clamp(static_cast<double>(done) / static_cast<double>(total), 0.0, 1.0);
  const int full = static_cast<int>(part * width);
  return fmt::format("[{}{}] {:3.0f} %  {}", std::string(static_cast<std::size_t>(full), '#'),
                     std::string(static_cast<std::size_t>(width - full), '.'), 100 * part, what);
}

}  // namespace lanefold::cli
