// Runs the built command in a folder of the test's own, and says what it did.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/diagnostic.h"
#include "tensor/tensor.h"

namespace lanefold {

/// What a finished command left.
struct Finished {
  int status = -1;  ///< exit status; 128 and more for a signal
  std::string out;
  std::string err;
};

using Arguments = std::vector<std::string>;

/// While it lives, no process that is started can write files of more bytes, as on a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(std::uint64_t bytes);
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit();

 private:
  std::uint64_t before_ = 0;
};

/// A test with an empty folder, which is removed afterwards; the kernel cache is in it.
class CommandTest : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  std::string path(const std::string& name) const { return (directory_ / name).string(); }
  std::string write(const std::string& name, std::string_view content) const;
  std::string content(const std::string& name) const;
  bool exists(const std::string& name) const { return std::filesystem::exists(directory_ / name); }

  /// Writes a .npy file of (r + 1) in column 0 and 0.25 elsewhere, so that sums are exact; returns its path.
  std::string matrix(const std::string& name, std::vector<std::int64_t> shape,
                     ElementType type = ElementType::f32) const;
  tensor::Tensor read(const std::string& name) const;

  /// Runs `lanefold arguments`; standard output goes to `out` where one is given.
  Finished lanefold(const Arguments& arguments, const std::string& out = "") const;
  /// The JSON that a good command prints with --json.
  nlohmann::json json_of(Arguments arguments) const;
  /// Expects exit status 2 and this code with a hint that holds `hint`, asked for as JSON.
  void refused(const Arguments& arguments, Code code, std::string_view hint) const;

  std::filesystem::path directory_;
};

}  // namespace lanefold
