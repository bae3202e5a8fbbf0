// A progress bar on a terminal for what takes over two seconds.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace lanefold::cli {

/// Draws on standard error if that is a terminal; removes the bar when it dies.
class Progress {
 public:
  Progress(std::string what, std::int64_t total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// So much of the total is done. Draws at most ten times a second.
  void update(std::int64_t done);

 private:
  std::string what_;
  std::int64_t total_;
  bool terminal_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point next_;
};

/// The bar's line without its line end: `width` cells, the part done as a percentage, and what is done.
std::string progress_line(const std::string& what, std::int64_t done, std::int64_t total, int width);

}  // namespace lanefold::cli
