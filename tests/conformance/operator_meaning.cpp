// The FP64 meaning of every operator of the library, against the mathematics written as plain loops, and the exact FP32
// meaning against that within the operator's tolerances.
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/load_store.h"
#include "kernels/registry.h"
#include "oracle/oracle.h"
#include "oracle/test_program.h"

namespace lanefold {
namespace {

using Numbers = std::vector<double>;
/// Inputs by name for one row (as stored, widened to double) and stores by name that come out.
using Named = std::map<std::string, Numbers>;
using RowFunction = std::function<Named(const Named& row)>;

constexpr double kInf = std::numeric_limits<double>::infinity();
// What a call passes as parameters: not the defaults, so that each one shows.
const std::map<std::string, float> kParameters = {{"eps", 1e-3f}, {"offset", 0.5f}, {"x_scale", 0.22f}};

double parameter(const std::string& name) { return static_cast<double>(kParameters.at(name)); }

Numbers rms(const Numbers& s, const Numbers& weight) {
  double squares = 0;
  for (const double v : s) squares += v * v;
  const double root = std::sqrt(squares / static_cast<double>(s.size()) + parameter("eps"));
  Numbers y;
  for (std::size_t c = 0; c < s.size(); ++c) y.push_back(s[c] * (weight[c] + parameter("offset")) / root);
  return y;
}

Numbers residual_stream(const Named& in) {
  Numbers s;
  for (std::size_t c = 0; c < in.at("x").size(); ++c)
    s.push_back(in.at("residual")[c] + parameter("x_scale") * in.at("x")[c]);
  return s;
}

Named quantised(const Numbers& n) {
  Named out;
  for (std::size_t begin = 0; begin < n.size(); begin += 32) {
    double largest = 0;
    for (std::size_t c = begin; c < begin + 32; ++c) largest = std::max(largest, std::fabs(n[c]));
    const double scale = largest / 127;
    out["scale"].push_back(scale);
    for (std::size_t c = begin; c < begin + 32; ++c) out["q"].push_back(scale == 0 ? 0 : std::round(n[c] / scale));
  }
  return out;
}

const std::map<std::string_view, RowFunction>& loops() {
  static const std::map<std::string_view, RowFunction> table = {
      {"sum",
       [](const Named& in) {
         double sum = 0;
         for (const double v : in.at("x")) sum += v;
         return Named{{"y", {sum}}};
       }},
      {"max",
       [](const Named& in) {
         double largest = -kInf;
         for (const double v : in.at("x")) largest = v > largest ? v : largest;
         return Named{{"y", {largest}}};
       }},
      {"argmax",
       [](const Named& in) {
         std::size_t best = 0;
         for (std::size_t c = 1; c < in.at("x").size(); ++c) best = in.at("x")[c] > in.at("x")[best] ? c : best;
         return Named{{"y", {static_cast<double>(best)}}};
       }},
      {"softmax",
       [](const Named& in) {
         double sum = 0;
         Numbers y;
         for (const double v : in.at("x")) sum += std::exp(v);  // small values: no shift needed
         for (const double v : in.at("x")) y.push_back(std::exp(v) / sum);
         return Named{{"y", y}};
       }},
      {"layer_norm",
       [](const Named& in) {
         const Numbers& x = in.at("x");
         const auto n = static_cast<double>(x.size());
         double mean = 0, variance = 0;
         for (const double v : x) mean += v / n;
         for (const double v : x) variance += (v - mean) * (v - mean) / n;
         Numbers y;
         for (std::size_t c = 0; c < x.size(); ++c)
           y.push_back((x[c] - mean) / std::sqrt(variance + parameter("eps")) *
                           (in.at("weight")[c] + parameter("offset")) +
                       in.at("bias")[c]);
         return Named{{"y", y}};
       }},
      {"masked_softmax",
       [](const Named& in) {
         double sum = 0;
         Numbers y;
         for (std::size_t c = 0; c < in.at("x").size(); ++c) y.push_back(std::exp(in.at("x")[c] + in.at("mask")[c]));
         for (const double v : y) sum += v;
         for (double& v : y) v /= sum;
         return Named{{"y", y}};
       }},
      {"matvec",
       [](const Named& in) {
         double sum = 0;
         for (std::size_t c = 0; c < in.at("x").size(); ++c) sum += in.at("w")[c] * in.at("x")[c];
         return Named{{"y", {sum}}};
       }},
      {"rms_norm", [](const Named& in) { return Named{{"y", rms(in.at("x"), in.at("weight"))}}; }},
      {"rms_norm_q8", [](const Named& in) { return quantised(rms(in.at("x"), in.at("weight"))); }},
      {"residual_norm", [](const Named& in) { return Named{{"y", rms(residual_stream(in), in.at("weight"))}}; }},
      {"residual_norm_q8",
       [](const Named& in) {
         const Numbers s = residual_stream(in);
         Named out = quantised(rms(s, in.at("weight")));
         out["residual_out"] = s;
         return out;
       }},
  };
  return table;
}

/// A call of an operator with inputs of varied numbers.
struct Call {
  ir::Program program;
  oracle::Bindings bindings;
  std::vector<std::vector<std::byte>> memory;

  Call(const kernels::Operator& op, ElementType storage, std::int64_t rows, std::int64_t cols)
      : program(kernels::build(op, storage).value()), memory(program.inputs.size()) {
    bindings.rows = rows, bindings.cols = cols;
    for (std::size_t i = 0; i < program.inputs.size(); ++i) {
      const bool column = program.inputs[i].kind.tag == ir::Kind::Tag::column;
      const std::int64_t count = (column ? 1 : rows) * cols;
      const Numbers numbers = oracle::testing::varied_numbers(count, static_cast<std::uint32_t>(i + 1));
      memory[i].resize(static_cast<std::size_t>(count) * element_bytes(storage));
      for (std::int64_t k = 0; k < count; ++k)
        store_element(memory[i].data() + static_cast<std::size_t>(k) * element_bytes(storage), storage,
                      static_cast<float>(numbers[static_cast<std::size_t>(k)] / 8));
      bindings.inputs.push_back({memory[i].data(), storage, column ? 1 : rows, cols, column ? 0 : cols, 1});
    }
    for (const ir::Parameter& p : program.parameters) bindings.parameters.push_back(kParameters.at(p.name));
  }

  void set(std::int64_t row, std::int64_t col, float value) {
    store_element(bindings.inputs[0].at(row, col), bindings.inputs[0].type, value);
  }

  Named row_inputs(std::int64_t row) const {
    Named named;
    for (std::size_t i = 0; i < program.inputs.size(); ++i) {
      const View& view = bindings.inputs[i];
      for (std::int64_t c = 0; c < view.cols; ++c)
        named[program.inputs[i].name].push_back(load_element_f64(view.at(row, c), view.type));
    }
    return named;
  }

  /// The exact results of a store as doubles.
  Numbers exact(std::size_t store, ir::Order order = ir::Order::canonical) const {
    const ElementType storage = program.stores[store].storage;
    const std::vector<std::byte> bytes = oracle::evaluate_exact(program, bindings, order)[store];
    Numbers numbers;
    for (std::size_t at = 0; at < bytes.size(); at += element_bytes(storage))
      numbers.push_back(load_element_f64(bytes.data() + at, storage));
    return numbers;
  }
};

/// Half an ulp, relative, of a storage type.
double storage_rounding(ElementType type) {
  return type == ElementType::f16 ? 0x1p-11 : type == ElementType::bf16 ? 0x1p-8 : 0;
}

class OperatorMeaning : public ::testing::TestWithParam<std::string_view> {};

TEST_P(OperatorMeaning, EqualsPlainLoops) {
  const kernels::Operator& op = *kernels::find(GetParam());
  for (const ElementType storage : kernels::storages()) {
    for (const std::int64_t cols : {32, 96, 1024}) {
      const Call call(op, storage, 3, cols);
      const auto reference = oracle::evaluate_fp64(call.program, call.bindings);
      for (std::size_t s = 0; s < call.program.stores.size(); ++s) {
        const ir::Store& store = call.program.stores[s];
        Numbers expected;
        for (std::int64_t row = 0; row < 3; ++row) {
          const Named out = loops().at(op.name)(call.row_inputs(row));
          expected.insert(expected.end(), out.at(store.name).begin(), out.at(store.name).end());
        }
        ASSERT_EQ(reference[s].size(), expected.size()) << store.name;
        for (std::size_t i = 0; i < expected.size(); ++i)
          ASSERT_NEAR(reference[s][i], expected[i], 1e-12 + 1e-12 * std::fabs(expected[i])) << store.name << ' ' << i;
      }
    }
  }
}

TEST_P(OperatorMeaning, ExactResultsLieWithinTheTolerances) {
  const kernels::Operator& op = *kernels::find(GetParam());
  for (const ElementType storage : kernels::storages()) {
    for (const ir::Order order : {ir::Order::canonical, ir::Order::serial}) {
      const Call call(op, storage, 2, 992);
      const auto reference = oracle::evaluate_fp64(call.program, call.bindings);
      for (std::size_t s = 0; s < call.program.stores.size(); ++s) {
        const ir::Store& store = call.program.stores[s];
        const Numbers exact = call.exact(s, order);
        ASSERT_EQ(exact.size(), reference[s].size());
        for (std::size_t i = 0; i < exact.size(); ++i) {
          const double size = std::fabs(reference[s][i]);
          const double allowed =
              is_float(store.storage)
                  ? op.absolute_tolerance + (op.relative_tolerance + storage_rounding(store.storage)) * size
                  : op.code_tolerance;
          ASSERT_LE(std::fabs(exact[i] - reference[s][i]), allowed) << store.name << ' ' << i;
        }
      }
    }
  }
}

std::vector<std::string_view> operator_names() {
  std::vector<std::string_view> names;
  for (const kernels::Operator& op : kernels::operators()) names.push_back(op.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Library, OperatorMeaning, ::testing::ValuesIn(operator_names()),
                         [](const auto& tested) { return std::string(tested.param); });

TEST(OperatorSpecialValues, NanWinsTheMaximumAndTheFirstOneTheArgmax) {
  for (const ElementType storage : kernels::storages()) {
    Call max(*kernels::find("max"), storage, 1, 100), argmax(*kernels::find("argmax"), storage, 1, 100);
    for (Call* call : {&max, &argmax}) {
      call->set(0, 3, std::numeric_limits<float>::infinity());
      call->set(0, 97, std::nanf(""));
      call->set(0, 40, std::nanf(""));
    }
    EXPECT_TRUE(std::isnan(max.exact(0)[0]));
    EXPECT_TRUE(std::isnan(oracle::evaluate_fp64(max.program, max.bindings)[0][0]));
    for (const ir::Order order : {ir::Order::canonical, ir::Order::serial}) EXPECT_EQ(argmax.exact(0, order)[0], 40);
    EXPECT_EQ(oracle::evaluate_fp64(argmax.program, argmax.bindings)[0][0], 40);
  }
}

TEST(OperatorSpecialValues, ArgmaxTakesTheLowestAmongEquals) {
  for (const std::int64_t n : {1, 2, 31, 32, 33, 1000, 33000}) {
    Call call(*kernels::find("argmax"), ElementType::f32, 1, n);
    for (std::int64_t c = 0; c < n; ++c) call.set(0, c, c == n - 1 || c == n / 2 ? 9.0f : 1.0f);
    EXPECT_EQ(call.exact(0)[0], static_cast<double>(n / 2)) << n;
    for (std::int64_t c = 0; c < n; ++c) call.set(0, c, c % 2 != 0 ? 0.0f : -0.0f);  // equal zeros
    EXPECT_EQ(call.exact(0)[0], 0) << n;
    for (std::int64_t c = 0; c < n; ++c) call.set(0, c, -std::numeric_limits<float>::infinity());
    EXPECT_EQ(call.exact(0)[0], 0) << n;
  }
}

TEST(OperatorSpecialValues, MaxPrefersPositiveZero) {
  Call call(*kernels::find("max"), ElementType::f32, 1, 50);
  for (std::int64_t c = 0; c < 50; ++c) call.set(0, c, -0.0f);
  EXPECT_TRUE(std::signbit(call.exact(0)[0]));
  call.set(0, 33, 0.0f);
  EXPECT_FALSE(std::signbit(call.exact(0)[0]));
}

TEST(OperatorSpecialValues, SoftmaxOfInfinities) {
  Call call(*kernels::find("softmax"), ElementType::f32, 3, 40);
  for (std::int64_t c = 0; c < 40; ++c) {
    call.set(0, c, -std::numeric_limits<float>::infinity());
    call.set(1, c, c == 7 ? 1.0f : -std::numeric_limits<float>::infinity());
    call.set(2, c, c == 7 ? std::numeric_limits<float>::infinity() : 0.0f);
  }
  const auto reference = oracle::evaluate_fp64(call.program, call.bindings)[0];
  for (const Numbers& y : {call.exact(0), reference}) {
    for (std::size_t c = 0; c < 40; ++c) {
      EXPECT_TRUE(std::isnan(y[c]));
      EXPECT_EQ(y[40 + c], c == 7 ? 1 : 0);
      EXPECT_TRUE(std::isnan(y[80 + c]));  // ∞ − ∞ is among the exponents
    }
  }
}

TEST(OperatorSpecialValues, QuantisedZerosAndNans) {
  Call call(*kernels::find("rms_norm_q8"), ElementType::f32, 2, 64);
  for (std::int64_t c = 0; c < 32; ++c) call.set(0, c, 0.0f);
  call.set(1, 5, std::nanf(""));
  const Numbers q = call.exact(0), scale = call.exact(1);
  for (std::size_t c = 0; c < 32; ++c) EXPECT_EQ(q[c], 0);
  EXPECT_EQ(scale[0], 0);
  EXPECT_GT(scale[1], 0);
  for (std::size_t c = 64; c < 128; ++c) EXPECT_EQ(q[c], 0);
  EXPECT_TRUE(std::isnan(scale[2]) && std::isnan(scale[3]));
}

}  // namespace
}  // namespace lanefold
