#include "runtime/common/launch.h"

#include <gtest/gtest.h>

namespace lanefold::runtime {
namespace {

TEST(Launch, FillsEveryRole) {
  std::byte memory[4] = {};
  const View in[] = {{.data = memory, .row_stride = 11, .column_stride = 12},
                     {.data = memory + 1, .row_stride = 21, .column_stride = 22}};
  const View out[] = {{.data = memory + 2, .row_stride = 31, .column_stride = 32}};
  const float parameters[] = {0.5f, 0.25f};
  using lane::Role;
  lane::Kernel kernel;
  const auto add = [&](Role role, std::uint32_t index) {
    kernel.arguments.push_back({"a", false, ElementType::i64, role, index});
  };
  add(Role::input, 1);
  add(Role::output, 0);
  add(Role::input_row_stride, 0);
  add(Role::input_column_stride, 1);
  add(Role::output_row_stride, 0);
  add(Role::output_column_stride, 0);
  add(Role::rows, 0);
  add(Role::cols, 0);
  add(Role::parameter, 1);
  std::vector<lane::ArgumentWord> words(kernel.arguments.size());
  const Call call{.inputs = in, .outputs = out, .parameters = parameters, .rows = 5, .cols = 7};
  fill_arguments(kernel, call, words);
  EXPECT_EQ(words[0].pointer, memory + 1);
  EXPECT_EQ(words[1].pointer, memory + 2);
  const std::int64_t expected[] = {11, 22, 31, 32, 5, 7};
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(words[2 + i].integer, expected[i]);
  EXPECT_EQ(words[8].real, 0.25f);
  add(Role::other, 0);
  words.resize(kernel.arguments.size());
  EXPECT_THROW(fill_arguments(kernel, call, words), InternalError);
}

}  // namespace
}  // namespace lanefold::runtime
