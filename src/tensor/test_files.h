// What the tests of this folder share: a directory of their own and hand-made file contents.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace lanefold::tensor {

/// A test with an empty directory that is removed afterwards.
class FileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "lanefold-test-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string path(const std::string& name) const { return (directory_ / name).string(); }

  std::string write(const std::string& name, const std::string& content) const {
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }
  std::string content(const std::string& name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  /// The names in the directory, sorted.
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) all.push_back(entry.path().filename());
    std::sort(all.begin(), all.end());
    return all;
  }

  std::filesystem::path directory_;
};

inline std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

/// A .npy file of version 1.0 with this dictionary, however wrong.
inline std::string npy_file(const std::string& dictionary, const std::string& data = "", char major = 1) {
  std::string file = "\x93NUMPY";
  file += major;
  file += '\0';
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  for (std::size_t i = 0; i < length_bytes; ++i) file += static_cast<char>(dictionary.size() >> (8 * i));
  return file + dictionary + data;
}

/// A safetensors file with this header, however wrong.
inline std::string safetensors_file(const std::string& header, const std::string& data = "") {
  std::string file;
  for (std::size_t i = 0; i < 8; ++i) file += static_cast<char>(std::uint64_t{header.size()} >> (8 * i));
  return file + header + data;
}

/// A tensor whose bytes count up from 1.
inline Tensor counting_tensor(std::vector<std::int64_t> shape, ElementType type) {
  Tensor tensor = make_tensor(std::move(shape), type);
  const std::size_t size = static_cast<std::size_t>(tensor.element_count()) * element_bytes(type);
  for (std::size_t i = 0; i < size; ++i) tensor.data[i] = static_cast<std::byte>(i + 1);
  return tensor;
}

/// The elements in row-major order, as text of bytes.
inline std::string row_major(const Tensor& tensor) {
  std::vector<std::byte> storage;
  const std::span<const std::byte> bytes = contiguous_bytes(tensor, storage);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The bytes of floats.
inline std::string float_bytes(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

/// Expects the result to have failed with the code; shows its text otherwise.
template <class T>
void expect_code(const Result<T>& result, Code code) {
  ASSERT_FALSE(result.ok()) << "expected " << code_name(code);
  EXPECT_EQ(result.error().code, code) << result.error().text();
  EXPECT_FALSE(result.error().message.empty());
  EXPECT_FALSE(result.error().hint.empty()) << result.error().text();
}

}  // namespace lanefold::tensor
