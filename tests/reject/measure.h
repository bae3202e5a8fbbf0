// What the tests of bench, ab and report share: measurements as short as they can be, whose numbers mean nothing.
#pragma once

#include "reject/command.h"

namespace lanefold {

inline Arguments with_options(Arguments arguments, std::initializer_list<const char*> options) {
  arguments.insert(arguments.end(), options.begin(), options.end());
  return arguments;
}

inline Arguments brief(Arguments arguments) {
  return with_options(std::move(arguments),
                      {"--samples", "2", "--sample-ms", "0.05", "--warmup-ms", "0", "--settle-ms", "0"});
}

/// With as many pairs as `ab` takes by itself.
inline Arguments brief_pairs(Arguments arguments) {
  return with_options(std::move(arguments), {"--repetitions", "2", "--repetition-ms", "0.05", "--warmup-ms", "0"});
}

/// A test that needs a device with a clock.
class MeasureCommandTest : public CommandTest {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
#if !LANEFOLD_JIT
    GTEST_SKIP() << "this build has no device to time on";
#endif
  }
  nlohmann::json results(const std::string& folder) const {
    return nlohmann::json::parse(content(folder + "/results.json"));
  }
};

}  // namespace lanefold
