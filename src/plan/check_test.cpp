#include <limits>

#include <nlohmann/json.hpp>

#include "plan/layout.h"
#include "plan/test_programs.h"

namespace lanefold::plan {
namespace {

class Checked : public testing::Test {
 protected:
  ir::Program program_ = softmax_program();
  target::Target target_ = *target::find("metal-m1max");
  Plan plan_ = make();

  Plan make() {
    Request r;
    r.rows = 64;
    r.cols = 1000;
    r.simd_groups = 4;
    auto plan = choose(program_, target_, r);
    if (!plan) internal_error(plan.error().text());
    return *std::move(plan);
  }
  void expect(Code code, std::int64_t cols = 1000) {
    const Status s = check(plan_, program_, target_, cols);
    ASSERT_FALSE(s.ok());
    EXPECT_EQ(s.error().code, code) << s.error().text();
    EXPECT_FALSE(s.error().hint.empty());
  }
};

TEST_F(Checked, AGoodPlanServesItsClass) {
  for (const std::int64_t cols : {513, 1000, 1024}) EXPECT_TRUE(check(plan_, program_, target_, cols).ok());
}

TEST_F(Checked, ColumnsOutsideTheClass) {
  expect(Code::cols_outside_width_class, 512);
  expect(Code::cols_outside_width_class, 1025);
  expect(Code::no_columns, 0);
}

TEST_F(Checked, AnotherProgramOrTarget) {
  program_ = rms_norm_program();
  expect(Code::plan_for_other_program);
  program_ = softmax_program();
  target_ = *target::find("cuda-sm90");
  expect(Code::plan_for_other_target);
}

TEST_F(Checked, InvalidLayouts) {
  const Layout good = plan_.layout;
  plan_.layout.bits.pop_back();
  expect(Code::plan_layout_invalid);
  plan_.layout = good;
  plan_.layout.rows_per_simd_group = 2;
  expect(Code::plan_layout_invalid);
  plan_.layout = good;
  plan_.simd_groups_per_row = 2;
  expect(Code::plan_layout_invalid);
}

TEST_F(Checked, FieldsThatContradict) {
  const Plan good = plan_;
  const auto changed = [&](auto change) {
    plan_ = good;
    change(plan_);
    expect(Code::plan_inconsistent);
  };
  changed([](Plan& p) { p.threads = 64; });
  changed([](Plan& p) { p.rows_per_threadgroup = 2; });
  changed([](Plan& p) { p.barriers = 0; });
  changed([](Plan& p) { p.threadgroup_bytes = 8; });
  changed([](Plan& p) { p.width.max_cols = 5000; });
  changed([](Plan& p) { p.unroll = 0; });
  changed([](Plan& p) { p.stripe = Stripe::reload, p.private_stripe = 8; });
}

TEST_F(Checked, StripesAreJudgedAtTheWidestRow) {
  Request r;
  r.rows = 1;
  r.cols = 1000;
  r.order = ir::Order::free;
  r.cost_basis = "metal_subgroup_reduction_v1";
  auto plan = choose(program_, target_, r);
  ASSERT_TRUE(plan.ok());
  plan_ = *std::move(plan);
  plan_.width.max_cols = kWidestRow;
  expect(Code::row_temporaries_unbounded);
  plan_.width.max_cols = kWidestRow - 1;
  expect(Code::private_stripe_exceeded);
}

TEST_F(Checked, JsonRoundTrip) {
  Request r;
  r.rows = 17;
  r.cols = 257;
  r.order = ir::Order::canonical;
  r.cost_basis = "metal_subgroup_reduction_v1";
  const auto plan = choose(program_, target_, r);
  ASSERT_TRUE(plan.ok());
  const std::string text = to_json(*plan);
  const auto again = from_json(text);
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_EQ(to_json(*again), text);
  EXPECT_TRUE(check(*again, program_, target_, 257).ok());
  const auto j = nlohmann::json::parse(text);
  EXPECT_EQ(j["schema"], 1);
  EXPECT_EQ(j["plan"]["simd_groups_per_row"], plan->simd_groups_per_row);
  EXPECT_EQ(j["plan"]["threads"], plan->threads);
  EXPECT_EQ(j["plan"]["private_stripe"], plan->private_stripe);
  int rejected = 0;
  for (const auto& c : j["candidates"]) rejected += c.contains("rejected") && c["rejected"]["code"] == "LF0208";
  EXPECT_EQ(rejected, 1);
}

TEST_F(Checked, JsonIsReadWithDistrust) {
  const auto good = nlohmann::json::parse(to_json(plan_));
  const auto refused = [&](auto change, Code code, std::string_view says) {
    auto j = good;
    change(j);
    const auto plan = from_json(j.dump(), "p.json");
    ASSERT_FALSE(plan.ok());
    EXPECT_EQ(plan.error().code, code) << plan.error().text();
    EXPECT_NE(plan.error().message.find(says), std::string::npos) << plan.error().message;
    EXPECT_EQ(plan.error().place, "p.json");
  };
  using J = nlohmann::json;
  EXPECT_EQ(from_json("{").error().code, Code::plan_not_json);
  EXPECT_EQ(from_json("[1]").error().code, Code::plan_not_json);
  EXPECT_EQ(from_json("").error().code, Code::plan_not_json);
  EXPECT_EQ(from_json("{\"schema\": \"\xff\"}").error().code, Code::plan_not_json);
  EXPECT_EQ(from_json(std::string(100000, '[')).error().code, Code::plan_not_json);
  refused([](J& j) { j["schema"] = 2; }, Code::plan_schema_unknown, "2");
  refused([](J& j) { j.erase("schema"); }, Code::plan_field_missing, "schema");
  refused([](J& j) { j.erase("candidates"); }, Code::plan_field_missing, "candidates");
  for (const auto& [name, value] : good["plan"].items()) {
    const std::string field = name;
    refused([&](J& j) { j["plan"].erase(field); }, Code::plan_field_missing, field);
    refused([&](J& j) { j["plan"][field] = J::array({1}); }, Code::plan_field_invalid, field);
    if (value.is_number_integer()) {
      refused([&](J& j) { j["plan"][field] = -1; }, Code::plan_field_invalid, field);
      refused([&](J& j) { j["plan"][field] = std::numeric_limits<std::uint64_t>::max(); }, Code::plan_field_invalid,
              field);
      refused([&](J& j) { j["plan"][field] = 4.5; }, Code::plan_field_invalid, field);
    }
  }
  refused([](J& j) { j["plan"]["program_hash"] = "0123456789abcdeg"; }, Code::plan_field_invalid, "hexadecimal");
  refused([](J& j) { j["plan"]["order"] = "any"; }, Code::plan_field_invalid, "canonical");
  refused([](J& j) { j["plan"]["simd_width"] = 48; }, Code::plan_field_invalid, "power of two");
  refused([](J& j) { j["plan"]["layout"]["bits"][0] = "warp"; }, Code::plan_field_invalid, "layout.bits");
  refused([](J& j) { j["plan"]["layout"]["bits"] = J(std::vector<std::string>(99, "pass")); }, Code::plan_field_invalid,
          "at most");
  refused([](J& j) { j["candidates"][0] = 1; }, Code::plan_field_invalid, "candidates[0]");
  refused([](J& j) { j["candidates"][0]["rejected"] = {{"code", "LF9999"}, {"message", ""}, {"hint", ""}}; },
          Code::plan_field_invalid, "rejected.code");
}

}  // namespace
}  // namespace lanefold::plan
