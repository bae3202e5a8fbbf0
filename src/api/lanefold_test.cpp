#include "lanefold/lanefold.h"

#include <thread>

#include <gtest/gtest.h>

#include "api/test_calls.h"
#include "base/diagnostic.h"
#include "kernels/registry.h"
#include "verify/check.h"
#include "verify/standard_inputs.h"

namespace lanefold::api {
namespace {

constexpr char kScaled[] = R"(program scaled(x: f32[rows, cols], bias: f32[rows] = 0.0, factor = 2.0)
  store y: f32[rows, cols]     = x * factor + bias
  store top: f32[rows, cols/4] = fold<4> max x
  store total: f32[rows]       = fold sum x
)";

ConstMatrix read(const View& v) {
  return {v.data, static_cast<Type>(v.type), v.rows, v.cols, v.row_stride, v.column_stride};
}
Matrix written(const View& v) {
  return {v.data, static_cast<Type>(v.type), v.rows, v.cols, v.row_stride, v.column_stride};
}

/// Owned matrices of a program on its standard inputs, as the facade takes them.
struct Standard {
  Standard(const ir::Program& the_program, std::int64_t the_rows, std::int64_t the_cols)
      : program(the_program), rows(the_rows), cols(the_cols) {
    for (const verify::Matrix& matrix : in) inputs.push_back(read(matrix.view()));
    for (const verify::Matrix& matrix : out) outputs.push_back(written(matrix.view()));
  }

  /// The outputs' bytes against the oracle's exact meaning under the order.
  void expect_exact(ir::Order order, const std::vector<float>& parameters) const {
    const auto expected = oracle::evaluate_exact(
        program, {.inputs = verify::views(in), .parameters = parameters, .rows = rows, .cols = cols}, order);
    ASSERT_EQ(expected.size(), out.size());
    for (std::size_t o = 0; o < out.size(); ++o) {
      EXPECT_TRUE(out[o].bytes() == expected[o])
          << program.name << " " << program.stores[o].name << ", " << rows << " x " << cols;
      EXPECT_TRUE(out[o].sentinels_intact()) << program.stores[o].name;
    }
  }

  const ir::Program program;
  const std::int64_t rows, cols;
  std::vector<verify::Matrix> in = verify::standard_inputs(program, rows, cols);
  std::vector<verify::Matrix> out = verify::poisoned_outputs(program, rows, cols);
  std::vector<ConstMatrix> inputs;
  std::vector<Matrix> outputs;
};

ir::Program operator_program(std::string_view name, ElementType storage, const std::vector<std::string>& absent = {}) {
  return *kernels::build(*kernels::find(name), storage, absent);
}

TEST(Facade, OperatorsHaveTheOraclesBytesOnEveryDevice) {
  for (const std::string& name : operator_names()) {
    for (const Type storage : {Type::f32, Type::f16, Type::bf16}) {
      const ir::Program program = operator_program(name, static_cast<ElementType>(storage));
      for (const Device device : {Device::automatic, Device::lane_machine}) {
        const Kernel kernel = Kernel::compile_operator(name, storage, options(device));
        EXPECT_EQ(kernel.name(), program.name);
        const Standard standard(program, 3, 256);
        kernel.run(standard.inputs, standard.outputs, 3, 256);
        standard.expect_exact(ir::Order::canonical, verify::default_parameters(program));
        const CheckReport report = kernel.check(standard.inputs, standard.outputs, 3, 256);
        EXPECT_TRUE(report.ok()) << name;
        EXPECT_EQ(report.outputs.size(), program.stores.size());
        if (storage != Type::f32) break;
      }
    }
  }
}

TEST(Facade, SerialOrderHasTheOraclesBytes) {
  Options serial = options();
  serial.order = Order::serial;
  const Kernel kernel = Kernel::compile_operator("softmax", Type::f32, serial);
  const Standard standard(operator_program("softmax", ElementType::f32), 5, 301);
  kernel.run(standard.inputs, standard.outputs, 5, 301);
  standard.expect_exact(ir::Order::serial, verify::default_parameters(standard.program));
}

TEST(Facade, FreeOrderPassesTheCheck) {
  Options free = options();
  free.order = Order::free;
  const Kernel kernel = Kernel::compile_operator("rms_norm", Type::f32, free);
  const Standard standard(operator_program("rms_norm", ElementType::f32), 5, 300);
  kernel.run(standard.inputs, standard.outputs, 5, 300);
  EXPECT_TRUE(kernel.check(standard.inputs, standard.outputs, 5, 300).ok());
}

TEST(Facade, ProgramTellsItsPorts) {
  const Kernel kernel = Kernel::compile_program(kScaled, options());
  EXPECT_EQ(kernel.name(), "scaled");
  ASSERT_EQ(kernel.inputs().size(), 2u);
  EXPECT_EQ(kernel.inputs()[0].name, "x");
  EXPECT_EQ(kernel.inputs()[0].kind, Kind::element);
  EXPECT_EQ(kernel.inputs()[1].kind, Kind::row);
  ASSERT_EQ(kernel.outputs().size(), 3u);
  EXPECT_EQ(kernel.outputs()[1].name, "top");
  EXPECT_EQ(kernel.outputs()[1].kind, Kind::block);
  EXPECT_EQ(kernel.outputs()[1].block, 4);
  EXPECT_EQ(kernel.outputs()[2].type, Type::f32);
  ASSERT_EQ(kernel.parameters().size(), 1u);
  EXPECT_EQ(kernel.parameters()[0].name, "factor");
  EXPECT_EQ(kernel.parameters()[0].value, 2.0f);
}

TEST(Facade, NamesMayComeInAnyOrderAndDefaultsStand) {
  const Kernel kernel = Kernel::compile_program(kScaled, options());
  const std::vector<float> x = {1, 2, 3, 4, -5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, bias = {10, 20};
  std::vector<float> y(16), top(4), total(2);
  const auto run = [&](const std::vector<NamedParameter>& parameters) {
    kernel.run({{"bias", per_row(bias.data(), 2)}, {"x", matrix(x.data(), 2, 8)}},
               {{"total", per_row(total.data(), 2)}, {"y", matrix(y.data(), 2, 8)}, {"top", matrix(top.data(), 2, 2)}},
               parameters);
  };
  run({});
  EXPECT_EQ(y[0], 12.0f);
  EXPECT_EQ(y[15], 52.0f);
  EXPECT_EQ(top, (std::vector<float>{4, 8, 12, 16}));
  EXPECT_EQ(total, (std::vector<float>{26, 100}));
  run({{"factor", -1.0f}});
  EXPECT_EQ(y[0], 9.0f);
  EXPECT_EQ(y[15], 4.0f);
}

TEST(Facade, StridesAndRunningInPlace) {
  const Kernel kernel =
      Kernel::compile_program("program twice(x: f32[rows, cols])\n  store y: f32[rows, cols] = x + x\n", options());
  // Three rows of four, backwards from the last row, in memory with gaps between rows and columns.
  std::vector<float> memory(60, -1.0f);
  for (std::size_t r = 0; r < 3; ++r)
    for (std::size_t c = 0; c < 4; ++c) memory[20 * r + 3 * c] = static_cast<float>(4 * r + c);
  const Matrix backwards = {.data = &memory[40], .rows = 3, .cols = 4, .row_stride = -20, .column_stride = 3};
  kernel.run({{"x", backwards}}, {{"y", backwards}});
  for (std::size_t i = 0; i < memory.size(); ++i) {
    const bool element = i % 20 < 12 && i % 20 % 3 == 0;
    EXPECT_EQ(memory[i], element ? 2.0f * static_cast<float>(4 * (i / 20) + i % 20 / 3) : -1.0f) << i;
  }
  // A row stride of 0: one row, read for each row of the output.
  const float row[4] = {1, 2, 3, 4};
  float y[8] = {};
  kernel.run({{"x", ConstMatrix{.data = row, .rows = 2, .cols = 4, .row_stride = 0}}}, {{"y", matrix(y, 2, 4)}});
  EXPECT_EQ(y[1], 4.0f);
  EXPECT_EQ(y[7], 8.0f);
}

TEST(Facade, AbsentInputsHaveStandIns) {
  Options without = options();
  without.absent = {"weight"};
  const Kernel kernel = Kernel::compile_operator("rms_norm", Type::f32, without);
  ASSERT_EQ(kernel.inputs().size(), 1u);
  const Standard standard(operator_program("rms_norm", ElementType::f32, {"weight"}), 2, 100);
  kernel.run({{"x", standard.inputs[0]}}, {{"y", standard.outputs[0]}});
  standard.expect_exact(ir::Order::canonical, verify::default_parameters(standard.program));
}

TEST(Facade, SeveralThreadsShareOneKernel) {
  const Kernel kernel = Kernel::compile_operator("layer_norm", Type::f32, options());
  const ir::Program program = operator_program("layer_norm", ElementType::f32);
  const auto work = [&](const Kernel own, std::int64_t first) {
    for (std::int64_t cols = first; cols < 2600; cols += 411) {
      const Standard standard(program, 40, cols);
      own.run(standard.inputs, standard.outputs, 40, cols);
      standard.expect_exact(ir::Order::canonical, verify::default_parameters(program));
    }
  };
  std::thread other(work, kernel, 64);
  work(kernel, 65);
  other.join();
}

TEST(Facade, CheckFindsAWrongElement) {
  const SmallNorm small;
  std::vector<float> y(16);
  const ConstMatrix inputs[] = {matrix(small.x, 2, 8), per_column(small.weight, 8)};
  const Matrix outputs[] = {matrix(y.data(), 2, 8)};
  small.kernel.run(inputs, outputs, 2, 8);
  CheckReport report = small.kernel.check(inputs, outputs, 2, 8);
  ASSERT_EQ(report.outputs.size(), 1u);
  EXPECT_TRUE(report.ok());
  EXPECT_EQ(report.outputs[0].name, "y");
  EXPECT_EQ(report.outputs[0].elements, 16);
  EXPECT_EQ(report.outputs[0].first_row, -1);
  const float right = y[13];
  y[13] += 0.25f;
  report = small.kernel.check(inputs, outputs, 2, 8);
  EXPECT_FALSE(report.ok());
  EXPECT_EQ(report.outputs[0].wrong, 1);
  EXPECT_EQ(report.outputs[0].first_row, 1);
  EXPECT_EQ(report.outputs[0].first_column, 5);
  EXPECT_EQ(report.outputs[0].got, static_cast<double>(y[13]));
  EXPECT_NEAR(report.outputs[0].expected, right, 1e-5);
  expect_error(Code::no_columns, [&] {
    const ConstMatrix none[] = {matrix(small.x, 2, 0), per_column(small.weight, 0)};
    const Matrix nothing[] = {matrix(y.data(), 2, 0)};
    (void)small.kernel.check(none, nothing, 2, 0);
  });
}

TEST(Facade, PlansAndLaneModulesAsText) {
  const Kernel kernel = Kernel::compile_operator("rms_norm", Type::f32, options());
  const std::string line = kernel.plan_line(4, 256);
  EXPECT_NE(line.find("V = 64, layout "), std::string::npos) << line;
  EXPECT_NE(line.find("lane "), std::string::npos) << line;
  EXPECT_NE(kernel.plan_json(4, 256).find("\"candidates\""), std::string::npos);
  EXPECT_NE(kernel.lane_text(4, 256).find("rms_norm"), std::string::npos);
  Options serial = options();
  serial.order = Order::serial;
  const std::string serial_line = Kernel::compile_operator("rms_norm", Type::f32, serial).plan_line(4, 256);
  EXPECT_NE(serial_line.find("one lane a row"), std::string::npos) << serial_line;
  expect_error(Code::no_columns, [&] { (void)kernel.plan_line(4, 0); });
  expect_error(Code::no_columns, [&] { (void)kernel.plan_json(4, 0); });
  expect_error(Code::no_columns, [&] { (void)kernel.lane_text(4, 0); });
}

TEST(Facade, EmitsEachLanguageUnderAComment) {
  const Kernel kernel = Kernel::compile_operator("rms_norm", Type::f32, options());
  const std::string lane = kernel.emit(4, 256, Emission::lane);
  EXPECT_TRUE(lane.starts_with("# rms_norm for 4 x 256 on cpu-")) << lane.substr(0, 100);
  EXPECT_TRUE(lane.ends_with(kernel.lane_text(4, 256)));
  if (kernel.device() == Device::cpu) {
    EXPECT_NE(kernel.emit(4, 256, Emission::llvm).find("define "), std::string::npos);
    EXPECT_NE(kernel.emit(4, 256, Emission::assembly).find("\tret"), std::string::npos);
  } else {
    expect_error(Code::device_missing, [&] { (void)kernel.emit(4, 256, Emission::llvm); }, "emission");
    expect_error(Code::device_missing, [&] { (void)kernel.emit(4, 256, Emission::assembly); }, "emission");
  }
  expect_error(Code::unknown_emission, [&] { (void)kernel.emit(4, 256, static_cast<Emission>(9)); }, "emission");
  expect_error(Code::no_columns, [&] { (void)kernel.emit(4, 0, Emission::lane); });
}

TEST(Facade, TellsItsTolerance) {
  const Tolerance own = Kernel::compile_operator("rms_norm_q8", Type::f32, options()).tolerance();
  const kernels::Operator& op = *kernels::find("rms_norm_q8");
  EXPECT_EQ(own.absolute, op.absolute_tolerance);
  EXPECT_EQ(own.relative, op.relative_tolerance);
  EXPECT_EQ(own.code, op.code_tolerance);
  EXPECT_EQ(Kernel::compile_program(kScaled, options()).tolerance().absolute, 1e-5);
}

TEST(Facade, PrepareTouchesNoElement) {
  const Kernel kernel = Kernel::compile_operator("rms_norm", Type::f32, options());
  const Standard standard(operator_program("rms_norm", ElementType::f32), 3, 100);
  const std::vector<std::byte> poison = standard.out[0].bytes();
  kernel.prepare(standard.inputs, standard.outputs, 3, 100);
  EXPECT_TRUE(standard.out[0].bytes() == poison);
  kernel.run(standard.inputs, standard.outputs, 3, 100);
  standard.expect_exact(ir::Order::canonical, verify::default_parameters(standard.program));
  expect_error(Code::call_shape_mismatch, [&] { kernel.prepare(standard.inputs, standard.outputs, 3, 99); });
}

TEST(Facade, DevicesAreThoseOfTheBuild) {
  EXPECT_EQ(Kernel::compile_program(kScaled, options(Device::lane_machine)).device(), Device::lane_machine);
  if (Kernel::compile_program(kScaled, options()).device() == Device::cpu) {
    EXPECT_EQ(Kernel::compile_program(kScaled, options(Device::cpu)).device(), Device::cpu);
  } else {
    expect_error(Code::device_missing, [] { (void)Kernel::compile_program(kScaled, options(Device::cpu)); });
  }
}

TEST(Facade, NoRowsAreNoWork) {
  const Kernel kernel = Kernel::compile_operator("rms_norm", Type::f32, options());
  const float weight[8] = {};
  kernel.run({{"x", matrix(static_cast<const float*>(nullptr), 0, 8)}, {"weight", per_column(weight, 8)}},
             {{"y", matrix(static_cast<float*>(nullptr), 0, 8)}});
}

TEST(Facade, FaultsOfCompiling) {
  expect_error(Code::unknown_operator, [] { (void)Kernel::compile_operator("rms_nrom", Type::f32); });
  expect_error(Code::operator_storage, [] { (void)Kernel::compile_operator("rms_norm", Type::i8); }, "rms_norm");
  expect_error(Code::syntax, [] { (void)Kernel::compile_program("program p(x: f32[rows, cols]"); });
  expect_error(Code::no_stores, [] { (void)Kernel::compile_program("program p(x: f32[rows, cols])\n  a = x\n"); });
  Options wrong = options();
  wrong.absent = {"x"};
  expect_error(Code::input_required, [&] { (void)Kernel::compile_program(kScaled, wrong); });
  wrong.absent = {"wieght"};
  expect_error(Code::unknown_name, [&] { (void)Kernel::compile_operator("rms_norm", Type::f32, wrong); });
  wrong = options();
  wrong.threads = 1025;
  expect_error(Code::number_invalid, [&] { (void)Kernel::compile_operator("rms_norm", Type::f32, wrong); }, "threads");
  wrong = options();
  wrong.order = static_cast<Order>(9);
  expect_error(Code::unknown_order, [&] { (void)Kernel::compile_operator("rms_norm", Type::f32, wrong); }, "order");
  wrong = options();
  wrong.device = static_cast<Device>(9);
  expect_error(Code::unknown_device, [&] { (void)Kernel::compile_operator("rms_norm", Type::f32, wrong); }, "device");
  const auto is_error = [](std::string_view text) {
    try {
      (void)Kernel::compile_program(text);
    } catch (const Error& error) {
      return !error.hint().empty() && error.place().starts_with("program:2:");
    }
    return false;
  };
  EXPECT_TRUE(is_error("program p(x: f32[rows, cols])\n  store y: f32[rows, cols] = zz\n"));
}

}  // namespace
}  // namespace lanefold::api
