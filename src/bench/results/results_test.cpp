#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <random>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "bench/results/results.h"
#include "bench/results/test_results.h"
#include "plan/plan.h"

namespace lanefold::bench {
namespace {

using nlohmann::json;

// Any stands for a field's value: a struct takes as many of them as it has fields.
template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
struct Any {
  template <class T>
    requires(!IsOptional<T>::value)
  operator T() const {
    return {};
  }
};
template <class T, std::size_t... I>
constexpr bool takes(std::index_sequence<I...>) {
  return requires { T{(static_cast<void>(I), Any{})...}; };
}
template <class T, std::size_t N = 64>
constexpr std::size_t field_count() {
  static_assert(N > 0);
  if constexpr (takes<T>(std::make_index_sequence<N>())) {
    return N;
  } else {
    return field_count<T, N - 1>();
  }
}
static_assert(field_count<HashedFile>() == 2 && field_count<StaticFigure>() == 4 && field_count<Check>() == 4);

/// The keys of all objects but those that name what the schema does not: a plan's fields, a protocol's settings.
void collect_keys(const json& value, std::set<std::string>& keys) {
  for (auto element = value.begin(); element != value.end(); ++element) {
    if (value.is_object()) {
      keys.insert(element.key());
      if (element.key() == "plan" || element.key() == "protocol") continue;
    }
    if (element->is_structured()) collect_keys(*element, keys);
  }
}

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(ResultsJson, RoundTripOfEveryField) {
  const std::string text = to_json(full_results());
  const Result<Results> read = results_from_json(text, "r");
  ASSERT_TRUE(read.ok()) << read.error().text();
  EXPECT_EQ(to_json(*read), text);
  const CaseRecord& c = read->cases.at(0);
  EXPECT_EQ(c.id, "rms_norm 64x4096 f32 canonical");
  EXPECT_EQ(c.rows, 64);
  EXPECT_EQ(c.cols, 4096);
  EXPECT_EQ(c.arms.at(1).wall_us, (std::vector<double>{0.1, 1.0 / 3, 5e-324}));
  EXPECT_EQ(c.arms.at(1).turns, (std::vector<int>{0, 1, 0}));
  EXPECT_EQ(c.arms.at(2).declined, "no such operator");
  EXPECT_EQ(c.arms.at(2).own_tolerance, "x is rounded to q8_0");
  EXPECT_EQ(c.check->outputs.at(0).wrong, 2);
  EXPECT_FALSE(c.check->ok());
  EXPECT_EQ(read->environment.memory_bytes, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(read->environment.dirty, std::optional<bool>(true));
  EXPECT_EQ(read->protocol.at("samples"), 11);
  const ComparisonRecord& ab = read->comparisons.at(0);
  EXPECT_EQ(ab.pairs.at(1).turn.kind, PairKind::bb);
  EXPECT_TRUE(ab.pairs.at(0).turn.second_first);
  EXPECT_EQ(ab.pairs.at(0).second_us, 2.25);
  EXPECT_EQ(ab.verdict->claim, Claim::faster);
  EXPECT_EQ(ab.figures.at(1).b, std::nullopt);
  EXPECT_EQ(read->fits.at(0).launch_us, -0.5);
  EXPECT_EQ(read->replays.at(0).arms.at(0).ratio_greatest, 1.5);
}

TEST(ResultsJson, RoundTripOfEmptyResults) {
  Results empty;
  empty.kind = "bench";
  const std::string text = to_json(empty);
  const Result<Results> read = results_from_json(text, "r");
  ASSERT_TRUE(read.ok()) << read.error().text();
  EXPECT_EQ(to_json(*read), text);
  EXPECT_FALSE(read->complete);
  EXPECT_EQ(read->environment.stolen, std::nullopt);
  EXPECT_TRUE(read->cases.empty());
  // Defaults of every record can be read, too.
  empty.cases.emplace_back().arms.emplace_back();
  empty.fits.emplace_back();
  empty.comparisons.emplace_back().pairs.emplace_back();
  empty.comparisons[0].verdict.emplace();
  empty.replays.emplace_back().arms.emplace_back();
  const Result<Results> defaults = results_from_json(to_json(empty), "r");
  ASSERT_TRUE(defaults.ok()) << defaults.error().text();
  EXPECT_EQ(defaults->cases.at(0).plan, "");
  EXPECT_EQ(to_json(*defaults), to_json(empty));
}

TEST(ResultsJson, WritesEachFieldOfEachStruct) {
  const json j = json::parse(to_json(full_results()));
  const json& c = j["cases"][0];
  const json& ab = j["comparisons"][0];
  EXPECT_EQ(j.size(), field_count<Results>() + 1);  // and "schema"
  EXPECT_EQ(j["environment"].size(), field_count<Environment>());
  EXPECT_EQ(j["environment"]["binary"].size(), field_count<HashedFile>());
  EXPECT_EQ(c.size(), field_count<CaseRecord>());
  EXPECT_EQ(c["failure"].size(), field_count<Failure>());
  EXPECT_EQ(c["phases"][0].size(), field_count<PhaseRecord>());
  EXPECT_EQ(c["sources"][0].size(), field_count<SourceRecord>());
  EXPECT_EQ(c["check"].size(), field_count<Check>());
  EXPECT_EQ(c["check"]["outputs"][0].size(), field_count<OutputCheck>());
  EXPECT_EQ(c["arms"][0].size(), field_count<ArmRecord>());
  EXPECT_EQ(j["fits"][0].size(), field_count<FitRecord>());
  EXPECT_EQ(ab.size(), field_count<ComparisonRecord>());
  EXPECT_EQ(ab["figures"][0].size(), field_count<StaticFigure>());
  EXPECT_EQ(ab["pairs"][0].size(),
            field_count<PairTurn>() + field_count<Pair>() - 1);  // the turn's fields stand in the pair
  EXPECT_EQ(ab["verdict"].size(), field_count<PairedVerdict>());
  EXPECT_EQ(j["replays"][0].size(), field_count<ReplayRecord>());
  EXPECT_EQ(j["replays"][0]["arms"][0].size(), field_count<ReplayArm>());
}

TEST(ResultsJson, DocumentDescribesEachField) {
  std::set<std::string> keys;
  collect_keys(json::parse(to_json(full_results())), keys);
  const std::string document = read_text(LANEFOLD_SOURCE_DIR "/docs/results-schema.md");
  ASSERT_FALSE(document.empty());
  for (const std::string& key : keys) {
    EXPECT_NE(document.find("| `" + key + "` |"), document.npos)
        << "docs/results-schema.md has no row for `" << key << '`';
  }
  // And no row is about a key that is not written.
  const std::string begin = "\n| `";
  for (std::size_t at = document.find(begin); at != document.npos; at = document.find(begin, at + 1)) {
    const std::size_t name = at + begin.size();
    const std::string key = document.substr(name, document.find('`', name) - name);
    EXPECT_TRUE(keys.count(key)) << "docs/results-schema.md has a row for `" << key << "`, which is not written";
  }
}

TEST(ResultsJson, SchemaStandsFirst) {
  EXPECT_TRUE(
      to_json(full_results()).starts_with("{\n \"schema\": {\"name\": \"lanefold.results\", \"version\": 1},\n"));
}

TEST(ResultsJson, SamplesStandOnOneLine) {
  Results results = full_results();
  results.cases[0].single_us.assign(1000, 12.5);
  const std::string text = to_json(results);
  EXPECT_NE(text.find("12.5, 12.5, 12.5"), text.npos);
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 400);
}

TEST(ResultsJson, DoublesComeBackExactly) {
  Results results;
  results.kind = "bench";
  // Loads are the numbers without an upper bound.
  std::vector<double>& samples = results.environment.load_begin;
  std::mt19937_64 random(7);
  while (samples.size() < 5000) {
    const auto value = std::bit_cast<double>(random() >> 1);
    if (std::isfinite(value)) samples.push_back(value);
  }
  samples.insert(samples.end(), {-0.0, 5e-324, std::numeric_limits<double>::max(), 0.1, 1e22, 9007199254740993.0});
  const Result<Results> read = results_from_json(to_json(results), "r");
  ASSERT_TRUE(read.ok()) << read.error().text();
  const std::vector<double>& back = read->environment.load_begin;
  ASSERT_EQ(back.size(), samples.size());
  for (std::size_t i = 0; i < samples.size(); ++i) {
    EXPECT_EQ(std::bit_cast<std::uint64_t>(back[i]), std::bit_cast<std::uint64_t>(samples[i])) << i;
  }
}

TEST(ResultsJson, PlansComeBackAsPlansAreWritten) {
  plan::Plan plan;
  plan.program = "sum";
  plan.cost = 0.1;
  const std::string text = plan::to_json(plan);
  Results results = full_results();
  results.cases[0].plan = text;
  const std::string whole = to_json(results);
  EXPECT_TRUE(json::parse(whole)["cases"][0]["plan"].is_object());
  const Result<Results> read = results_from_json(whole, "r");
  ASSERT_TRUE(read.ok()) << read.error().text();
  EXPECT_EQ(read->cases.at(0).plan, text);
}

TEST(ResultsJson, RefusesToWriteWhatIsNoNumberOrPlan) {
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), -std::numeric_limits<double>::infinity()}) {
    Results results = full_results();
    results.cases[0].arms[0].wall_us[0] = bad;
    EXPECT_THROW(to_json(results), InternalError);
    results = full_results();
    results.protocol["samples"] = bad;
    EXPECT_THROW(to_json(results), InternalError);
    results = full_results();
    results.comparisons[0].max_ulp = bad;
    EXPECT_THROW(to_json(results), InternalError);
  }
  for (const char* bad : {"{", "[]", "3", "plan"}) {
    Results results = full_results();
    results.replays[0].arms[0].plan = bad;
    EXPECT_THROW(to_json(results), InternalError) << bad;
  }
}

TEST(ResultsJson, TextsThatAreNotUtf8BecomeValid) {
  Results results = full_results();
  results.command = {"lanefold",
                     "b\xff"
                     "c",
                     "quote\" and \\ and \n"};
  const Result<Results> read = results_from_json(to_json(results), "r");
  ASSERT_TRUE(read.ok()) << read.error().text();
  EXPECT_EQ(read->command, (std::vector<std::string>{"lanefold",
                                                     "b\xef\xbf\xbd"
                                                     "c",
                                                     "quote\" and \\ and \n"}));
}

TEST(ResultsCheck, OkWhereOutputsAreThereAndRight) {
  Check check;
  EXPECT_FALSE(check.ok());
  check.outputs = {{"y", 10, 0, 0.5}, {"z", 10, 0, 0}};
  EXPECT_TRUE(check.ok());
  check.outputs[1].wrong = 1;
  EXPECT_FALSE(check.ok());
}

TEST(ResultsCase, ArmByRole) {
  const CaseRecord c = full_results().cases[0];
  ASSERT_NE(c.arm("ceiling"), nullptr);
  EXPECT_EQ(c.arm("ceiling")->name, "copy");
  EXPECT_EQ(c.arm("subject"), &c.arms[0]);
  EXPECT_EQ(c.arm("none"), nullptr);
}

TEST(ResultsCase, ShareOfCeilingIsOfMediansByOneClock) {
  CaseRecord c;
  EXPECT_EQ(c.share_of_ceiling(), std::nullopt);
  c.arms.resize(2);
  c.arms[0].role = "subject";
  c.arms[1].role = "ceiling";
  EXPECT_EQ(c.share_of_ceiling(), std::nullopt);
  c.arms[0].wall_us = {10, 8, 100};
  EXPECT_EQ(c.share_of_ceiling(), std::nullopt);
  c.arms[1].wall_us = {4, 1, 6};
  EXPECT_DOUBLE_EQ(c.share_of_ceiling().value(), 0.4);
  c.arms[0].device_us = {5, 5, 5};
  EXPECT_DOUBLE_EQ(c.share_of_ceiling().value(), 0.4);
  c.arms[1].device_us = {3, 4, 5};
  EXPECT_DOUBLE_EQ(c.share_of_ceiling().value(), 0.8);
  c.arms[0].device_us = {0, 0, 0};
  EXPECT_EQ(c.share_of_ceiling(), std::nullopt);
}

}  // namespace
}  // namespace lanefold::bench
