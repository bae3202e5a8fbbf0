// Public reports on GPU kernels, on GPU-shaped targets. The lane machine finds races, accesses out of bounds and
// lanes that take no part. cases_test.cpp has the cases for whatever target a device has of its own,
// gpu_threads_test.cpp those of threads, slots and barriers.
#include <limits>

#include "conformance/gpu_shapes.h"

namespace lanefold::testing {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

TEST(GpuCases, vllm_48271_rows_at_once_and_in_chunks) {
  constexpr std::int64_t kRows = 4096, kCols = 64;
  for (const char* name : {"rms_norm", "softmax"})
    for (const std::string& target_name : kWide) {
      const target::Target target = *target::find(target_name);
      verify::DeviceOptions options = on_device("lane-machine");
      options.target = target;
      Trial whole(operator_program(name, ElementType::bf16), kRows, kCols);
      whole.fill_random(8, -3, 3);
      ASSERT_TRUE(whole.run(options).ok());
      const Bytes all = whole.output();
      Bytes joined;
      std::int64_t chunk = 255;  // and fewer: each number of rows has a plan of its own
      for (std::int64_t begin = 0; begin < kRows; begin += chunk, chunk = chunk > 17 ? chunk - 14 : 1 + chunk % 255) {
        chunk = std::min(chunk, kRows - begin);
        Trial part(whole.program(), chunk, kCols);
        for (std::size_t i = 0; i < part.inputs.size(); ++i) {
          part.inputs[i] = whole.inputs[i];
          if (whole.inputs[i].rows != kRows) continue;
          part.inputs[i].data = whole.inputs[i].at(begin, 0);
          part.inputs[i].rows = chunk;
        }
        ASSERT_TRUE(part.run(options).ok());
        const Bytes bytes = part.output();
        joined.insert(joined.end(), bytes.begin(), bytes.end());
      }
      EXPECT_TRUE(joined == all) << name << " on " << target_name << " depends on the number of rows";
    }
}

TEST(GpuCases, tvm_12274_max_with_inactive_lanes) {
  for (const std::int64_t cols : {1, 3, 5, 31, 33, 63, 65, 100, 513}) {
    SCOPED_TRACE(cols);
    Trial trial(operator_program("max"), 3, cols);
    trial.fill(0, [](std::int64_t r, std::int64_t c) { return -1.0f - static_cast<float>(c + r); });
    on_gpu_shapes(trial, kAll, [&] {
      for (std::int64_t r = 0; r < 3; ++r) EXPECT_EQ(trial.value(0, r), -1.0 - static_cast<double>(r));
    });
  }
}

TEST(GpuCases, tilelang_3266_widths_that_are_no_power_of_two) {
  for (const std::int64_t cols : {3, 48, 80, 96, 100, 1023, 1536}) {
    SCOPED_TRACE(cols);
    Trial trial(operator_program("sum"), 2, cols);
    trial.fill(0, [](std::int64_t r, std::int64_t c) { return static_cast<float>(c + 1 + r); });
    on_gpu_shapes(trial, kAll, [&] {
      EXPECT_EQ(trial.value(0, 0), static_cast<double>(cols * (cols + 1) / 2));
      EXPECT_EQ(trial.value(0, 1), static_cast<double>(cols * (cols + 1) / 2 + cols));
    });
  }
}

TEST(GpuCases, mlx_1467_softmax_all_minus_infinity) {
  for (const std::int64_t cols : {127, 128, 129}) {
    SCOPED_TRACE(cols);
    Trial trial(operator_program("softmax"), 2, cols);
    trial.fill(0, [](std::int64_t, std::int64_t) { return -kInf; });
    on_gpu_shapes(trial, kAll, [&] {
      for (std::int64_t c = 0; c < cols; ++c) EXPECT_EQ(trial.value_bits(0, 1, c), 0x7fc00000u) << c;
    });
  }
}

TEST(GpuCases, pytorch_147284_softmax_of_odd_widths) {
  for (const std::int64_t cols : {513, 515, 767, 769, 1001, 1023}) {
    SCOPED_TRACE(cols);
    Trial trial(operator_program("softmax"), 2, cols);
    on_gpu_shapes(trial, kWide, [&] {
      for (std::int64_t r = 0; r < 2; ++r) EXPECT_NEAR(trial.row_sum(0, r), 1, 1e-5);
    });
  }
}

TEST(GpuCases, aiter_5290_bf16_rows_of_769_stay_in_their_rows) {
  // The machine finds a store outside of the rows' elements, the sentinels any byte that changed there.
  for (const char* name : {"softmax", "layer_norm", "rms_norm", "residual_norm"})
    for (const Placement placement : {Placement::packed, Placement::odd}) {
      Trial trial(operator_program(name, ElementType::bf16), 5, 769, placement);
      trial.fill_random(9, -1, 1);
      on_gpu_shapes(trial, kWide, [&] { expect_close(trial); });
    }
}

TEST(GpuCases, flashinfer_634_718_fused_add_and_norm) {
  for (const std::int64_t cols : {3584, 16384, 111, 500})
    for (const ElementType storage : kernels::storages()) {
      SCOPED_TRACE(cols);
      Trial trial(operator_program("residual_norm", storage), 1, cols, Placement::odd);
      trial.fill_random(static_cast<std::uint64_t>(cols), -2, 2);
      on_gpu_shapes(trial, kWide, [&] { expect_close(trial); });
    }
}

TEST(GpuCases, quack_9310d47_layer_norm_padding_stays_out_of_the_variance) {
  Trial trial(operator_program("layer_norm"), 3, 769);
  Numbers numbers(5);
  trial.fill(0, [&](std::int64_t, std::int64_t) { return 1000.0f + numbers.between(-2, 2); });
  trial.fill(1, [](std::int64_t, std::int64_t) { return 1.0f; });
  on_gpu_shapes(trial, kAll, [&] {
    for (std::int64_t r = 0; r < 3; ++r) {
      double squares = 0;
      for (std::int64_t c = 0; c < 769; ++c) squares += trial.value(0, r, c) * trial.value(0, r, c) / 769;
      EXPECT_NEAR(squares, 1, 1e-3);
    }
  });
}

TEST(GpuCases, pytorch_56325_view_at_an_odd_element_offset) {
  // Vector loads promise an alignment that such rows do not have; the machine finds a promise that is broken.
  for (const ElementType storage : kernels::storages())
    for (const std::int64_t offset : {1, 3}) {
      SCOPED_TRACE(offset);
      Trial whole(operator_program("softmax", storage), 1, 4 * 257 + 8);
      whole.fill_random(2, -2, 2);
      Trial trial(operator_program("softmax", storage), 4, 257);
      trial.inputs[0] = {whole.inputs[0].at(0, offset), storage, 4, 257, 257, 1};
      on_gpu_shapes(trial, kWide, [&] { expect_close(trial); });
    }
}

TEST(GpuCases, pytorch_16762_117617_argmax_of_ties_and_nans) {
  for (const std::int64_t cols : {33, 500, 1000}) {
    SCOPED_TRACE(cols);
    Trial trial(operator_program("argmax"), 3, cols);
    trial.fill(0, [&](std::int64_t r, std::int64_t c) {
      if (r == 2 && (c == cols - 1 || c == cols / 2 || c == cols - 7)) return std::nanf("");
      return r == 0 || c >= cols / 3 ? 3.0f : 1.0f;
    });
    on_gpu_shapes(trial, kAll, [&] {
      EXPECT_EQ(trial.value(0, 0), 0);
      EXPECT_EQ(trial.value(0, 1), static_cast<double>(cols / 3));
      EXPECT_EQ(trial.value(0, 2), static_cast<double>(cols / 2));
    });
  }
}

TEST(GpuCases, stepmesh_43_no_rows) {
  for (const std::string& target_name : kAll) {
    verify::DeviceOptions options = on_device("lane-machine");
    options.target = *target::find(target_name);
    for (const kernels::Operator& op : kernels::operators()) {
      Trial trial(operator_program(op.name), 0, 7168);
      const Status status = trial.run(options);
      ASSERT_TRUE(status.ok()) << status.error().text();
      EXPECT_TRUE(trial.output().empty());
    }
  }
}

}  // namespace
}  // namespace lanefold::testing
