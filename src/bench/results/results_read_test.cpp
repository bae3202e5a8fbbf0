#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <set>

#include <nlohmann/json.hpp>

#include "bench/results/results.h"
#include "bench/results/test_results.h"

namespace lanefold::bench {
namespace {

using nlohmann::json;

/// The code of the refusal; none where the text is taken.
std::optional<Code> code_of(const std::string& text) {
  const Result<Results> read = results_from_json(text, "here");
  if (read.ok()) return std::nullopt;
  EXPECT_FALSE(read.error().message.empty());
  EXPECT_FALSE(read.error().hint.empty());
  EXPECT_TRUE(read.error().place.starts_with("here")) << read.error().place;
  return read.error().code;
}

/// Expects full results with one value replaced to be refused at a place.
void expect_refused(const char* pointer, const json& value, const std::string& place) {
  json whole = json::parse(to_json(full_results()));
  ASSERT_TRUE(whole.contains(json::json_pointer(pointer))) << pointer;
  whole[json::json_pointer(pointer)] = value;
  const Result<Results> read = results_from_json(whole.dump(), "d/results.json");
  ASSERT_FALSE(read.ok()) << pointer << " = " << value;
  EXPECT_EQ(read.error().code, Code::results_malformed) << read.error().text();
  EXPECT_EQ(read.error().place, "d/results.json: " + place) << read.error().text();
}

TEST(ResultsRead, PrefixesAreTruncated) {
  Results small;
  small.kind = "bench";
  small.command = {"lanefold", "\xc3\xa9\xe2\x82\xac", "a\\\"\tb"};
  small.environment.dirty = false;
  small.protocol = {{"samples", 11}, {"sample_ms", 0.5}};
  small.cases.emplace_back().single_us = {-0.0, 1e-7, 1e15};
  const std::string text = to_json(small);
  ASSERT_EQ(text.back(), '\n');
  for (std::size_t size = 0; size + 1 < text.size(); ++size) {
    EXPECT_EQ(code_of(text.substr(0, size)), Code::results_truncated) << "after " << size << " bytes";
  }
  EXPECT_TRUE(results_from_json(text.substr(0, text.size() - 1), "here").ok());
}

TEST(ResultsRead, PrefixesOfFullResultsNeverPass) {
  const std::string text = to_json(full_results());
  for (std::size_t size = 0; size + 1 < text.size(); size += 37) {
    EXPECT_EQ(code_of(text.substr(0, size)), Code::results_truncated) << "after " << size << " bytes";
  }
}

TEST(ResultsRead, TimesThatNothingMeasuredAreRefused) {
  Results results = full_results();
  results.cases[0].arms[0].wall_us[0] = 1e16;
  EXPECT_EQ(code_of(to_json(results)), Code::results_malformed);
}

TEST(ResultsRead, FlippedBytesNeverCrash) {
  const std::string text = to_json(full_results());
  std::mt19937 random(11);
  int refused = 0;
  for (int i = 0; i < 2000; ++i) {
    std::string damaged = text;
    damaged[random() % damaged.size()] = static_cast<char>(random());
    const Result<Results> read = results_from_json(damaged, "here");
    if (read.ok()) {
      EXPECT_FALSE(to_json(*read).empty());
    } else {
      ++refused;
    }
  }
  EXPECT_GT(refused, 500);
}

TEST(ResultsRead, NoJson) {
  EXPECT_EQ(code_of("{]"), Code::results_malformed);
  EXPECT_EQ(code_of("hello"), Code::results_malformed);
  EXPECT_EQ(code_of("{\"a\": 1} x"), Code::results_malformed);
  EXPECT_EQ(code_of("{\"a\": NaN}"), Code::results_malformed);
  EXPECT_EQ(code_of("{\"a\": 1e999}"), Code::results_malformed);
  EXPECT_EQ(code_of("{\"a\": \"\xff\"}"), Code::results_malformed);
  EXPECT_EQ(code_of(std::string("{\"a\": \0\0", 8)), Code::results_malformed);
  EXPECT_EQ(code_of(to_json(full_results()) + '\0'), Code::results_malformed);
  EXPECT_EQ(code_of("[]"), Code::results_malformed);
  EXPECT_EQ(code_of("7"), Code::results_malformed);
  EXPECT_EQ(code_of(" \n"), Code::results_truncated);
  const Result<Results> read = results_from_json("{\n \"a\": 1,\n \"b\" 2}", "here");
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().place, "here:3:6");
}

TEST(ResultsRead, DeepNesting) {
  EXPECT_EQ(code_of(std::string(100000, '[')), Code::results_truncated);
  const std::string deep = std::string(100000, '[') + std::string(100000, ']');
  EXPECT_EQ(code_of(deep), Code::results_malformed);
  Results results = full_results();
  results.cases[0].plan = R"({"deep": "HERE"})";
  std::string text = to_json(results);
  text.replace(text.find("\"HERE\""), 6, deep);
  EXPECT_EQ(code_of(text), Code::results_malformed);
  // Brackets in texts are no nesting.
  results.cases[0].plan = "";
  results.command = {std::string(1000, '[') + "\"\\" + std::string(1000, '{')};
  EXPECT_TRUE(results_from_json(to_json(results), "here").ok());
}

TEST(ResultsRead, OtherSchemas) {
  json whole = json::parse(to_json(full_results()));
  const auto code_with = [&](const json& schema) {
    whole["schema"] = schema;
    return code_of(whole.dump());
  };
  EXPECT_EQ(code_with(nullptr), Code::results_schema);
  EXPECT_EQ(code_with(1), Code::results_schema);
  EXPECT_EQ(code_with({{"name", "lanefold.plan"}, {"version", 1}}), Code::results_schema);
  EXPECT_EQ(code_with({{"version", 1}}), Code::results_schema);
  EXPECT_EQ(code_with({{"name", "lanefold.results"}}), Code::results_schema);
  EXPECT_EQ(code_with({{"name", "lanefold.results"}, {"version", "1"}}), Code::results_schema);
  EXPECT_EQ(code_with({{"name", "lanefold.results"}, {"version", 2}}), Code::results_schema);
  const Result<Results> newer = results_from_json(whole.dump(), "here");
  EXPECT_NE(newer.error().message.find("version 2"), std::string::npos) << newer.error().message;
  EXPECT_NE(newer.error().message.find("reads version 1"), std::string::npos) << newer.error().message;
  EXPECT_EQ(code_of("{}"), Code::results_schema);
}

TEST(ResultsRead, UnknownFieldsAreIgnored) {
  json whole = json::parse(to_json(full_results()));
  whole["later"] = {1, 2};
  whole["cases"][0]["later"] = "x";
  whole["cases"][0]["arms"][0]["later"] = nullptr;
  whole["schema"]["later"] = true;
  const Result<Results> read = results_from_json(whole.dump(), "here");
  ASSERT_TRUE(read.ok()) << read.error().text();
  EXPECT_EQ(to_json(*read), to_json(full_results()));
}

TEST(ResultsRead, FieldsThatWereAddedLaterAreNotNeeded) {
  json whole = json::parse(to_json(full_results()));
  EXPECT_EQ(whole["cases"][0]["arms"][2].erase("own_tolerance"), 1u);
  EXPECT_EQ(whole["cases"][0].erase("resources"), 1u);
  EXPECT_EQ(whole["cases"][0].erase("enqueue_us"), 1u);
  EXPECT_EQ(whole["replays"][0]["arms"][0].erase("device_us"), 1u);
  const Result<Results> read = results_from_json(whole.dump(), "here");
  ASSERT_TRUE(read.ok()) << read.error().text();
  EXPECT_EQ(read->cases.at(0).arms.at(2).own_tolerance, "");
  EXPECT_TRUE(read->cases.at(0).resources.empty());
  EXPECT_TRUE(read->cases.at(0).enqueue_us.empty());
  EXPECT_TRUE(read->replays.at(0).arms.at(0).device_us.empty());
  expect_refused("/cases/0/arms/2/own_tolerance", 1, "cases[0].arms[2].own_tolerance");
  expect_refused("/cases/0/resources/0/registers", -1, "cases[0].resources[0].registers");
  expect_refused("/cases/0/enqueue_us/1", -0.5, "cases[0].enqueue_us[1]");
  expect_refused("/replays/0/arms/0/device_us/0", -1, "replays[0].arms[0].device_us[0]");
}

TEST(ResultsRead, EachFieldIsNeeded) {
  const json whole = json::parse(to_json(full_results()));
  const std::set<std::string> later = {"/cases/0/arms/2 own_tolerance", "/cases/0 resources", "/cases/0 enqueue_us",
                                       "/replays/0/arms/1 device_us"};
  for (const char* record : {"", "/environment", "/environment/binary", "/cases/0", "/cases/0/check",
                             "/cases/0/check/outputs/1", "/cases/0/failure", "/cases/0/arms/2", "/cases/0/phases/0",
                             "/cases/0/sources/1", "/fits/0", "/comparisons/0", "/comparisons/0/pairs/2",
                             "/comparisons/0/verdict", "/comparisons/0/figures/0", "/replays/0", "/replays/0/arms/1"}) {
    const json::json_pointer at(record);
    ASSERT_TRUE(whole.at(at).is_object()) << record;
    for (const auto& [key, value] : whole.at(at).items()) {
      json without = whole;
      if (later.count(std::string(record) + " " + key) > 0) continue;
      without[at].erase(key);
      const std::optional<Code> code = code_of(without.dump());
      EXPECT_EQ(code, key == "schema" ? Code::results_schema : Code::results_malformed) << record << " without " << key;
    }
  }
}

TEST(ResultsRead, TypesAndRanges) {
  expect_refused("/kind", "bank", "kind");
  expect_refused("/kind", 1, "kind");
  expect_refused("/complete", "yes", "complete");
  expect_refused("/command", "lanefold", "command");
  expect_refused("/command/2", 3, "command[2]");
  expect_refused("/protocol", json::array(), "protocol");
  expect_refused("/protocol/samples", "11", "protocol.samples");
  expect_refused("/environment", nullptr, "environment");
  expect_refused("/environment/dirty", 0, "environment.dirty");
  expect_refused("/environment/processors", 4294967296, "environment.processors");
  expect_refused("/environment/memory_bytes", 1e9, "environment.memory_bytes");
  expect_refused("/environment/libraries/1/name", nullptr, "environment.libraries[1].name");
  expect_refused("/environment/load_begin/2", -0.5, "environment.load_begin[2]");
  expect_refused("/environment/stolen", 1.5, "environment.stolen");
  expect_refused("/cases", json::object(), "cases");
  expect_refused("/cases/0", "case", "cases[0]");
  expect_refused("/cases/0/rows", -1, "cases[0].rows");
  expect_refused("/cases/0/cols", 9223372036854775808u, "cases[0].cols");
  expect_refused("/cases/0/launches", 0, "cases[0].launches");
  expect_refused("/cases/0/plan", "{}", "cases[0].plan");
  expect_refused("/cases/0/plan", json::array(), "cases[0].plan");
  expect_refused("/cases/0/failure", "none", "cases[0].failure");
  expect_refused("/cases/0/bytes_read", -4, "cases[0].bytes_read");
  expect_refused("/cases/0/check/outputs/0/wrong", 262145, "cases[0].check.outputs[0].wrong");
  expect_refused("/cases/0/check/code", 2147483648, "cases[0].check.code");
  expect_refused("/cases/0/check/absolute", nullptr, "cases[0].check.absolute");
  expect_refused("/cases/0/phases/1/us", -1, "cases[0].phases[1].us");
  expect_refused("/cases/0/arms/0/wall_us", {1, "2"}, "cases[0].arms[0].wall_us[1]");
  expect_refused("/cases/0/arms/0/wall_us", 3.5, "cases[0].arms[0].wall_us");
  expect_refused("/cases/0/arms/0/device_us", {1, 2, 3}, "cases[0].arms[0].device_us");
  expect_refused("/cases/0/arms/1/turns", {0, 1}, "cases[0].arms[1].turns");
  expect_refused("/cases/0/arms/1/turns/0", -1, "cases[0].arms[1].turns[0]");
  expect_refused("/cases/0/arms/2/check/outputs/0/output", 0, "cases[0].arms[2].check.outputs[0].output");
  expect_refused("/comparisons/0/pairs/1/kind", "ba", "comparisons[0].pairs[1].kind");
  expect_refused("/comparisons/0/pairs/1/second_first", 1, "comparisons[0].pairs[1].second_first");
  expect_refused("/comparisons/0/pairs/0/first_us", -2, "comparisons[0].pairs[0].first_us");
  expect_refused("/comparisons/0/verdict/claim", "perhaps", "comparisons[0].verdict.claim");
  expect_refused("/comparisons/0/verdict/claim", 0, "comparisons[0].verdict.claim");
  expect_refused("/comparisons/0/verdict/probability", 1.01, "comparisons[0].verdict.probability");
  expect_refused("/comparisons/0/arms/1/check/relative", -1, "comparisons[0].arms[1].check.relative");
  expect_refused("/comparisons/0/repetitions", -1, "comparisons[0].repetitions");
  expect_refused("/comparisons/0/figures/1/a", "2", "comparisons[0].figures[1].a");
  expect_refused("/replays/0/rounds", 2.5, "replays[0].rounds");
  expect_refused("/fits/0/cases/0", 1, "fits[0].cases[0]");
}

TEST(ResultsRead, MessageSaysWhatItIs) {
  json whole = json::parse(to_json(full_results()));
  whole["comparisons"][0]["verdict"]["claim"] = "perhaps";
  EXPECT_EQ(results_from_json(whole.dump(), "here").error().message,
            "it has to be one of faster, slower, no difference shown, and is \"perhaps\"");
}

class ResultsFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "lanefold-test-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const char* name) const { return (folder_ / name).string(); }

  std::filesystem::path folder_;
};

TEST_F(ResultsFiles, FolderOrFile) {
  std::ofstream(path("results.json")) << to_json(full_results());
  for (const std::string& name : {folder_.string(), folder_.string() + "/", path("results.json")}) {
    const Result<Results> read = read_results(name);
    ASSERT_TRUE(read.ok()) << read.error().text();
    EXPECT_EQ(to_json(*read), to_json(full_results()));
  }
}

TEST_F(ResultsFiles, MissingUnreadableAndBad) {
  const auto code = [](const std::string& name) { return read_results(name).error().code; };
  EXPECT_EQ(code(path("none")), Code::file_missing);
  EXPECT_EQ(code(folder_.string()), Code::file_missing);
  EXPECT_EQ(read_results(folder_.string()).error().place, path("results.json"));
  std::ofstream(path("empty")).close();
  EXPECT_EQ(code(path("empty")), Code::results_truncated);
  std::filesystem::create_directory(path("results.json"));
  EXPECT_EQ(code(folder_.string()), Code::file_unreadable);
  std::filesystem::remove(path("results.json"));
  json whole = json::parse(to_json(full_results()));
  whole["cases"][0]["arms"][0]["wall_us"] = "fast";
  std::ofstream(path("results.json")) << whole;
  EXPECT_EQ(read_results(folder_.string()).error().place, path("results.json") + ": cases[0].arms[0].wall_us");
}

}  // namespace
}  // namespace lanefold::bench
