#include "driver/tuned_plans.h"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "kernels/registry.h"
#include "plan/alternatives.h"

namespace lanefold::driver {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class TunedPlansTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "lanefold-tuned-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  TunedPlans plans() const { return TunedPlans(folder_); }
  TunedCall call(std::int64_t rows = 64, std::int64_t cols = 4096) const {
    return {.on = {"a device", "a compiler 1.0"}, .program = program_, .target = target_, .rows = rows, .cols = cols};
  }
  /// A plan that the cost basis would not have chosen.
  TunedPlan other(const TunedCall& c) const {
    plan::Request request;
    request.rows = c.rows;
    request.cols = c.cols;
    request.order = c.order;
    request.alignment = c.alignment;
    const std::vector<plan::Plan> legal = plan::legal_plans(c.program, c.target, request).value();
    EXPECT_GT(legal.size(), 1u);
    return {legal.back(),
            {.default_us = 4, .tuned_us = 3, .ratio = 0.75, .ratio_low = 0.7, .pairs = 9, .finished = "then"}};
  }
  /// The one entry that there is.
  fs::path file() const {
    std::vector<fs::path> all;
    for (const auto& entry : fs::directory_iterator(folder_)) all.push_back(entry.path());
    EXPECT_EQ(all.size(), 1u);
    return all.at(0);
  }
  std::string content() const {
    std::ifstream in(file(), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write(const std::string& text) const { std::ofstream(file(), std::ios::binary) << text; }
  /// Changes fields of the entry, and keeps the file whole.
  void edit(const std::function<void(json&)>& change) const {
    const fs::path at = file();
    const std::string key = at.stem().string();
    const runtime::BinaryStore store(folder_, ".tuned-plan");
    const runtime::BinaryStore::Bytes bytes = store.find(key).value();
    json entry = json::parse(reinterpret_cast<const char*>(bytes.data()),
                             reinterpret_cast<const char*>(bytes.data() + bytes.size()));
    change(entry);
    const std::string text = entry.dump();
    runtime::BinaryStore::Bytes changed(text.size());
    std::memcpy(changed.data(), text.data(), text.size());
    store.store(key, changed);
  }

  fs::path folder_;
  ir::Program program_ = kernels::build(*kernels::find("rms_norm"), ElementType::f32).value();
  target::Target target_ = target::find("generic-32").value();
};

TEST_F(TunedPlansTest, GivesThePlanOfTheClass) {
  const TunedPlan tuned = other(call());
  EXPECT_FALSE(plans().find(call()));
  ASSERT_TRUE(plans().store(call(), tuned));
  for (const auto& [rows, cols] : {std::pair{64, 4096}, {255, 4096}, {64, 3100}}) {
    const std::optional<TunedPlan> found = plans().find(call(rows, cols));
    ASSERT_TRUE(found) << rows << "x" << cols;
    EXPECT_EQ(found->plan.layout, tuned.plan.layout);
    EXPECT_EQ(found->plan.cost_basis, kMeasuredBasis);
    EXPECT_EQ(found->plan.cost, 3);
    EXPECT_EQ(found->measured.default_us, 4);
    EXPECT_EQ(found->measured.ratio_low, 0.7);
    EXPECT_EQ(found->measured.pairs, 9u);
    EXPECT_EQ(found->measured.finished, "then");
  }
}

TEST_F(TunedPlansTest, NothingElseHasIt) {
  ASSERT_TRUE(plans().store(call(), other(call())));
  for (const auto& [rows, cols] : {std::pair{63, 4096}, {256, 4096}, {64, 3072}, {64, 4097}})
    EXPECT_FALSE(plans().find(call(rows, cols))) << rows << "x" << cols;
  TunedCall device = call(), compiler = call(), order = call(), aligned = call();
  device.on.device = "another device";
  compiler.on.compiler = "a compiler 1.1";
  order.order = ir::Order::free;
  aligned.alignment = 4;
  for (const TunedCall* changed : {&device, &compiler, &order, &aligned}) EXPECT_FALSE(plans().find(*changed));
  const ir::Program bf16 = kernels::build(*kernels::find("rms_norm"), ElementType::bf16).value();
  const TunedCall stored_otherwise = {.on = call().on, .program = bf16, .target = target_, .rows = 64, .cols = 4096};
  EXPECT_FALSE(plans().find(stored_otherwise));
}

TEST_F(TunedPlansTest, AnotherPlanTakesItsPlaceAndItCanBeTakenAway) {
  const TunedPlan tuned = other(call());
  ASSERT_TRUE(plans().store(call(), tuned));
  TunedPlan again = tuned;
  again.measured.tuned_us = 2;
  ASSERT_TRUE(plans().store(call(), again));
  EXPECT_EQ(plans().find(call())->plan.cost, 2);
  plans().remove(call());
  EXPECT_FALSE(plans().find(call()));
  plans().remove(call());
}

TEST_F(TunedPlansTest, ADamagedFileIsAsGoodAsNone) {
  ASSERT_TRUE(plans().store(call(), other(call())));
  const std::string whole = content();
  for (const std::string& damaged : {std::string(), whole.substr(0, whole.size() / 2), whole + "x", "{" + whole}) {
    write(damaged);
    EXPECT_FALSE(plans().find(call()));
  }
  std::string flipped = whole;
  flipped[flipped.size() / 2] ^= 1;
  write(flipped);
  EXPECT_FALSE(plans().find(call()));
  write(whole);
  EXPECT_TRUE(plans().find(call()));
}

TEST_F(TunedPlansTest, AStaleOrIllegalEntryIsAsGoodAsNone) {
  ASSERT_TRUE(plans().store(call(), other(call())));
  const std::string whole = content();
  const std::vector<std::pair<const char*, std::function<void(json&)>>> changes = {
      {"other code", [](json& e) { e["code"] = "0123456789abcdef"; }},
      {"another key", [](json& e) { e["key"] = "tuned plan 1"; }},
      {"no plan", [](json& e) { e.erase("plan"); }},
      {"a plan of another program", [](json& e) { e["plan"]["plan"]["program_hash"] = "0123456789abcdef"; }},
      {"a plan of another target", [](json& e) { e["plan"]["plan"]["target"] = "cuda-sm90"; }},
      {"an impossible plan", [](json& e) { e["plan"]["plan"]["threads"] = 96; }},
      {"a plan of other columns", [](json& e) { e["plan"]["plan"]["width"]["max_cols"] = 3072; }},
      {"a plan of another order", [](json& e) { e["plan"]["plan"]["order"] = "free"; }},
      {"a plan that wants more alignment", [](json& e) { e["plan"]["plan"]["width"]["alignment"] = 2; }},
      {"a plan of a cost basis", [](json& e) { e["plan"]["plan"]["cost_basis"] = "cpu_traffic_v1"; }},
      {"a field of another type", [](json& e) { e["measured"]["ratio"] = "much"; }},
      {"no object", [](json& e) { e = json::array(); }}};
  for (const auto& [what, change] : changes) {
    edit(change);
    EXPECT_FALSE(plans().find(call())) << what;
    write(whole);
    ASSERT_TRUE(plans().find(call())) << what;
  }
}

TEST_F(TunedPlansTest, APlanThatDoesNotServeTheCallIsNotStored) {
  const TunedPlan narrow = other(call(64, 100));
  EXPECT_FALSE(plans().store(call(), narrow));
  EXPECT_FALSE(TunedPlans(std::nullopt).store(call(), other(call())));
  EXPECT_FALSE(TunedPlans("/proc/nowhere").store(call(), other(call())));
}

TEST_F(TunedPlansTest, TheEnvironmentSaysWhereAndWhether) {
  ::setenv("LANEFOLD_CACHE_DIR", folder_.c_str(), 1);
  ::unsetenv("LANEFOLD_TUNED");
  EXPECT_EQ(TunedPlans::user().folder(), folder_);
  ::setenv("LANEFOLD_TUNED", "0", 1);
  EXPECT_FALSE(TunedPlans::user().folder());
  ::setenv("LANEFOLD_TUNED", "1", 1);
  EXPECT_TRUE(TunedPlans::user().folder());
  ::unsetenv("LANEFOLD_TUNED");
  ::unsetenv("LANEFOLD_CACHE_DIR");
}

}  // namespace
}  // namespace lanefold::driver
