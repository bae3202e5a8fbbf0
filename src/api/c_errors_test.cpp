// The C ABI through its header: what each function refuses.
#include <cstring>
#include <new>
#include <string>

#include <gtest/gtest.h>

#include "api/test_c.h"
#include "base/diagnostic.h"
#include "lanefold/c.h"

namespace lanefold::api {
namespace {

/// The action fails as a user's error with this code and place; the error, where asked for, is whole.
template <class Action>
void expect_code(Code code, Action&& action, std::string_view place = "") {
  lanefold_error* error = nullptr;
  ASSERT_EQ(action(&error), LANEFOLD_USER_ERROR) << code_name(code);
  ASSERT_NE(error, nullptr);
  EXPECT_EQ(error->status, LANEFOLD_USER_ERROR);
  EXPECT_EQ(error->code, code_number(code)) << error->message;
  EXPECT_EQ(error->name, code_name(code));
  EXPECT_NE(std::strstr(error->message, error->code), nullptr);
  EXPECT_NE(error->hint, nullptr);
  EXPECT_TRUE(place.empty() || place == error->place) << error->place;
  lanefold_error_free(error);
  EXPECT_EQ(action(nullptr), LANEFOLD_USER_ERROR) << "without an error to fill";
}

TEST(CAbi, NullArgumentsAreRefused) {
  const OwnedKernel norm("rms_norm");
  lanefold_kernel* const k = norm.kernel;
  lanefold_kernel* made = nullptr;
  lanefold_report* report = nullptr;
  char* text = nullptr;
  std::uint64_t count = 0;
  const char* const* names = nullptr;
  Small s;
  using E = lanefold_error**;
  const Code null = Code::bad_arguments;
  expect_code(
      null, [&](E e) { return lanefold_compile_operator(nullptr, LANEFOLD_TYPE_F32, nullptr, &made, e); }, "name");
  expect_code(
      null, [&](E e) { return lanefold_compile_operator("sum", LANEFOLD_TYPE_F32, nullptr, nullptr, e); }, "kernel");
  expect_code(null, [&](E e) { return lanefold_compile_program(nullptr, nullptr, &made, e); }, "text");
  expect_code(null, [&](E e) { return lanefold_compile_program(kTwo, nullptr, nullptr, e); }, "kernel");
  expect_code(null, [&](E e) { return lanefold_pool_create(1, nullptr, e); }, "pool");
  expect_code(null, [&](E e) { return lanefold_operator_names(nullptr, &count, e); }, "names");
  expect_code(null, [&](E e) { return lanefold_operator_names(&names, nullptr, e); }, "count");
  expect_code(null, [&](E e) { return lanefold_run(nullptr, s.in, 2, s.out, 1, nullptr, 0, e); }, "kernel");
  expect_code(null, [&](E e) { return lanefold_run(k, nullptr, 2, s.out, 1, nullptr, 0, e); }, "inputs");
  expect_code(null, [&](E e) { return lanefold_run(k, s.in, 2, nullptr, 1, nullptr, 0, e); }, "outputs");
  expect_code(null, [&](E e) { return lanefold_run(k, s.in, 2, s.out, 1, nullptr, 2, e); }, "parameters");
  expect_code(null, [&](E e) { return lanefold_prepare(nullptr, s.in, 2, s.out, 1, e); }, "kernel");
  expect_code(null, [&](E e) { return lanefold_check(k, s.in, 2, s.out, 1, nullptr, 0, nullptr, e); }, "report");
  expect_code(null, [&](E e) { return lanefold_check(nullptr, s.in, 2, s.out, 1, nullptr, 0, &report, e); }, "kernel");
  const lanefold_named_input in[] = {{"x", s.in[0]}, {nullptr, s.in[1]}};
  const lanefold_named_output out[] = {{nullptr, s.out[0]}};
  const lanefold_named_parameter parameter = {nullptr, 1, 0};
  expect_code(null, [&](E e) { return lanefold_run_named(nullptr, in, 1, out, 1, nullptr, 0, e); }, "kernel");
  expect_code(null, [&](E e) { return lanefold_run_named(k, nullptr, 1, out, 1, nullptr, 0, e); }, "inputs");
  expect_code(null, [&](E e) { return lanefold_run_named(k, in, 1, nullptr, 1, nullptr, 0, e); }, "outputs");
  expect_code(null, [&](E e) { return lanefold_run_named(k, in, 1, nullptr, 0, nullptr, 1, e); }, "parameters");
  expect_code(null, [&](E e) { return lanefold_run_named(k, in, 2, out, 1, nullptr, 0, e); }, "inputs.name");
  expect_code(null, [&](E e) { return lanefold_run_named(k, in, 1, out, 1, nullptr, 0, e); }, "outputs.name");
  expect_code(null, [&](E e) { return lanefold_run_named(k, in, 1, out, 0, &parameter, 1, e); }, "parameters.name");
  expect_code(null, [&](E e) { return lanefold_plan_json(nullptr, 1, 8, &text, e); }, "kernel");
  expect_code(null, [&](E e) { return lanefold_plan_json(k, 1, 8, nullptr, e); }, "text");
  expect_code(null, [&](E e) { return lanefold_plan_line(nullptr, 1, 8, &text, e); }, "kernel");
  expect_code(null, [&](E e) { return lanefold_lane_text(nullptr, 1, 8, &text, e); }, "kernel");
  expect_code(null, [&](E e) { return lanefold_emit(nullptr, 1, 8, LANEFOLD_EMIT_LANE, &text, e); }, "kernel");
  EXPECT_EQ(made, nullptr);
  EXPECT_EQ(report, nullptr);
  EXPECT_EQ(text, nullptr);
  for (const float value : s.y) EXPECT_EQ(value, 0.0f);
}

TEST(CAbi, OptionsAreChecked) {
  using E = lanefold_error**;
  lanefold_kernel* kernel = nullptr;
  const auto refused = [&](Code code, const lanefold_options& options, std::string_view place) {
    expect_code(
        code, [&](E e) { return lanefold_compile_operator("rms_norm", LANEFOLD_TYPE_F32, &options, &kernel, e); },
        place);
    EXPECT_EQ(kernel, nullptr);
  };
  lanefold_options options = no_disk();
  options.struct_size = 8;
  refused(Code::bad_arguments, options, "options");
  options.struct_size = ~std::uint64_t{0};
  refused(Code::bad_arguments, options, "options");
  options = no_disk();
  options.order = 3;
  refused(Code::unknown_order, options, "order");
  options.order = -1;
  refused(Code::unknown_order, options, "order");
  options = no_disk();
  options.device = 256;
  refused(Code::unknown_device, options, "device");
  options = no_disk();
  options.threads = 1025;
  refused(Code::number_invalid, options, "threads");
  options = no_disk();
  options.absent_count = 1;
  refused(Code::bad_arguments, options, "options.absent");
  const char* absent[] = {"weight", nullptr};
  options.absent = absent;
  options.absent_count = 2;
  refused(Code::bad_arguments, options, "options.absent");
  options.absent_count = 1;
  ASSERT_EQ(lanefold_compile_operator("rms_norm", LANEFOLD_TYPE_F32, &options, &kernel, nullptr), LANEFOLD_OK);
  EXPECT_EQ(lanefold_input_count(kernel), 1u);
  lanefold_kernel_free(kernel);
}

TEST(CAbi, OptionsOfANewerHeaderAreZeroOrRefused) {
  struct Newer {
    lanefold_options known = no_disk();
    std::uint64_t more = 0;
  } newer;
  newer.known.struct_size = sizeof(Newer);
  lanefold_kernel* kernel = nullptr;
  ASSERT_EQ(lanefold_compile_operator("sum", LANEFOLD_TYPE_F32, &newer.known, &kernel, nullptr), LANEFOLD_OK);
  lanefold_kernel_free(kernel);
  newer.more = 1;
  expect_code(Code::bad_arguments, [&](lanefold_error** e) {
    return lanefold_compile_operator("sum", LANEFOLD_TYPE_F32, &newer.known, &kernel, e);
  });
}

TEST(CAbi, UsersErrorsHaveCodesAndPlaces) {
  using E = lanefold_error**;
  lanefold_kernel* made = nullptr;
  expect_code(Code::unknown_operator,
              [&](E e) { return lanefold_compile_operator("nrom", LANEFOLD_TYPE_F32, nullptr, &made, e); });
  expect_code(Code::operator_storage,
              [&](E e) { return lanefold_compile_operator("softmax", LANEFOLD_TYPE_I8, nullptr, &made, e); });
  expect_code(Code::call_type_mismatch, [&](E e) { return lanefold_compile_operator("sum", -4, nullptr, &made, e); });
  expect_code(
      Code::unknown_name,
      [&](E e) {
        return lanefold_compile_program("program p(x: f32[rows, cols])\n  store y: f32[rows, cols] = zz\n", nullptr,
                                        &made, e);
      },
      "program:2:30");
  const OwnedKernel norm("rms_norm");
  Small s;
  const auto run = [&](E e) { return lanefold_run(norm.kernel, s.in, 2, s.out, 1, nullptr, 0, e); };
  expect_code(Code::call_count_mismatch,
              [&](E e) { return lanefold_run(norm.kernel, s.in, 1, s.out, 1, nullptr, 0, e); });
  expect_code(Code::call_count_mismatch,
              [&](E e) { return lanefold_run(norm.kernel, s.in, ~std::uint64_t{0}, s.out, 1, nullptr, 0, e); });
  const float one = 1;
  expect_code(Code::call_count_mismatch, [&](E e) { return lanefold_run(norm.kernel, s.in, 2, s.out, 1, &one, 1, e); });
  s.in[0].type = LANEFOLD_TYPE_F16;
  expect_code(Code::call_type_mismatch, run, "input x");
  s.in[0].type = 1 << 20;
  expect_code(Code::call_type_mismatch, run);
  s.in[0].type = LANEFOLD_TYPE_F32;
  s.in[0].rank = 5;
  expect_code(Code::call_shape_mismatch, run, "input x");
  s.in[0].rank = 2;
  s.in[0].data = nullptr;
  expect_code(Code::call_data_missing, run, "input x");
  s.in[0].data = s.x;
  s.out[0].shape[0] = 1;
  expect_code(Code::call_shape_mismatch, run, "output y");
  expect_code(
      Code::call_shape_mismatch, [&](E e) { return lanefold_prepare(norm.kernel, s.in, 2, s.out, 1, e); }, "output y");
  for (const float value : s.y) EXPECT_EQ(value, 0.0f);
  const lanefold_named_input named[] = {{"x", s.in[0]}, {"gain", s.in[1]}};
  expect_code(
      Code::unknown_input, [&](E e) { return lanefold_run_named(norm.kernel, named, 2, nullptr, 0, nullptr, 0, e); },
      "input gain");
  char* text = nullptr;
  expect_code(Code::no_columns, [&](E e) { return lanefold_plan_line(norm.kernel, 1, 0, &text, e); });
  expect_code(Code::unknown_emission, [&](E e) { return lanefold_emit(norm.kernel, 1, 8, 7, &text, e); });
  EXPECT_EQ(text, nullptr);
}

TEST(CAbi, OtherExceptionsHaveStatusesOfTheirOwn) {
  lanefold_error* error = nullptr;
  EXPECT_EQ(guarded(&error, [] { internal_error("a fault of ours"); }), LANEFOLD_INTERNAL_ERROR);
  EXPECT_STREQ(error->name, "internal_error");
  EXPECT_STREQ(error->message, "a fault of ours");
  EXPECT_STREQ(error->code, "");
  lanefold_error_free(error);
  EXPECT_EQ(guarded(&error, [] { throw std::bad_alloc(); }), LANEFOLD_OUT_OF_MEMORY);
  EXPECT_STREQ(error->name, "out_of_memory");
  lanefold_error_free(error);
  EXPECT_EQ(guarded(&error, [] { throw 7; }), LANEFOLD_INTERNAL_ERROR);
  lanefold_error_free(error);
  EXPECT_EQ(guarded(&error, [] {}), LANEFOLD_OK);
  EXPECT_EQ(error, nullptr);
}

TEST(CAbi, WrongEnumeratorsAreToldAsGiven) {
  const auto tells = [](Code code, std::string_view number, auto&& action) {
    lanefold_error* error = nullptr;
    ASSERT_EQ(action(&error), LANEFOLD_USER_ERROR);
    EXPECT_EQ(error->name, code_name(code));
    EXPECT_TRUE(std::string_view(error->message).find(number) != std::string_view::npos) << error->message;
    EXPECT_EQ(std::string_view(error->message).find("255 "), std::string_view::npos) << error->message;
    lanefold_error_free(error);
  };
  using E = lanefold_error**;
  lanefold_kernel* made = nullptr;
  char* text = nullptr;
  const OwnedKernel norm("rms_norm");
  for (const std::int32_t wrong : {-4, 99, 300, 1 << 20}) {
    const std::string number = std::to_string(wrong) + " is no ";
    tells(Code::call_type_mismatch, number,
          [&](E e) { return lanefold_compile_operator("sum", wrong, nullptr, &made, e); });
    Small s;
    s.in[1].type = wrong;
    tells(Code::call_type_mismatch, number,
          [&](E e) { return lanefold_run(norm.kernel, s.in, 2, s.out, 1, nullptr, 0, e); });
    tells(Code::unknown_emission, number, [&](E e) { return lanefold_emit(norm.kernel, 1, 8, wrong, &text, e); });
    lanefold_options options = no_disk();
    const auto compile = [&](E e) { return lanefold_compile_operator("sum", LANEFOLD_TYPE_F32, &options, &made, e); };
    options.order = wrong;
    tells(Code::unknown_order, number, compile);
    options = no_disk();
    options.device = wrong;
    tells(Code::unknown_device, number, compile);
    options = no_disk();
    options.weights = wrong;
    tells(Code::call_type_mismatch, number, compile);
  }
  EXPECT_EQ(made, nullptr);
}

TEST(CAbi, PoolsAreChecked) {
  lanefold_pool* pool = nullptr;
  expect_code(
      Code::number_invalid, [&](lanefold_error** e) { return lanefold_pool_create(1025, &pool, e); }, "threads");
  EXPECT_EQ(pool, nullptr);
}

}  // namespace
}  // namespace lanefold::api
