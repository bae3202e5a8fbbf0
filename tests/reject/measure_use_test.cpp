// lanefold bench, ab and report as they are meant to be used.
#include "reject/measure.h"

#include <csignal>
#include <cstdlib>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

namespace lanefold {
namespace {

using nlohmann::json;

class MeasureUseTest : public MeasureCommandTest {};

TEST_F(MeasureUseTest, TheTwelvePublishedCases) {
  const Finished done = lanefold(brief({"bench", "--suite", "published", "--out", path("p")}));
  ASSERT_EQ(done.status, 0) << done.out << done.err;
  EXPECT_NE(done.out.find("rms_norm 64x4096 f32 canonical"), std::string::npos) << done.out;
  const json all = results("p");
  EXPECT_EQ(all["kind"], "bench");
  EXPECT_EQ(all["complete"], true);
  EXPECT_EQ(all["command"][1], "bench");
  EXPECT_EQ(all["protocol"]["samples"], 2);
  EXPECT_EQ(all["environment"]["binary"]["sha256"].get<std::string>().size(), 64u);
  ASSERT_EQ(all["cases"].size(), 12u);
  for (const json& c : all["cases"]) {
    EXPECT_TRUE(c["failure"].is_null());
    EXPECT_EQ(c["arms"][0]["wall_us"].size(), 2u);
    EXPECT_EQ(c["arms"][1]["name"], "copy");
    EXPECT_EQ(c["check"]["outputs"][0]["wrong"], 0);
    EXPECT_EQ(c["plan"]["plan"]["program"], c["kernel"]);
    EXPECT_EQ(c["sources"][0]["sha256"].get<std::string>().size(), 64u);
  }
}

TEST_F(MeasureUseTest, ProgramsInStages) {
  const auto means = [&](const char* name, const char* value) {
    return write(name, std::string("program means(x: f32[rows, cols])\n  store y: f32[cols] = ") + value +
                           "\n  store top: f32[rows] = fold max x\n");
  };
  const std::string a = means("a.fold", "fold[rows] sum x / rows"), b = means("b.fold", "fold[rows] sum (x / rows)");
  ASSERT_EQ(
      lanefold(brief({"bench", a, "--rows", "64", "--cols", "40", "--capture-sources", "--out", path("s")})).status, 0);
  const json all = results("s");
  ASSERT_EQ(all["cases"].size(), 1u);
  EXPECT_TRUE(all["cases"][0]["failure"].is_null()) << all["cases"][0]["failure"];
  EXPECT_EQ(all["cases"][0]["check"]["outputs"].size(), 2u);
  const std::string plans = all["cases"][0]["plan_line"].get<std::string>();
  EXPECT_NE(plans.find("of rows: "), plans.npos) << plans;
  EXPECT_NE(plans.find("; along rows: "), plans.npos) << plans;
  const Finished done = lanefold(brief_pairs({"ab", a, b, "--rows", "64", "--cols", "40", "--out", path("ab")}));
  EXPECT_EQ(done.status, 0) << done.out << done.err;
  EXPECT_NE(done.out.find("runs in stages"), done.out.npos) << done.out;
  EXPECT_TRUE(results("ab")["comparisons"][0]["verdict"].is_object());
  refused({"bench", "--replay", path("s/results.json")}, Code::nothing_to_replay, "");
  refused({"bench", a, "--rows", "0", "--cols", "4"}, Code::no_columns, "one row");
  refused({"ab", a, "rms_norm:per_lane", "--rows", "2", "--cols", "4"}, Code::unsupported_axis, "stages");
}

TEST_F(MeasureUseTest, SourcesAreKept) {
  ASSERT_EQ(lanefold(brief({"bench", "sum", "--cols", "40", "--capture-sources", "--out", path("s")})).status, 0);
  const json sources = results("s")["cases"][0]["sources"];
  ASSERT_EQ(sources.size(), 3u);
  for (const json& source : sources) EXPECT_FALSE(content("s/" + source["file"].get<std::string>()).empty()) << source;
}

TEST_F(MeasureUseTest, RunsBecomeTablesAndAPage) {
  ASSERT_EQ(lanefold(brief({"bench", "sum", "max", "--rows", "3", "--cols", "40", "--out", path("b")})).status, 0);
  ASSERT_EQ(lanefold(brief_pairs({"ab", "sum", "sum:serial", "--cols", "40", "--out", path("a")})).status, 0);
  const Finished table = lanefold({"report", path("b"), path("a")});
  EXPECT_EQ(table.status, 0) << table.err;
  EXPECT_NE(table.out.find("max 3x40 f32 canonical"), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("B / A"), std::string::npos) << table.out;
  const Finished page = lanefold({"report", path("b"), path("a"), "--out", path("page.html")});
  EXPECT_EQ(page.status, 0) << page.err;
  const std::string text = content("page.html");
  EXPECT_NE(text.find("max 3x40 f32 canonical"), std::string::npos);
  EXPECT_NE(text.find("Content-Security-Policy"), std::string::npos);
}

TEST_F(MeasureUseTest, OldBesideNew) {
  for (const char* folder : {"old", "new"})
    ASSERT_EQ(lanefold(brief({"bench", "sum", "--cols", "40", "--out", path(folder)})).status, 0);
  const Finished same = lanefold({"report", "--compare", path("old"), path("new")});
  EXPECT_EQ(same.status, 0) << same.out;
  EXPECT_NE(same.out.find("too few samples to judge"), std::string::npos) << same.out;
  // Eleven quiet samples, twice as long in the new results.
  json quick = results("old"), slower = results("new");
  for (json* run : {&quick, &slower})
    for (const std::size_t arm : {0u, 1u}) {
      json& record = (*run)["cases"][0]["arms"][arm];
      record["wall_us"] = record["turns"] = json::array();
      for (int i = 0; i < 11; ++i) {
        record["wall_us"].push_back((arm == 0 && run == &slower ? 20.0 : 10.0) + 0.01 * i);
        record["turns"].push_back(0);
      }
    }
  write("slower.json", slower.dump());
  write("quick.json", quick.dump());
  const Finished regressed = lanefold({"report", "--compare", path("quick.json"), path("slower.json")});
  EXPECT_EQ(regressed.status, 1) << regressed.out;
  EXPECT_NE(regressed.out.find("slower"), std::string::npos) << regressed.out;
  EXPECT_EQ(lanefold({"report", "--compare", path("quick.json"), path("slower.json"), "--least", "3"}).status, 0);
}

TEST_F(MeasureUseTest, PlansAreReplayed) {
  ASSERT_EQ(lanefold(brief({"bench", "softmax", "softmax:serial", "--rows", "2", "--cols", "100", "--out", path("b")}))
                .status,
            0);
  const Finished done = lanefold({"bench", "--replay", path("b"), "--rounds", "3", "--sample-ms", "0.05", "--warmup-ms",
                                  "0", "--settle-ms", "0", "--out", path("r")});
  ASSERT_EQ(done.status, 0) << done.out << done.err;
  const json replay = results("r")["replays"][0];
  EXPECT_EQ(replay["rounds"], 4);
  ASSERT_EQ(replay["arms"].size(), 2u);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(replay["arms"][static_cast<std::size_t>(i)]["wall_us"].size(), 4u);
    EXPECT_EQ(replay["arms"][static_cast<std::size_t>(i)]["plan"],
              results("b")["cases"][static_cast<std::size_t>(i)]["plan"]);
  }
}

TEST_F(MeasureUseTest, BytesDecideTheStatusWhereTheyMust) {
  const Arguments differ = brief_pairs({"ab", "rms_norm", "rms_norm:serial", "--rows", "2", "--cols", "700"});
  EXPECT_EQ(lanefold(differ).status, 0);
  Arguments must = differ;
  must.insert(must.end(), {"--require", "bytes"});
  const Finished refused = lanefold(must);
  EXPECT_EQ(refused.status, 1) << refused.err;
  EXPECT_NE(refused.out.find("ulp"), std::string::npos) << refused.out;
  EXPECT_EQ(lanefold(brief_pairs({"ab", "rms_norm", "rms_norm", "--cols", "700", "--require", "bytes"})).status, 0);
}

TEST_F(MeasureUseTest, ASlowerKernelFailsWhereItMust) {
  // 256 times the work, so no noise hides it.
  const Arguments slower =
      brief_pairs({"ab", "rms_norm", "rms_norm:per_lane", "--cols", "1024", "--fail-if", "slower"});
  const Finished done = lanefold(slower);
  EXPECT_EQ(done.status, 1) << done.out << done.err;
  EXPECT_NE(done.out.find("B is slower than A"), std::string::npos) << done.out;
  EXPECT_EQ(
      lanefold(brief_pairs({"ab", "rms_norm:per_lane", "rms_norm", "--cols", "1024", "--fail-if", "slower"})).status,
      0);
}

TEST_F(MeasureUseTest, AKilledRunKeepsWhatItHad) {
  const std::string out = path("killed"), command = LANEFOLD_COMMAND;
  const pid_t child = fork();
  if (child == 0) {
    (void)std::freopen("/dev/null", "w", stdout);
    execl(command.c_str(), command.c_str(), "bench", "--suite", "growth", "--sample-ms", "5", "--warmup-ms", "0",
          "--settle-ms", "0", "--out", out.c_str(), nullptr);
    _exit(127);
  }
  std::size_t cases = 0;
  for (int i = 0; i < 600 && cases == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    if (exists("killed/results.json")) cases = results("killed")["cases"].size();
  }
  kill(child, SIGKILL);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  const json kept = results("killed");
  EXPECT_EQ(kept["complete"], false);
  EXPECT_GE(kept["cases"].size(), 1u);
  const Finished table = lanefold({"report", out});
  EXPECT_EQ(table.status, 0) << table.err;
  EXPECT_NE(table.out.find("partial"), std::string::npos) << table.out;
}

}  // namespace
}  // namespace lanefold
