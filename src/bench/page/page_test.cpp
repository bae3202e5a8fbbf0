#include "bench/page/page.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>

#include "bench/page/page_bundle.h"
#include "bench/page/page_charts.h"
#include "bench/page/page_figures.h"
#include "bench/page/page_html.h"
#include "bench/page/page_rows.h"

namespace lanefold::bench {
namespace {

constexpr std::string_view kEvil = "</script><img src=x onerror=\"alert(1)\">'&\x01\xff";

ArmRecord arm(const std::string& name, const std::string& role, std::vector<double> wall_us) {
  ArmRecord record;
  record.name = name;
  record.role = role;
  record.calls = 10;
  record.wall_us = std::move(wall_us);
  return record;
}

/// 8 KiB moved in 2 µs (4.096 GB/s), a copy in 1 µs, a peer in 4 µs.
CaseRecord measured(const std::string& id, std::int64_t rows, std::int64_t cols) {
  CaseRecord record;
  record.id = id;
  record.kernel = "rms_norm";
  record.rows = rows;
  record.cols = cols;
  record.dtype = "f32";
  record.order = "canonical";
  record.threads = 1;
  record.plan_line = "8 lanes";
  record.phases = {{"compile", 12345}};
  record.bytes_read = record.bytes_written = 4096;
  record.check = Check{1e-6, 1e-5, 0, {{"y", rows * cols, 0, 2.5e-7}}};
  record.arms = {arm("lanefold", "subject", {2, 2, 2.2}), arm("onnxruntime", "peer", {4, 5, 4}),
                 arm("copy", "ceiling", {1, 1, 1})};
  return record;
}

CaseRecord failed(const std::string& id) {
  CaseRecord record;
  record.id = id;
  record.kernel = "softmax";
  record.failure = Failure{"check", "LF0001", "elements_wrong", "17 elements are wrong", "look at row 3"};
  return record;
}

Results bench_results() {
  Results results;
  results.kind = "bench";
  results.complete = true;
  results.command = {"lanefold", "bench", "rms_norm", "--peer", "python3 it's.py"};
  results.started = "2026-01-02T03:04:05Z";
  results.protocol = {{"samples", 3}};
  results.environment.device_name = "A processor";
  results.environment.binary = {"lanefold", std::string(64, 'a')};
  results.environment.dirty = true;
  results.cases = {measured("rms_norm 1x1 f32", 1, 1), measured("rms_norm 1x7 f32", 1, 7),
                   measured("rms_norm 1x32003 f32", 1, 32003), failed("softmax 0x5 f32")};
  results.fits = {{"rms_norm", "f32", "cols", 1, 0.5, 4.5, 0.07, {}}};
  for (const CaseRecord& record : results.cases) results.fits[0].cases.push_back(record.id);
  return results;
}

Results ab_results() {
  Results results;
  results.kind = "ab";
  results.complete = true;
  ComparisonRecord c;
  c.a = "softmax";
  c.b = "softmax:unroll=2";
  c.made_for = "3 rows of 7 columns";
  c.dtype = "f32";
  c.bytes = "equal for all inputs";
  c.pairs = {{{PairKind::ab, false}, 10, 8}, {{PairKind::ab, true}, 10, 9}, {{PairKind::aa, false}, 10, 10.1}};
  c.verdict = PairedVerdict{Claim::faster, 0.85, 0.81, 0.89, 0.98, 1.02, 0.004};
  c.figures = {{"instructions", "", 120, 100}, {"spills", "", std::nullopt, 1}};
  c.arms = {measured("softmax A", 3, 7), measured("softmax B", 3, 7)};
  ComparisonRecord broken = c;
  broken.verdict.reset();
  broken.pairs.clear();
  broken.failure = Failure{"plan", "LF0002", "plan_illegal", "no such plan", "ask for another"};
  results.comparisons = {c, broken};
  return results;
}

Results replay_results() {
  Results results;
  results.kind = "replay";
  results.complete = true;
  results.replays = {
      {"rms_norm 64x64", 3, {{"first", "{}", {1, 1, 1}, 1, 1, 1}, {"second", "{}", {2, 2, 3}, 2, 1.9, 3}}, {}}};
  return results;
}

int count(std::string_view text, std::string_view part) {
  int found = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

/// The page before its bundle.
std::string readable(const std::vector<LoadedResults>& runs) {
  const std::string page = report_page(runs);
  return page.substr(0, page.find(vega_bundle()));
}

/// Results in which every text is kEvil.
std::vector<LoadedResults> evil_runs() {
  Results bench = bench_results(), ab = ab_results(), replay = replay_results();
  const std::string evil(kEvil);
  for (CaseRecord& record : bench.cases) {
    record.id += evil;
    record.kernel = record.plan = record.plan_line = record.dtype = record.made_for = evil;
    for (ArmRecord& a : record.arms) a.name = a.version = a.declined = evil;
  }
  bench.cases[3].failure = Failure{evil, evil, evil, evil, evil};
  bench.command = {"lanefold", evil};
  bench.started = bench.environment.device_name = bench.environment.binary.sha256 = evil;
  bench.protocol[evil] = 1;
  bench.fits[0].kernel = evil;
  for (std::size_t i = 0; i < 4; ++i) bench.fits[0].cases[i] = bench.cases[i].id;
  ab.comparisons[0].a = ab.comparisons[0].bytes = ab.comparisons[0].bytes_detail = ab.comparisons[0].figures[0].name =
      evil;
  replay.replays[0].id = replay.replays[0].arms[1].name = replay.replays[0].arms[1].plan = evil;
  return {{evil, bench}, {evil, ab}, {evil, replay}};
}

std::vector<LoadedResults> empty_runs() {
  std::vector<LoadedResults> runs;
  for (const std::string kind : {"bench", "ab", "replay"}) {
    runs.push_back({kind, {}});
    runs.back().results.kind = kind;
  }
  return runs;
}

TEST(Page, BundleIsTheFile) {
  std::ifstream file(LANEFOLD_SOURCE_DIR "/third_party/vega/vega_bundle.min.js", std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  EXPECT_GT(text.size(), 500'000U);
  EXPECT_TRUE(vega_bundle() == text);
  EXPECT_EQ(text.find("</script"), std::string::npos);
}

TEST(Page, IsWellFormedAndReachesNothing) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "lanefold_page_test";
  std::filesystem::create_directories(folder);
  const std::vector<std::pair<std::string, std::vector<LoadedResults>>> pages = {
      {"all", {{"a", bench_results()}, {"b", ab_results()}, {"c", replay_results()}}},
      {"empty", empty_runs()},
      {"evil", evil_runs()}};
  std::string command = fmt::format("python3 -B \"{}/tests/report_page/check_page.py\"", LANEFOLD_SOURCE_DIR);
  for (const auto& [name, runs] : pages) {
    const std::filesystem::path file = folder / (name + ".html");
    std::ofstream(file, std::ios::binary) << report_page(runs);
    command += fmt::format(" \"{}\"", file.string());
  }
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  std::filesystem::remove_all(folder);
}

TEST(Page, EmptyRunsHaveNoFailedCase) {
  EXPECT_NE(readable(empty_runs()).find("No failed case."), std::string::npos);
  EXPECT_NE(readable({}).find("No failed case."), std::string::npos);
}

TEST(Page, FailuresOfAllRunsStandBeforeTheFirstChart) {
  const std::string page = readable({{"first", bench_results()}, {"second", ab_results()}});
  const std::size_t chart = page.find("<figure");
  ASSERT_NE(chart, std::string::npos);
  for (const char* text : {"2 cases failed", "softmax 0x5 f32", "LF0001 elements_wrong", "17 elements are wrong",
                           "look at row 3", "LF0002 plan_illegal", "no such plan"}) {
    EXPECT_LT(page.find(text), chart) << text;
  }
  EXPECT_EQ(page.find("No failed case."), std::string::npos);
}

TEST(Page, FailedPeerLeavesTheCaseStanding) {
  Results results = bench_results();
  results.cases.pop_back();
  results.cases[0].arms[1].wall_us.clear();
  results.cases[0].arms[1].failure = Failure{"sample", "LF0003", "peer_protocol", "the peer has ended", ""};
  const std::string page = readable({{"run", results}});
  EXPECT_NE(page.find("No failed case."), std::string::npos);
  EXPECT_LT(page.find("the peer has ended"), page.find("<figure"));
}

TEST(Page, APeersOwnToleranceIsNamed) {
  Results results = bench_results();
  EXPECT_EQ(readable({{"run", results}}).find("own tolerance"), std::string::npos);
  ArmRecord& peer = results.cases[0].arms[1];
  peer.own_tolerance = "x is rounded to q8_0";
  peer.check = Check{3.5, 0, 0, {{"y", 64, 0, 2.25}}};
  const std::string page = readable({{"run", results}});
  EXPECT_NE(page.find("own tolerance</small>"), std::string::npos);
  EXPECT_NE(page.find("checked within a tolerance of its own: x is rounded to q8_0"), std::string::npos);
  EXPECT_NE(page.find("<dt>error of onnxruntime&#39;s, by its own tolerance, y</dt><dd>2.25 (allowed: 3.5 + 0·|r|)"),
            std::string::npos);
}

TEST(Page, PartialRunSaysSoOnTop) {
  Results results = bench_results();
  results.complete = false;
  const std::string page = readable({{"whole", bench_results()}, {"part", results}});
  const std::size_t banner = page.find("part: partial: the run ended before its end; 4 cases");
  ASSERT_NE(banner, std::string::npos);
  EXPECT_LT(banner, page.find("cases failed"));
  EXPECT_EQ(count(page, "class=\"partial\""), 1);
}

TEST(Page, TablesHaveTheFiguresWithoutCharts) {
  const std::string page = readable({{"run", bench_results()}});
  for (const char* text : {"0.500<small>0.420 to 0.540</small>",  // 2 µs over 4 µs; rounds of 0.5, 0.4 and 0.55
                           "<td class=\"n\">4.10</td>", "<td class=\"n\">50 %</td>", "2.50e-07<small>1e-06 + 1e-05·|r|",
                           "<dt>compile</dt><dd>12345 µs</dd>", "with uncommitted changes", "<noscript>",
                           "0.500 µs + bytes / 4.50 GB/s, off by at most 7.0 %"}) {
    EXPECT_NE(page.find(text), std::string::npos) << text;
  }
  const std::string ab = readable({{"run", ab_results()}});
  for (const char* text : {"0.850<small>0.810 to 0.890</small>", "0.980 to 1.02", "<td class=\"good\">faster</td>",
                           "equal for all inputs"}) {
    EXPECT_NE(ab.find(text), std::string::npos) << text;
  }
  EXPECT_NE(readable({{"run", replay_results()}}).find("1.90 to 3.00"), std::string::npos);
}

TEST(Page, TheCommandCanBeGivenToAShellAgain) {
  const std::string page = report_page(std::vector<LoadedResults>{{"run", bench_results()}});
  EXPECT_NE(page.find("lanefold bench rms_norm --peer &#39;python3 it&#39;\\&#39;&#39;s.py&#39;"), std::string::npos);
}

TEST(Page, TextOfResultsStaysText) {
  const std::string page = readable(evil_runs());
  EXPECT_EQ(page.find("<img"), std::string::npos);
  EXPECT_GT(count(page, "&lt;img src=x onerror=&quot;alert(1)&quot;&gt;&#39;&amp;"), 20);
  EXPECT_GT(count(page, "\\u003c/script>\\u003cimg"), 3);
  // An end of its own for each script, and no more.
  EXPECT_EQ(count(page, "</script"), count(page, "<script") - 1);
}

TEST(Page, EscapesWhatNoPageMayHold) {
  EXPECT_EQ(escape("<a href=\"x\">'&\n"), "&lt;a href=&quot;x&quot;&gt;&#39;&amp;\n");
  EXPECT_EQ(escape(std::string_view("a\0b\x1b", 4)), "a\uFFFDb\uFFFD");
  EXPECT_EQ(escape("µ\xffs"), "µ\uFFFDs");
  EXPECT_EQ(script_json({{"k", "</script><!--"}}), R"({"k":"\u003c/script>\u003c!--"})");
  EXPECT_EQ(script_json("\xff"), "\"\uFFFD\"");
}

TEST(Page, PolicyNamesAScriptByItsHash) {
  // The SHA-256 of nothing and of "abc" (FIPS 180-2), in base64.
  EXPECT_EQ(policy_hash(""), "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='");
  EXPECT_EQ(policy_hash("abc"), "'sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0='");
}

TEST(Page, NumbersForPeople) {
  EXPECT_EQ(number(0), "0");
  EXPECT_EQ(number(0.012345), "0.0123");
  EXPECT_EQ(number(1.2345), "1.23");
  EXPECT_EQ(number(123.45), "123");
  EXPECT_EQ(number(-12345.6), "-12346");
  EXPECT_EQ(number(3.1e-7), "3.10e-07");
  EXPECT_EQ(number(std::numeric_limits<double>::quiet_NaN()), "–");
  EXPECT_EQ(number(std::numeric_limits<double>::infinity()), "–");
  EXPECT_EQ(bytes(1000), "1000 B");
  EXPECT_EQ(bytes(1536), "1.50 KiB");
  EXPECT_EQ(percent(0.874), "87 %");
}

TEST(Page, RatioIsSubjectOverRivalOfTheSameRound) {
  const auto ratio = time_ratio(arm("a", "subject", {1, 2, 3}), arm("b", "peer", {2, 2, 2, 90}));
  ASSERT_TRUE(ratio);
  EXPECT_DOUBLE_EQ(ratio->median, 1);  // of 0.5, 1 and 1.5
  EXPECT_DOUBLE_EQ(ratio->low, 0.6);
  EXPECT_DOUBLE_EQ(ratio->high, 1.4);
  EXPECT_FALSE(time_ratio(arm("a", "subject", {}), arm("b", "peer", {2})));
  EXPECT_FALSE(time_ratio(arm("a", "subject", {1}), arm("b", "peer", {0})));
}

TEST(Page, GrowthsAreFitsAndThenOtherSizesOfOneKernel) {
  Results results = bench_results();
  ASSERT_EQ(growths(results).size(), 1U);  // the fit's cases are not drawn again
  EXPECT_EQ(growths(results)[0].fit, results.fits.data());
  std::swap(results.cases[0], results.cases[2]);
  results.fits.clear();
  for (const std::int64_t rows : {2, 3}) results.cases.push_back(measured("more", rows, 7));
  const std::vector<Growth> found = growths(results);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].grows, "cols");
  EXPECT_EQ(found[0].cases[0]->cols, 1);
  EXPECT_EQ(found[0].cases[2]->cols, 32003);
  EXPECT_EQ(found[1].grows, "rows");
  EXPECT_EQ(found[1].fixed, 7);
}

TEST(Page, FittedLineIsLaunchPlusBytesOverBandwidth) {
  const Results results = bench_results();
  const nlohmann::json spec = growth_chart(growths(results)[0]);
  int fitted = 0;
  for (const nlohmann::json& point : spec["layer"][0]["data"]["values"]) {
    if (point["series"] != "fitted") continue;
    ++fitted;
    EXPECT_NEAR(point["us"].get<double>(), 0.5 + 8192 / 4.5e3, 1e-9);
  }
  EXPECT_EQ(fitted, 9);  // three sizes, and three points between each two
}

TEST(Page, ChartsLeaveOutWhatHasNoLogarithm) {
  std::vector<CaseRecord> cases = {measured("untimed", 1, 1), measured("good", 1, 2)};
  cases[0].arms[0].wall_us = {0, 0, std::numeric_limits<double>::quiet_NaN()};
  const std::string spec = script_json(ratio_chart(cases));
  EXPECT_EQ(spec.find("untimed"), std::string::npos);
  EXPECT_NE(spec.find("good"), std::string::npos);
  cases.pop_back();
  EXPECT_TRUE(ratio_chart(cases).is_null());
  EXPECT_TRUE(bandwidth_chart(cases).is_null());
  EXPECT_TRUE(comparison_chart({}).is_null());
  EXPECT_TRUE(replay_chart({}).is_null());
  Results ab = ab_results();
  ab.comparisons[0].pairs[0].first_us = 0;
  EXPECT_EQ(script_json(comparison_chart(ab.comparisons)).find("\"ratio\":null"), std::string::npos);
}

TEST(Page, TicksAreFewRoundAndWithin) {
  EXPECT_EQ(log_ticks(0.09, 1.2), (std::vector<double>{0.1, 0.2, 0.5, 1}));
  const std::vector<double> narrow = log_ticks(0.95, 1.08);
  ASSERT_EQ(narrow.size(), 7U);  // 0.96 and on by 0.02
  EXPECT_NEAR(narrow[2], 1, 1e-12);
  EXPECT_EQ(log_ticks(0.5, 20000).size(), 5U);
  for (const double high : {1.011, 1.3, 2.9, 8.0, 50.0, 900.0, 1e6}) {
    const std::vector<double> ticks = log_ticks(0.99, high);
    EXPECT_GE(ticks.size(), 3U) << high;
    EXPECT_LE(ticks.size(), 10U) << high;
  }
}

}  // namespace
}  // namespace lanefold::bench
