// Public reports on other kernels, as cases that must be right here. Each test is named after the project and the
// number of its report, and runs on every device of this build.
#include <limits>

#include "conformance/cases.h"
#include "plan/plan.h"

namespace lanefold::testing {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

Code refusal(const ir::Program& program, const plan::Request& request, std::string_view target = "metal-m1max") {
  const auto plan = plan::choose(program, *target::find(target), request);
  if (!plan.ok()) return plan.error().code;
  ADD_FAILURE() << program.name << " was planned with " << plan->threads << " threads";
  return Code::syntax;
}

plan::Request with_threads(std::int64_t cols, std::uint32_t threads) {
  plan::Request request;
  request.cols = cols;
  request.group_threads = threads;
  request.rows_per_threadgroup = 1;
  request.order = ir::Order::canonical;
  return request;
}

TEST(Cases, larql_q8_scales_for_every_width_and_thread_count) {
  for (const char* name : {"rms_norm_q8", "residual_norm_q8"}) {
    const ir::Program program = operator_program(name);
    // 240 and 80 threads cannot share a row in a fixed order; they are refused, not rounded.
    EXPECT_EQ(code_name(refusal(program, with_threads(2560, 240))), code_name(Code::threads_not_whole_simd_groups));
    EXPECT_EQ(code_name(refusal(program, with_threads(2560, 80))), code_name(Code::threads_not_whole_simd_groups));
    EXPECT_EQ(code_name(refusal(program, with_threads(2560, 96))), code_name(Code::workers_not_power_of_two));
    EXPECT_EQ(code_name(refusal(program, with_threads(200, 100))), code_name(Code::columns_not_whole_blocks));
    Trial trial(program, 2, 2560);
    trial.fill_random(7, -3, 3);
    on_every_device(trial, [&] { expect_close(trial); });
    for (const std::uint32_t threads : {32u, 64u, 128u, 256u}) {
      verify::DeviceOptions options = on_device("lane-machine");
      options.target = *target::find("metal-m1max");
      const auto plan = plan::choose(program, options.target, with_threads(2560, threads));
      ASSERT_TRUE(plan.ok()) << plan.error().text();
      EXPECT_EQ(plan->threads, threads);
      options.plan = *plan;
      const Status status = trial.run(options);
      ASSERT_TRUE(status.ok()) << status.error().text();
      EXPECT_EQ(difference(program, trial.output_bytes(), trial.exact()), "") << threads << " threads";
    }
  }
}

TEST(Cases, larql_more_simd_groups_than_partial_slots) {
  const ir::Program program = operator_program("softmax");
  for (const std::uint32_t groups : {2u, 4u, 8u, 16u, 32u}) {
    plan::Request request;
    request.cols = 4096;
    request.order = ir::Order::canonical;
    request.simd_groups = groups;
    const auto plan = plan::choose(program, *target::find("metal-m1max"), request);
    ASSERT_TRUE(plan.ok()) << groups << ": " << plan.error().text();
    EXPECT_EQ(plan->simd_groups_per_row, groups);
    EXPECT_GE(plan->threadgroup_bytes, 2 * groups * sizeof(float)) << "one slot per group and fold";
  }
  plan::Request request;
  request.cols = 4096;
  request.order = ir::Order::canonical;
  request.simd_groups = 64;
  request.cols = 16384;  // enough virtual lanes for 2048 workers; the device has 1024
  EXPECT_EQ(code_name(refusal(program, request)), code_name(Code::too_many_threads));
}

TEST(Cases, larql_width_that_is_no_multiple_of_the_block) {
  for (const char* name : {"rms_norm_q8", "residual_norm_q8"})
    for (const std::int64_t cols : {1, 31, 33, 200, 2561})
      for (const std::string& device : available_devices()) {
        Trial trial(operator_program(name), 1, cols);
        const Status status = trial.run(on_device(device));
        ASSERT_FALSE(status.ok()) << name << ' ' << cols << ' ' << device;
        EXPECT_EQ(code_name(status.error().code), code_name(Code::columns_not_whole_blocks));
        for (const Bytes& bytes : trial.output_bytes())
          for (const std::byte b : bytes) ASSERT_EQ(b, std::byte{0xff}) << "a refused call wrote";
      }
}

TEST(Cases, larql_storage_of_another_type_than_expected) {
  for (const std::string& device : available_devices()) {
    Trial trial(operator_program("rms_norm_q8"), 2, 64);
    for (std::size_t i = 0; i < trial.inputs.size(); ++i) {
      const View kept = trial.inputs[i];
      trial.inputs[i].type = ElementType::i8;
      const Status status = trial.run(on_device(device));
      ASSERT_FALSE(status.ok()) << i;
      EXPECT_EQ(code_name(status.error().code), code_name(Code::call_type_mismatch));
      trial.inputs[i] = kept;
    }
  }
}

TEST(Cases, larql_second_fold_through_the_array_of_the_first) {
  Trial trial(operator_program("softmax"), 3, 2000);
  trial.fill_random(3, -5, 5);
  const std::vector<Bytes> expected = trial.exact();
  const auto repeat = [&](verify::DeviceOptions options, int times) {
    auto device = verify::open(trial.program(), options);
    ASSERT_TRUE(device.ok()) << device.error().text();
    for (int i = 0; i < times; ++i) {
      ASSERT_TRUE(trial.run(**device).ok());
      ASSERT_EQ(difference(trial.program(), trial.output_bytes(), expected), "") << "repeat " << i;
    }
  };
  plan::Request request;
  request.cols = 2000;
  request.order = ir::Order::canonical;
  request.simd_groups = 8;
  verify::DeviceOptions options = on_device("lane-machine");
  options.target = *target::find("metal-m1max");
  options.plan = plan::choose(trial.program(), options.target, request).value();
  repeat(options, 10);
  if (!has_cpu()) return;
  options = on_device("cpu");
  options.threads = 3;
  repeat(options, 100);
}

TEST(Cases, tilelang_2542_threads_that_are_no_power_of_two) {
  const ir::Program sum = operator_program("sum");
  EXPECT_EQ(code_name(refusal(sum, with_threads(96, 48))), code_name(Code::threads_not_whole_simd_groups));
  EXPECT_EQ(code_name(refusal(sum, with_threads(1000, 96))), code_name(Code::workers_not_power_of_two));
  EXPECT_EQ(code_name(refusal(sum, with_threads(80, 80))), code_name(Code::threads_not_whole_simd_groups));
}

TEST(Cases, tilelang_3266_candle_1819_widths_that_are_no_power_of_two) {
  for (const std::int64_t cols : {3, 48, 80, 96, 100, 1023, 1536}) {
    SCOPED_TRACE(cols);
    Trial trial(operator_program("sum"), 2, cols);
    trial.fill(0, [](std::int64_t r, std::int64_t c) { return static_cast<float>(c + 1 + r); });
    on_every_device(trial, [&] {
      EXPECT_EQ(trial.value(0, 0), static_cast<double>(cols * (cols + 1) / 2));
      EXPECT_EQ(trial.value(0, 1), static_cast<double>(cols * (cols + 1) / 2 + cols));
    });
  }
}

TEST(Cases, tvm_12274_max_with_inactive_lanes) {
  for (const std::int64_t cols : {1, 5, 31, 33, 65, 513}) {
    SCOPED_TRACE(cols);
    Trial trial(operator_program("max"), 1, cols);
    trial.fill(0, [](std::int64_t, std::int64_t c) { return -1.0f - static_cast<float>(c); });
    on_every_device(trial, [&] { EXPECT_EQ(trial.value(0, 0), -1.0); });  // no lane adds a zero of its own
  }
}

TEST(Cases, mlx_1467_softmax_all_minus_infinity) {
  for (const std::int64_t cols : {127, 128, 129}) {
    SCOPED_TRACE(cols);
    Trial trial(operator_program("softmax"), 1, cols);
    trial.fill(0, [](std::int64_t, std::int64_t) { return -kInf; });
    on_every_device(trial, [&] {
      for (std::int64_t c = 0; c < cols; ++c) EXPECT_EQ(trial.value_bits(0, 0, c), 0x7fc00000u) << c;
    });
  }
}

TEST(Cases, mlx_657_softmax_of_a_column_slice) {
  Trial whole(operator_program("softmax"), 6, 4);
  whole.fill_random(1, -2, 2);
  Trial trial(operator_program("softmax"), 6, 2);
  trial.inputs[0] = whole.inputs[0];
  trial.inputs[0].data = whole.inputs[0].at(0, 1);
  trial.inputs[0].cols = 2;
  on_every_device(trial, [&] {
    for (std::int64_t r = 0; r < 6; ++r) EXPECT_NEAR(trial.row_sum(0, r), 1, 1e-6);
  });
}

TEST(Cases, onnxruntime_28463_layer_norm_of_large_neighbours) {
  Trial trial(operator_program("layer_norm"), 1, 4);
  trial.fill(0, [](std::int64_t, std::int64_t c) { return 40000.0f + static_cast<float>(c); });
  trial.fill(1, [](std::int64_t, std::int64_t) { return 1.0f; });
  on_every_device(trial, [&] {
    const double expected[] = {-1.3416354, -0.4472118, 0.4472118, 1.3416354};
    for (std::int64_t c = 0; c < 4; ++c) EXPECT_NEAR(trial.value(0, 0, c), expected[c], 1e-5);
  });
}

TEST(Cases, onnxruntime_21935_layer_norm_of_a_constant) {
  for (const std::int64_t cols : {1, 7, 768, 1000}) {
    SCOPED_TRACE(cols);
    Trial trial(operator_program("layer_norm"), 1, cols);
    trial.fill(0, [](std::int64_t, std::int64_t) { return 2.5f; });  // sums of it are exact
    trial.fill(1, [](std::int64_t, std::int64_t) { return 1.0f; });
    on_every_device(trial, [&] {
      for (std::int64_t c = 0; c < cols; ++c) EXPECT_EQ(trial.value(0, 0, c), 0) << c;
    });
  }
}

TEST(Cases, pytorch_51102_layer_norm_of_mean_2000) {
  Trial trial(operator_program("layer_norm"), 1, 1024);
  Numbers numbers(11);
  trial.fill(0, [&](std::int64_t, std::int64_t) { return 2000.0f + numbers.between(-1, 1); });
  trial.fill(1, [](std::int64_t, std::int64_t) { return 1.0f; });
  on_every_device(trial, [&] {
    double squares = 0;
    for (std::int64_t c = 0; c < 1024; ++c) squares += trial.value(0, 0, c) * trial.value(0, 0, c) / 1024;
    EXPECT_NEAR(squares, 1, 1e-3);
  });
}

TEST(Cases, candle_3727_f16_softmax_of_4096_zeros) {
  Trial trial(operator_program("softmax", ElementType::f16), 1, 4096);
  on_every_device(trial, [&] {
    EXPECT_EQ(trial.value(0, 0, 0), 0x1p-12);
    EXPECT_EQ(trial.row_sum(0, 0), 1);
  });
}

TEST(Cases, onnxruntime_29034_f16_rms_norm_of_large_values) {
  Trial trial(operator_program("rms_norm", ElementType::f16), 1, 64);
  trial.fill(0, [](std::int64_t, std::int64_t c) { return c % 2 != 0 ? -8000.0f : 8000.0f; });
  trial.fill(1, [](std::int64_t, std::int64_t) { return 1.0f; });
  on_every_device(trial, [&] {
    for (std::int64_t c = 0; c < 64; ++c) EXPECT_EQ(trial.value(0, 0, c), c % 2 != 0 ? -1 : 1);
  });
}

TEST(Cases, openvino_33456_softmax_of_infinity) {
  Trial trial(operator_program("softmax"), 1, 3);
  trial.fill(0, [](std::int64_t, std::int64_t c) { return c == 0 ? kInf : static_cast<float>(c); });
  // ∞ − ∞ is the exponent of column 0, so the sum is NaN and the whole row with it.
  on_every_device(trial, [&] {
    for (std::int64_t c = 0; c < 3; ++c) EXPECT_EQ(trial.value_bits(0, 0, c), 0x7fc00000u);
  });
}

TEST(Cases, pytorch_147284_softmax_of_odd_widths) {
  for (const std::int64_t cols : {513, 515, 767, 769, 1001, 1023}) {
    SCOPED_TRACE(cols);
    Trial trial(operator_program("softmax"), 2, cols);
    on_every_device(trial, [&] {
      for (std::int64_t r = 0; r < 2; ++r) EXPECT_NEAR(trial.row_sum(0, r), 1, 1e-5);
    });
  }
}

TEST(Cases, flashinfer_634_718_fused_add_and_norm) {
  for (const std::int64_t cols : {3584, 16384, 111, 500})
    for (const ElementType storage : kernels::storages())
      for (const char* name : {"residual_norm", "residual_norm_store"}) {
        SCOPED_TRACE(cols);
        Trial trial(operator_program(name, storage), 2, cols, Placement::odd);
        trial.fill_random(static_cast<std::uint64_t>(cols), -2, 2);
        on_every_device(trial, [&] { expect_close(trial); });
      }
}

TEST(Cases, quack_9310d47_layer_norm_padding_stays_out_of_the_variance) {
  Trial trial(operator_program("layer_norm"), 3, 769);
  Numbers numbers(5);
  trial.fill(0, [&](std::int64_t, std::int64_t) { return 1000.0f + numbers.between(-2, 2); });
  trial.fill(1, [](std::int64_t, std::int64_t) { return 1.0f; });
  on_every_device(trial, [&] {
    for (std::int64_t r = 0; r < 3; ++r) {
      double squares = 0;
      for (std::int64_t c = 0; c < 769; ++c) squares += trial.value(0, r, c) * trial.value(0, r, c) / 769;
      EXPECT_NEAR(squares, 1, 1e-3);  // 31 or 255 zeros among the values would make it thousands of times smaller
    }
  });
}

TEST(Cases, aiter_5290_bf16_rows_of_769_stay_in_their_rows) {
  for (const char* name : {"softmax", "log_softmax", "layer_norm", "rms_norm", "qk_norm", "residual_norm_store",
                           "rms_norm_int8", "residual_norm_fp8"})
    for (const Placement placement : {Placement::packed, Placement::odd}) {
      Trial trial(operator_program(name, ElementType::bf16), 5, 769, placement);
      trial.fill_random(9, -1, 1);
      on_every_device(trial, [&] { expect_close(trial); });
    }
}

TEST(Cases, pytorch_56325_view_at_an_odd_element_offset) {
  for (const ElementType storage : kernels::storages())
    for (const std::int64_t offset : {1, 3, 5, 7}) {
      SCOPED_TRACE(offset);
      Trial whole(operator_program("softmax", storage), 1, 4 * 128 + 8);
      whole.fill_random(2, -2, 2);
      Trial trial(operator_program("softmax", storage), 4, 128);
      trial.inputs[0] = {whole.inputs[0].at(0, offset), storage, 4, 128, 128, 1};
      on_every_device(trial, [&] { expect_close(trial); });
    }
}

TEST(Cases, unsloth_10617_transposed_and_sliced_x) {
  Trial source(operator_program("layer_norm"), 300, 7);
  source.fill_random(4, -2, 2);
  Trial trial(operator_program("layer_norm"), 7, 300);
  trial.fill_random(6, -2, 2);
  trial.inputs[0] = {source.inputs[0].data, ElementType::f32, 7, 300, 1, 7};  // the transpose
  on_every_device(trial, [&] { expect_close(trial); });
  Trial half(operator_program("layer_norm"), 150, 7);
  half.fill_random(6, -2, 2);
  half.inputs[0] = {source.inputs[0].data, ElementType::f32, 150, 7, 14, 1};  // every second row
  on_every_device(half, [&] { expect_close(half); });
}

TEST(Cases, vllm_48271_rows_at_once_and_in_chunks) {
  for (const char* name : {"rms_norm", "softmax", "layer_norm", "rms_norm_int8", "residual_norm_fp8", "logsumexp"}) {
    Trial whole(operator_program(name, ElementType::bf16), 4096, 64);
    whole.fill_random(8, -3, 3);
    for (const std::string& device : available_devices()) {
      const auto opened = verify::open(whole.program(), on_device(device));
      ASSERT_TRUE(opened.ok());
      ASSERT_TRUE(whole.run(**opened).ok());
      const Bytes all = whole.output();
      Bytes joined;
      std::int64_t chunk = 255;
      for (std::int64_t begin = 0; begin < 4096; begin += chunk, chunk = chunk > 17 ? chunk - 14 : 1 + chunk % 255) {
        chunk = std::min<std::int64_t>(chunk, 4096 - begin);
        Trial part(whole.program(), chunk, 64);
        for (std::size_t i = 0; i < part.inputs.size(); ++i) {
          part.inputs[i] = whole.inputs[i];
          if (whole.inputs[i].rows != 4096) continue;
          part.inputs[i].data = whole.inputs[i].at(begin, 0);
          part.inputs[i].rows = chunk;
        }
        ASSERT_TRUE(part.run(**opened).ok());
        const Bytes bytes = part.output();
        joined.insert(joined.end(), bytes.begin(), bytes.end());
      }
      EXPECT_TRUE(joined == all) << name << " on " << device << " depends on the number of rows";
    }
  }
}

TEST(Cases, pytorch_16762_argmax_of_ties_is_the_first) {
  for (const std::int64_t cols : {2, 33, 1000, 4099}) {
    SCOPED_TRACE(cols);
    Trial trial(operator_program("argmax"), 2, cols);
    trial.fill(0, [&](std::int64_t r, std::int64_t c) { return r == 0 || c >= cols / 2 ? 3.0f : 1.0f; });
    on_every_device(trial, [&] {
      EXPECT_EQ(trial.value(0, 0), 0);
      EXPECT_EQ(trial.value(0, 1), static_cast<double>(cols / 2));
    });
  }
}

TEST(Cases, pytorch_117617_argmax_of_several_nans_is_the_first) {
  Trial trial(operator_program("argmax"), 1, 500);
  trial.fill(0, [](std::int64_t, std::int64_t c) { return c == 470 || c == 77 || c == 301 ? std::nanf("") : kInf; });
  on_every_device(trial, [&] { EXPECT_EQ(trial.value(0, 0), 77); });
}

TEST(Cases, pytorch_22853_argmax_of_nan_6_8) {
  Trial trial(operator_program("argmax"), 1, 3);
  trial.fill(0, [](std::int64_t, std::int64_t c) { return c == 0 ? std::nanf("") : c == 1 ? 6.0f : 8.0f; });
  on_every_device(trial, [&] { EXPECT_EQ(trial.value(0, 0), 0); });
}

TEST(Cases, mlx_1895_argmax_and_argmin_over_subnormals) {
  for (const std::int64_t cols : {40, 300}) {
    const auto value = [](std::int64_t, std::int64_t c) {
      return c == 37 ? 1e-45f : c == 19 ? 9e-45f : 4e-45f;  // 1, 6 and 3 units of the least subnormal
    };
    Trial least(operator_program("argmin"), 1, cols), most(operator_program("argmax"), 1, cols);
    least.fill(0, value), most.fill(0, value);
    on_every_device(least, [&] { EXPECT_EQ(least.value(0, 0), 37); });
    on_every_device(most, [&] { EXPECT_EQ(most.value(0, 0), 19); });
  }
}

TEST(Cases, aiter_5151_bf16_store_rounds_to_nearest_even) {
  // A sum lands between two bf16 values: below, at and above the middle, with an even and with an odd lower neighbour.
  const float cases[][3] = {{1.0f, 0x1.8p-9f, 1.0f},
                            {1.0f, 0x1p-8f, 1.0f},
                            {1.0f, 0x1.4p-8f, 1.0f + 0x1p-7f},
                            {1.0f + 0x1p-7f, 0x1p-8f, 1.0f + 0x1p-6f},
                            {-1.0f, -0x1.4p-8f, -1.0f - 0x1p-7f}};
  auto sum = ir::parse("program sum_bf16(x: bf16[rows, cols])\n  store y: bf16[rows] = fold sum x\n", "case");
  ASSERT_TRUE(sum.ok()) << sum.error().text();
  for (const auto& [large, small, expected] : cases) {
    Trial trial(*sum, 1, 2);
    trial.set(0, 0, 0, large), trial.set(0, 0, 1, small);
    on_every_device(trial, [&] { EXPECT_EQ(trial.value(0, 0), static_cast<double>(expected)); });
  }
}

TEST(Cases, stepmesh_43_no_rows) {
  for (const kernels::Operator& op : kernels::operators()) {
    Trial trial(operator_program(op.name), 0, 7168);
    on_every_device(trial, [&] { EXPECT_TRUE(trial.output().empty()); });
  }
}

TEST(Cases, kernels_community_681_zero_block_and_a_value_that_rounds_past_127) {
  Trial trial(operator_program("rms_norm_q8"), 1, 96);
  trial.fill(1, [](std::int64_t, std::int64_t) { return 1.0f; });
  trial.fill(0, [](std::int64_t, std::int64_t c) { return c < 32 ? 0.0f : c < 64 ? 0.3f : -1e-3f; });
  on_every_device(trial, [&] {
    EXPECT_EQ(trial.value(1, 0, 0), 0);
    for (std::int64_t c = 0; c < 32; ++c) EXPECT_EQ(trial.value(0, 0, c), 0);
    for (std::int64_t c = 32; c < 64; ++c) EXPECT_EQ(trial.value(0, 0, c), 127);
    for (std::int64_t c = 64; c < 96; ++c) EXPECT_EQ(trial.value(0, 0, c), -127);
  });
  // 2^-149·k/127 rounds to a scale so small that the quotient is beyond 127: it is clamped.
  auto tiny = ir::parse(
      "program tiny(x: f32[rows, cols])\n  d = fold<32> max abs(x) / 127\n"
      "  store q: i8[rows, cols] = quantize(x, d)\n  store scale: f32[rows, cols/32] = d\n",
      "case");
  ASSERT_TRUE(tiny.ok()) << tiny.error().text();
  Trial small(*tiny, 1, 32);
  small.fill(0, [](std::int64_t, std::int64_t) { return 0x1.7p-142f; });  // 184 units of 2^-149, over 127: one unit
  on_every_device(small, [&] {
    EXPECT_EQ(small.value(1, 0, 0), 0x1p-149);
    for (std::int64_t c = 0; c < 32; ++c) EXPECT_EQ(small.value(0, 0, c), 127);
  });
}

}  // namespace
}  // namespace lanefold::testing
