// Row programs that the tests of this folder share.
#pragma once

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "ir/program.h"

namespace lanefold::plan {

inline ir::Program parsed(std::string_view text) {
  auto p = ir::parse(text, "test");
  EXPECT_TRUE(p.ok()) << (p.ok() ? "" : p.error().text());
  return p.ok() ? *std::move(p) : ir::Program{};
}

inline ir::Program sum_program() {
  return parsed("program sum(x: f32[rows, cols])\n  store y: f32[rows] = fold sum x\n");
}

inline ir::Program softmax_program() {
  return parsed(
      "program softmax(x: f32[rows, cols])\n"
      "  m = fold max x\n"
      "  e = exp(x - m)\n"
      "  store y: f32[rows, cols] = e * (1 / fold sum e)\n");
}

inline ir::Program rms_norm_program() {
  return parsed(
      "program rms_norm(x: f32[rows, cols], weight: f32[cols], eps = 1e-6)\n"
      "  inv = 1 / sqrt(fold dot(x, x) / cols + eps)\n"
      "  store y: f32[rows, cols] = x * weight * inv\n");
}

/// A matrix times so many vectors.
inline ir::Program products_program(int vectors) {
  std::string arguments = "w: f32[rows, cols]", stores;
  for (int k = 0; k < vectors; ++k) {
    arguments += ", x" + std::to_string(k) + ": f32[cols]";
    stores += "  store y" + std::to_string(k) + ": f32[rows] = fold dot(w, x" + std::to_string(k) + ")\n";
  }
  return parsed("program products(" + arguments + ")\n" + stores);
}

inline ir::Program rms_norm_q8_program() {
  return parsed(
      "program rms_norm_q8(x: f32[rows, cols], weight: f32[cols], eps = 1e-6)\n"
      "  inv = 1 / sqrt(fold dot(x, x) / cols + eps)\n"
      "  n   = x * weight * inv\n"
      "  d   = fold<32> max abs(n) / 127\n"
      "  store q:     i8[rows, cols]     = quantize(n, d)\n"
      "  store scale: f32[rows, cols/32] = d\n");
}

}  // namespace lanefold::plan
