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
#include "conformance/operator_table.h"
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
const std::map<std::string, float> kParameters = {{"eps", 1e-3f},       {"offset", 0.5f},       {"x_scale", 0.22f},
                                                  {"correction", 1.0f}, {"ignore_index", 3.0f}, {"scale", 0.02f}};

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

/// Codes and scales of each run of `width` columns: the greatest of a run is `most`. int8 codes are rounded; what e4m3
/// can hold of a code is the store's affair.
Named quantised(const Numbers& n, std::size_t width, double most) {
  Named out;
  for (std::size_t begin = 0; begin < n.size(); begin += width) {
    double largest = 0;
    for (std::size_t c = begin; c < begin + width; ++c) largest = std::max(largest, std::fabs(n[c]));
    const double scale = largest / most;
    out["scale"].push_back(scale);
    for (std::size_t c = begin; c < begin + width; ++c) {
      const double code = scale == 0 ? 0 : n[c] / scale;
      out["q"].push_back(most == 127 ? std::round(code) : code);
    }
  }
  return out;
}

/// Codes of a scale that the caller gives.
Named with_given_scale(const Numbers& n, bool int8) {
  Named out;
  for (const double v : n) {
    const double code = v / parameter("scale");
    out["q"].push_back(int8 ? std::max(-127.0, std::min(127.0, std::round(code))) : code);
  }
  return out;
}

double sum_of(const Numbers& x) {
  double sum = 0;
  for (const double v : x) sum += v;
  return sum;
}

double sum_of_exponentials(const Numbers& x) {  // of small values: no shift needed
  double sum = 0;
  for (const double v : x) sum += std::exp(v);
  return sum;
}

std::size_t place_of_extreme(const Numbers& x, double sign) {
  std::size_t best = 0;
  for (std::size_t c = 1; c < x.size(); ++c) best = sign * x[c] > sign * x[best] ? c : best;
  return best;
}

Numbers added(const Numbers& a, const Numbers& b) {
  Numbers sum;
  for (std::size_t c = 0; c < a.size(); ++c) sum.push_back(a[c] + b[c]);
  return sum;
}

/// Sums, products and extremes: one number a row.
std::map<std::string_view, RowFunction> reductions() {
  using Reduction = std::function<double(const Numbers& x)>;
  const std::map<std::string_view, Reduction> of_x = {
      {"sum", sum_of},
      {"prod",
       [](const Numbers& x) {
         double product = 1;
         for (const double v : x) product *= v;
         return product;
       }},
      {"mean", [](const Numbers& x) { return sum_of(x) / static_cast<double>(x.size()); }},
      {"var",
       [](const Numbers& x) {
         const double mean = sum_of(x) / static_cast<double>(x.size());
         double squares = 0;
         for (const double v : x) squares += (v - mean) * (v - mean);
         return squares / (static_cast<double>(x.size()) - parameter("correction"));
       }},
      {"max", [](const Numbers& x) { return x[place_of_extreme(x, 1)]; }},
      {"min", [](const Numbers& x) { return x[place_of_extreme(x, -1)]; }},
      {"argmax", [](const Numbers& x) { return static_cast<double>(place_of_extreme(x, 1)); }},
      {"argmin", [](const Numbers& x) { return static_cast<double>(place_of_extreme(x, -1)); }},
      {"any",
       [](const Numbers& x) {
         for (const double v : x)
           if (v != 0) return 1;
         return 0;
       }},
      {"all",
       [](const Numbers& x) {
         for (const double v : x)
           if (v == 0) return 0;
         return 1;
       }},
      {"l2_norm",
       [](const Numbers& x) {
         double length = 0;
         for (const double v : x) length = std::hypot(length, v);
         return length;
       }},
      {"logsumexp", [](const Numbers& x) { return std::log(sum_of_exponentials(x)); }},
  };
  std::map<std::string_view, RowFunction> all;
  for (const auto& [name, reduction] : of_x)
    all[name] = [reduction](const Named& in) { return Named{{"y", {reduction(in.at("x"))}}}; };
  all["dot"] = [](const Named& in) {
    double sum = 0;
    for (std::size_t c = 0; c < in.at("x").size(); ++c) sum += in.at("x")[c] * in.at("other")[c];
    return Named{{"y", {sum}}};
  };
  all["cross_entropy"] = [](const Named& in) {
    const double label = in.at("label")[0];
    if (label == parameter("ignore_index")) return Named{{"y", {0}}};
    const Numbers& x = in.at("x");
    if (label < 0 || label >= static_cast<double>(x.size())) return Named{{"y", {std::nan("")}}};
    return Named{{"y", {-std::log(std::exp(x[static_cast<std::size_t>(label)]) / sum_of_exponentials(x))}}};
  };
  return all;
}

/// Softmaxes and norms: one number an element.
std::map<std::string_view, RowFunction> normalisations() {
  const auto weighted = [](const Named& in) { return rms(in.at("x"), in.at("weight")); };
  return {
      {"softmax",
       [](const Named& in) {
         Numbers y;
         for (const double v : in.at("x")) y.push_back(std::exp(v) / sum_of_exponentials(in.at("x")));
         return Named{{"y", y}};
       }},
      {"log_softmax",
       [](const Named& in) {
         Numbers y;
         for (const double v : in.at("x")) y.push_back(v - std::log(sum_of_exponentials(in.at("x"))));
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
      {"rms_norm", [weighted](const Named& in) { return Named{{"y", weighted(in)}}; }},
      {"qk_norm", [weighted](const Named& in) { return Named{{"y", weighted(in)}}; }},
      {"v_norm",
       [](const Named& in) {
         // A weight of 1 with the offset taken off again.
         return Named{{"y", rms(in.at("x"), Numbers(in.at("x").size(), 1 - parameter("offset")))}};
       }},
      {"residual_norm", [](const Named& in) { return Named{{"y", rms(residual_stream(in), in.at("weight"))}}; }},
      {"residual_norm_store",
       [](const Named& in) {
         const Numbers s = residual_stream(in);
         return Named{{"residual_out", s}, {"y", rms(s, in.at("weight"))}};
       }},
      {"post_attn_residual_norm_store",
       [](const Named& in) {
         const Numbers s = added(in.at("residual"), rms(in.at("x"), in.at("post_weight")));
         return Named{{"residual_out", s}, {"y", rms(s, in.at("weight"))}};
       }},
      {"post_ffn_norm_residual_add",
       [weighted](const Named& in) { return Named{{"residual_out", added(in.at("residual"), weighted(in))}}; }},
  };
}

/// What is stored as codes: the norm's numbers, and how they are cut and scaled.
std::map<std::string_view, RowFunction> quantising() {
  using Quantise = std::function<Named(const Numbers& n)>;
  const std::map<std::string, Quantise> ways = {
      {"q8", [](const Numbers& n) { return quantised(n, 32, 127); }},
      {"int8", [](const Numbers& n) { return quantised(n, n.size(), 127); }},
      {"int8_grouped", [](const Numbers& n) { return quantised(n, 128, 127); }},
      {"int8_given", [](const Numbers& n) { return with_given_scale(n, true); }},
      {"fp8", [](const Numbers& n) { return quantised(n, n.size(), 448); }},
      {"fp8_grouped", [](const Numbers& n) { return quantised(n, 128, 448); }},
      {"fp8_given", [](const Numbers& n) { return with_given_scale(n, false); }},
  };
  std::map<std::string_view, RowFunction> all;
  for (const kernels::Operator& op : kernels::operators()) {
    const std::string name(op.name);
    for (const auto& [ending, way] : ways) {
      if (name == "rms_norm_" + ending)
        all[op.name] = [way](const Named& in) { return way(rms(in.at("x"), in.at("weight"))); };
      if (name == "residual_norm_" + ending)
        all[op.name] = [way](const Named& in) {
          const Numbers s = residual_stream(in);
          Named out = way(rms(s, in.at("weight")));
          out["residual_out"] = s;
          return out;
        };
    }
  }
  all["quantize_q8"] = [](const Named& in) { return quantised(in.at("x"), 32, 127); };
  return all;
}

const std::map<std::string_view, RowFunction>& loops() {
  static const std::map<std::string_view, RowFunction> table = [] {
    std::map<std::string_view, RowFunction> all = reductions();
    all.merge(normalisations());
    all.merge(quantising());
    return all;
  }();
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
      const ir::Input& input = program.inputs[i];
      const bool column = input.kind.tag == ir::Kind::Tag::column, row = input.kind.tag == ir::Kind::Tag::row;
      const std::int64_t high = column ? 1 : rows, wide = row ? 1 : cols, count = high * wide;
      const std::size_t size = element_bytes(input.storage);
      const Numbers numbers = oracle::testing::varied_numbers(count, static_cast<std::uint32_t>(i + 1));
      memory[i].resize(static_cast<std::size_t>(count) * size);
      for (std::int64_t k = 0; k < count; ++k) {
        std::byte* at = memory[i].data() + static_cast<std::size_t>(k) * size;
        const double number = numbers[static_cast<std::size_t>(k)];
        if (input.storage == ElementType::i32)
          store_integer(at, input.storage, k < 2 ? 4 - k : -1);  // labels: 3 is ignored, −1 outside
        else if (input.storage == ElementType::i8)
          store_integer(at, input.storage,
                        op.name == "prod" ? (k % 64 == 5     ? 2
                                             : k % 3 - 1 < 0 ? -1
                                                             : 1)
                                          : static_cast<std::int64_t>(number * 4));
        else  // factors near 1, so that a long product keeps its size
          store_element(at, input.storage, static_cast<float>(op.name == "prod" ? 1 + number / 256 : number / 8));
      }
      bindings.inputs.push_back({memory[i].data(), input.storage, high, wide, column ? 0 : wide, 1});
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
      for (std::int64_t c = 0; c < view.cols; ++c) named[program.inputs[i].name].push_back(number_at(view, row, c));
    }
    return named;
  }

  static double number_at(const View& view, std::int64_t row, std::int64_t col) {
    return is_float(view.type) ? load_element_f64(view.at(row, col), view.type)
                               : static_cast<double>(load_element_integer(view.at(row, col), view.type));
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

/// How a storage type rounds: half an ulp, relative; half of its least number; and the greatest that it saturates at.
struct Rounding {
  double relative = 0, absolute = 0, most = kInf;
};
Rounding storage_rounding(ElementType type) {
  switch (type) {
    case ElementType::f16: return {0x1p-11, 0x1p-25};
    case ElementType::bf16: return {0x1p-8, 0};
    case ElementType::e4m3: return {0x1p-4, 0x1p-10, 448};
    case ElementType::e5m2: return {0x1p-3, 0x1p-17, 57344};
    default: return {};
  }
}

class OperatorMeaning : public ::testing::TestWithParam<std::string_view> {};

TEST_P(OperatorMeaning, EqualsPlainLoops) {
  const kernels::Operator& op = *kernels::find(GetParam());
  for (const ElementType storage : kernels::storages(op)) {
    for (const std::int64_t least : {32, 96, 1024}) {
      const Call call(op, storage, 3, testing::whole_columns(op.name, least));
      const auto reference = oracle::evaluate_fp64(call.program, call.bindings);
      for (std::size_t s = 0; s < call.program.stores.size(); ++s) {
        const ir::Store& store = call.program.stores[s];
        Numbers expected;
        for (std::int64_t row = 0; row < 3; ++row) {
          const Named out = loops().at(op.name)(call.row_inputs(row));
          expected.insert(expected.end(), out.at(store.name).begin(), out.at(store.name).end());
        }
        ASSERT_EQ(reference[s].size(), expected.size()) << store.name;
        for (std::size_t i = 0; i < expected.size(); ++i) {
          if (std::isnan(expected[i]) && std::isnan(reference[s][i])) continue;  // a label outside of the row
          ASSERT_NEAR(reference[s][i], expected[i], 1e-12 + 1e-12 * std::fabs(expected[i])) << store.name << ' ' << i;
        }
      }
    }
  }
}

TEST_P(OperatorMeaning, ExactResultsLieWithinTheTolerances) {
  const kernels::Operator& op = *kernels::find(GetParam());
  for (const ElementType storage : kernels::storages(op)) {
    for (const ir::Order order : {ir::Order::canonical, ir::Order::serial}) {
      const Call call(op, storage, 2, testing::whole_columns(op.name, 992));
      const auto reference = oracle::evaluate_fp64(call.program, call.bindings);
      for (std::size_t s = 0; s < call.program.stores.size(); ++s) {
        const ir::Store& store = call.program.stores[s];
        const Numbers exact = call.exact(s, order);
        ASSERT_EQ(exact.size(), reference[s].size());
        for (std::size_t i = 0; i < exact.size(); ++i) {
          const Rounding rounding = storage_rounding(store.storage);
          const double meant = std::max(-rounding.most, std::min(rounding.most, reference[s][i]));
          const double allowed = is_float(store.storage)
                                     ? op.absolute_tolerance + rounding.absolute +
                                           (op.relative_tolerance + rounding.relative) * std::fabs(meant)
                                     : op.code_tolerance;
          ASSERT_LE(std::fabs(exact[i] - meant), allowed) << store.name << ' ' << i;
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
