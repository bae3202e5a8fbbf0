// Hand-written modules for tests: sizes that every one of them takes, small enough for the lane machine.
#pragma once

#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "verify/instance.h"

namespace lanefold::testing {

/// Small sizes; those that the module does not know are left out.
inline verify::InstanceRequest small(const kernels::HandWritten& op, std::int64_t tokens, kernels::WeightFormat weights,
                                     std::uint32_t simd_width = 32) {
  verify::InstanceRequest request;
  const std::pair<const char*, std::int64_t> sizes[] = {{"tokens", tokens}, {"hidden", 128}, {"rank", 64},
                                                        {"kv_heads", 1},    {"heads", 2},    {"head_size", 64},
                                                        {"chunks", 3}};
  for (const kernels::SizeFact& known : op.sizes)
    for (const auto& [name, size] : sizes)
      if (known.name == name) request.sizes.values[name] = size;
  if (op.name == "gr_norm") request.sizes.values["simd_groups"] = 128 / simd_width / 2;
  if (op.name == "gr_down") request.sizes.values["k_split"] = 2;
  request.sizes.weights = weights;
  request.sizes.simd_width = simd_width;
  return request;
}

inline verify::Instance made(const std::string& name, const verify::InstanceRequest& request) {
  const auto kernel = driver::parse_kernel_name(name);
  EXPECT_TRUE(kernel.ok());
  Result<verify::Instance> instance = verify::make_instance(*kernel, request);
  EXPECT_TRUE(instance.ok()) << name << ": " << (instance.ok() ? "" : instance.error().text());
  return std::move(instance).value();
}

}  // namespace lanefold::testing
