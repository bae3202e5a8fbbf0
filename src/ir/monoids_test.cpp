// The algebra of the built-in monoids, on numbers: their bodies are run by a small interpreter.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "ir/monoid_part.h"
#include "ir/program.h"

namespace lanefold::ir {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// A number as one of the three register types holds it.
struct Scalar {
  float f = 0;
  std::int32_t i = 0;  // i32, and boolean as 0 or 1
};
using Tuple = std::vector<Scalar>;

Scalar of(float f) { return {f, 0}; }
Scalar of_int(std::int32_t i) { return {0, i}; }

float maximum(float a, float b) {
  if (a != a || b != b) return kNan;
  if (a == 0 && b == 0) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}

Scalar compute(const Value& value, const std::vector<Scalar>& all) {
  const auto at = [&](std::size_t n) { return all[value.operands[n]]; };
  switch (value.op) {
    case Op::constant:
      return value.type == ElementType::f32 ? of(static_cast<float>(value.literal))
                                            : of_int(static_cast<std::int32_t>(value.literal));
    case Op::add: return of(at(0).f + at(1).f);
    case Op::sub: return of(at(0).f - at(1).f);
    case Op::mul: return of(at(0).f * at(1).f);
    case Op::div: return of(at(0).f / at(1).f);
    case Op::fma: return of(std::fma(at(0).f, at(1).f, at(2).f));
    case Op::max: return of(maximum(at(0).f, at(1).f));
    case Op::min: return of(-maximum(-at(0).f, -at(1).f));
    case Op::exp: return of(std::exp(at(0).f));
    case Op::log: return of(std::log(at(0).f));
    case Op::logical_and: return of_int(at(0).i & at(1).i);
    case Op::logical_or: return of_int(at(0).i | at(1).i);
    case Op::select: return at(0).i != 0 ? at(1) : at(2);
    // Scalars of type i32 have f = 0 and those of type f32 have i = 0, so both can be compared at once.
    case Op::lt: return of_int(at(0).f < at(1).f || at(0).i < at(1).i);
    case Op::gt: return of_int(at(0).f > at(1).f || at(0).i > at(1).i);
    case Op::eq: return of_int(at(0).f == at(1).f && at(0).i == at(1).i);
    case Op::ne: return of_int(at(0).f != at(1).f || at(0).i != at(1).i);
    default: internal_error("the built-in monoids use no such operation");
  }
}

Tuple run(const Body& body, const Tuple& parameters) {
  std::vector<Scalar> all;
  for (const Value& value : body.values) {
    all.push_back(value.op == Op::parameter ? parameters.at(value.index) : compute(value, all));
  }
  Tuple results;
  for (ValueId id : body.results) results.push_back(all.at(id));
  return results;
}

Tuple joined(Tuple a, const Tuple& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

bool same(const Scalar& a, const Scalar& b) {
  if (a.f != a.f && b.f != b.f) return true;
  return std::bit_cast<std::uint32_t>(a.f) == std::bit_cast<std::uint32_t>(b.f) && a.i == b.i;
}

bool same(const Tuple& a, const Tuple& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!same(a[i], b.at(i))) return false;
  }
  return a.size() == b.size();
}

constexpr std::string_view kNames[] = {"sum",    "dot", "prod", "max",     "min",      "argmax",
                                       "argmin", "any", "all",  "welford", "logsumexp"};

class Draw {
 public:
  float number() {
    constexpr float kSpecial[] = {0.0f, -0.0f, 1.0f, 1.0f, -1.0f, kInf, -kInf, kNan, 1e-42f, 3e38f};
    if (engine_() % 2 == 0) return kSpecial[engine_() % std::size(kSpecial)];
    return std::normal_distribution<float>(0, 3)(engine_);
  }
  Tuple element(const Monoid& monoid, std::int32_t index) {
    Tuple element;
    for (const Field& field : monoid.element) {
      if (field.type == ElementType::f32) element.push_back(of(number()));
      if (field.type == ElementType::i32) element.push_back(of_int(index));
      if (field.type == ElementType::boolean) element.push_back(of_int(static_cast<std::int32_t>(engine_() % 2)));
    }
    return element;
  }
  std::mt19937& engine() { return engine_; }

 private:
  std::mt19937 engine_{1};
};

/// Merges lifted elements in a random tree of random order.
Tuple random_tree(const Monoid& monoid, std::vector<Tuple> states, std::mt19937& engine) {
  std::shuffle(states.begin(), states.end(), engine);
  while (states.size() > 1) {
    const std::size_t left = engine() % (states.size() - 1);
    states[left] = run(monoid.merge, joined(states[left], states[left + 1]));
    states.erase(states.begin() + static_cast<std::ptrdiff_t>(left) + 1);
  }
  return states[0];
}

TEST(Monoids, AreTheOnesOfTheDesign) {
  for (std::string_view name : kNames) {
    const std::optional<Monoid> monoid = builtin_monoid(name);
    ASSERT_TRUE(monoid) << name;
    EXPECT_TRUE(monoid->builtin);
    EXPECT_EQ(monoid->free_only, name == "logsumexp");
    EXPECT_TRUE(verify_monoid(*monoid, "builtin").empty()) << name;
  }
  EXPECT_FALSE(builtin_monoid("median"));
  EXPECT_FALSE(builtin_monoid("welford")->identity);
  EXPECT_EQ(builtin_monoid("welford")->finish.results.size(), 2u);
  EXPECT_TRUE(std::signbit(builtin_monoid("sum")->identity->at(0)));
}

TEST(Monoids, IdentitiesAreExact) {
  Draw draw;
  for (std::string_view name : kNames) {
    const Monoid monoid = *builtin_monoid(name);
    if (!monoid.identity) continue;
    Tuple identity;
    for (std::size_t i = 0; i < monoid.state.size(); ++i) {
      const double value = (*monoid.identity)[i];
      identity.push_back(monoid.state[i].type == ElementType::f32 ? of(static_cast<float>(value))
                                                                  : of_int(static_cast<std::int32_t>(value)));
    }
    for (int round = 0; round < 2000; ++round) {
      const Tuple element = draw.element(monoid, round);
      const Tuple state = run(monoid.lift, element);
      EXPECT_TRUE(same(run(monoid.merge, joined(identity, state)), state)) << name;
      EXPECT_TRUE(same(run(monoid.merge, joined(state, identity)), state)) << name;
      EXPECT_TRUE(same(run(monoid.step, joined(identity, element)), state)) << name;
    }
  }
}

TEST(Monoids, ReorderableOnesGiveTheSameBitsInAnyTree) {
  Draw draw;
  int tried = 0;
  for (std::string_view name : kNames) {
    const Monoid monoid = *builtin_monoid(name);
    if (!monoid.reorderable) continue;
    ++tried;
    for (int round = 0; round < 300; ++round) {
      std::vector<Tuple> states;
      Tuple serial;
      const int n = 1 + static_cast<int>(draw.engine()() % 12);
      for (int i = 0; i < n; ++i) {
        const Tuple element = draw.element(monoid, i);
        states.push_back(run(monoid.lift, element));
        serial = i == 0 ? states[0] : run(monoid.step, joined(serial, element));
      }
      EXPECT_TRUE(same(random_tree(monoid, states, draw.engine()), serial)) << name;
    }
  }
  EXPECT_EQ(tried, 6);
}

std::int32_t reference_arg(const std::vector<float>& row, float sign) {
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (row[i] != row[i]) return static_cast<std::int32_t>(i);
  }
  std::size_t best = 0;
  for (std::size_t i = 1; i < row.size(); ++i) {
    if (sign * row[i] > sign * row[best]) best = i;
  }
  return static_cast<std::int32_t>(best);
}

TEST(Monoids, ArgFoldsTakeTheFirstNanElseTheLowestIndex) {
  Draw draw;
  for (std::string_view name : {"argmax", "argmin"}) {
    const Monoid monoid = *builtin_monoid(name);
    for (int round = 0; round < 2000; ++round) {
      std::vector<float> row(1 + draw.engine()() % 9);
      std::vector<Tuple> states;
      for (std::size_t i = 0; i < row.size(); ++i) {
        do {
          row[i] = draw.number();
        } while (round % 2 == 0 && row[i] != row[i]);  // every second row without NaN
        states.push_back(run(monoid.lift, {of(row[i]), of_int(static_cast<std::int32_t>(i))}));
      }
      const Tuple result = run(monoid.finish, random_tree(monoid, states, draw.engine()));
      EXPECT_EQ(result.at(0).i, reference_arg(row, name == "argmax" ? 1.0f : -1.0f));
    }
  }
}

float fold_f32(std::string_view name, const std::vector<float>& row, bool by_merge, std::size_t component = 0) {
  const Monoid monoid = *builtin_monoid(name);
  Tuple state;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const Tuple lifted = run(monoid.lift, {of(row[i])});
    state = i == 0     ? lifted
            : by_merge ? run(monoid.merge, joined(state, lifted))
                       : run(monoid.step, joined(state, {of(row[i])}));
  }
  return run(monoid.finish, state).at(component).f;
}

TEST(Monoids, LogsumexpOfInfinities) {
  for (bool by_merge : {false, true}) {
    EXPECT_EQ(fold_f32("logsumexp", {-kInf, -kInf, -kInf}, by_merge), -kInf);
    EXPECT_EQ(fold_f32("logsumexp", {-kInf}, by_merge), -kInf);
    EXPECT_EQ(fold_f32("logsumexp", {1, kInf, 2}, by_merge), kInf);
    EXPECT_EQ(fold_f32("logsumexp", {kInf, -kInf}, by_merge), kInf);
    EXPECT_TRUE(std::isnan(fold_f32("logsumexp", {1, kNan, 2}, by_merge)));
    EXPECT_NEAR(fold_f32("logsumexp", {-kInf, 1, 2, 3}, by_merge), 3.4076059f, 1e-6f);
    EXPECT_NEAR(fold_f32("logsumexp", {1000, 1000}, by_merge), 1000.6931f, 1e-3f);
  }
}

TEST(Monoids, WelfordGivesMeanAndPopulationVariance) {
  for (bool by_merge : {false, true}) {
    EXPECT_EQ(fold_f32("welford", {40000, 40001, 40002, 40003}, by_merge, 0), 40001.5f);
    EXPECT_EQ(fold_f32("welford", {40000, 40001, 40002, 40003}, by_merge, 1), 1.25f);
    EXPECT_EQ(fold_f32("welford", {5, 5, 5}, by_merge, 1), 0.0f);
    EXPECT_EQ(fold_f32("welford", {7}, by_merge, 1), 0.0f);
    EXPECT_TRUE(std::isnan(fold_f32("welford", {kNan}, by_merge, 1)));
    EXPECT_TRUE(std::isnan(fold_f32("welford", {kInf}, by_merge, 1)));
    EXPECT_TRUE(std::isnan(fold_f32("welford", {1, kNan, 2}, by_merge, 1)));
  }
}

TEST(Monoids, DotStepsWithFma) {
  const Monoid dot = *builtin_monoid("dot");
  const float a = 1.0f + 0x1p-12f;
  EXPECT_EQ(run(dot.step, {of(-1.0f), of(a), of(a)}).at(0).f, std::fma(a, a, -1.0f));
  EXPECT_NE(std::fma(a, a, -1.0f), a * a - 1.0f);
}

}  // namespace
}  // namespace lanefold::ir
