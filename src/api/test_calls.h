// What the tests of the facade share.
#pragma once

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "base/diagnostic.h"
#include "lanefold/lanefold.h"

namespace lanefold::api {

/// Two threads, and nothing on disk.
inline Options options(Device device = Device::automatic) {
  Options result;
  result.threads = 2;
  result.device = device;
  result.disk_cache = false;
  return result;
}

/// The action throws an Error with exactly this code.
template <class Action>
void expect_error(Code code, Action&& action, std::string_view place = "") {
  try {
    action();
    ADD_FAILURE() << "no error, " << code_number(code) << " was expected";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code_number(code)) << error.what();
    EXPECT_EQ(error.name(), code_name(code));
    EXPECT_NE(std::string(error.what()).find(error.code()), std::string::npos);
    EXPECT_TRUE(place.empty() || error.place() == place) << error.what();
  }
}

/// A small call of rms_norm that is right, for tests to spoil.
struct SmallNorm {
  float x[2 * 8] = {1, 2, 3, 4, 5, 6, 7, 8, -1, 2, -3, 4, -5, 6, -7, 8};
  float weight[8] = {1, 1, 1, 1, 1, 1, 1, 2};
  float y[2 * 8] = {};
  Kernel kernel = Kernel::compile_operator("rms_norm", Type::f32, options());
};

}  // namespace lanefold::api
