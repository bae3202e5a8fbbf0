#include "bench/results/results_folder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/sha256.h"
#include "bench/results/test_results.h"

namespace lanefold::bench {
namespace {

namespace fs = std::filesystem;

class ResultsFolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "lanefold-test-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    top_ = pattern;
  }
  void TearDown() override { fs::remove_all(top_); }

  std::string path(const std::string& name) const { return (top_ / name).string(); }
  /// Everything below the test's folder, sorted.
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& entry : fs::recursive_directory_iterator(top_))
      all.push_back(entry.path().lexically_relative(top_));
    std::sort(all.begin(), all.end());
    return all;
  }
  std::string content(const std::string& name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  ResultsFolder made(const std::string& name) const {
    Result<ResultsFolder> folder = ResultsFolder::create(path(name));
    EXPECT_TRUE(folder.ok()) << folder.error().text();
    return std::move(folder).value();
  }

  fs::path top_;
};

using Names = std::vector<std::string>;

TEST_F(ResultsFolderTest, MakesAFolderAndThoseAboveIt) {
  const ResultsFolder folder = made("a/b/c");
  EXPECT_EQ(folder.path(), path("a/b/c"));
  EXPECT_EQ(names(), (Names{"a", "a/b", "a/b/c"}));
  EXPECT_EQ(made("a/d//").path(), path("a/d"));
  EXPECT_TRUE(fs::is_directory(path("a/d")));
}

TEST_F(ResultsFolderTest, RefusesWhatIsThere) {
  fs::create_directory(path("folder"));
  std::ofstream(path("file")) << "mine";
  fs::create_symlink("folder", path("to_folder"));
  fs::create_symlink("nowhere", path("to_nothing"));
  const Names before = names();
  for (const char* name : {"folder", "folder/", "file", "to_folder", "to_folder/", "to_nothing", ".", "folder/.."}) {
    const Result<ResultsFolder> folder = ResultsFolder::create(path(name));
    ASSERT_FALSE(folder.ok()) << name;
    EXPECT_EQ(folder.error().code, Code::output_folder_exists) << name << ": " << folder.error().text();
    EXPECT_NE(folder.error().hint.find("another folder"), std::string::npos);
    EXPECT_EQ(names(), before) << name;
  }
  EXPECT_EQ(content("file"), "mine");
}

TEST_F(ResultsFolderTest, WhatCannotBeMade) {
  std::ofstream(path("file")) << "mine";
  for (const std::string& name : {path("file/x"), path("file/x/y"), path(std::string(300, 'n')), std::string()}) {
    const Result<ResultsFolder> folder = ResultsFolder::create(name);
    ASSERT_FALSE(folder.ok()) << name;
    EXPECT_EQ(folder.error().code, Code::write_failed) << name << ": " << folder.error().text();
  }
  EXPECT_EQ(names(), (Names{"file"}));
}

TEST_F(ResultsFolderTest, WritesAndReplaces) {
  ResultsFolder folder = made("out");
  Results results = full_results();
  results.complete = false;
  ASSERT_TRUE(folder.write(results).ok());
  EXPECT_EQ(names(), (Names{"out", "out/results.json"}));
  EXPECT_EQ(content("out/results.json"), to_json(results));
  results.complete = true;
  results.cases.clear();
  ASSERT_TRUE(folder.write(results).ok());
  EXPECT_EQ(names(), (Names{"out", "out/results.json"}));
  const Result<Results> read = read_results(folder.path());
  ASSERT_TRUE(read.ok()) << read.error().text();
  EXPECT_TRUE(read->complete);
  EXPECT_TRUE(read->cases.empty());
}

TEST_F(ResultsFolderTest, WhoHasOpenedItReadsItWhole) {
  ResultsFolder folder = made("out");
  Results results = full_results();
  ASSERT_TRUE(folder.write(results).ok());
  std::ifstream old(path("out/results.json"), std::ios::binary);
  results.cases.clear();
  ASSERT_TRUE(folder.write(results).ok());
  EXPECT_EQ((std::string{std::istreambuf_iterator<char>(old), {}}), to_json(full_results()));
}

TEST_F(ResultsFolderTest, AnEndedRunLeavesWhatItHad) {
  {
    ResultsFolder folder = made("out");
    Results results = full_results();
    results.complete = false;
    ASSERT_TRUE(folder.write(results).ok());
  }
  const Result<Results> read = read_results(path("out"));
  ASSERT_TRUE(read.ok()) << read.error().text();
  EXPECT_FALSE(read->complete);
  EXPECT_EQ(read->cases.size(), 1u);
}

TEST_F(ResultsFolderTest, FailsWhereTheFolderIsGone) {
  ResultsFolder folder = made("out");
  fs::remove(path("out"));
  const Status status = folder.write(full_results());
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::write_failed);
  const Result<SourceRecord> source = folder.keep_source("id", "lane", "text", true);
  ASSERT_FALSE(source.ok());
  EXPECT_EQ(source.error().code, Code::write_failed);
}

TEST_F(ResultsFolderTest, SourcesAreHashedAndKeptWhereAsked) {
  ResultsFolder folder = made("out");
  const Result<SourceRecord> hashed = folder.keep_source("a case", "lane", "abc", false);
  ASSERT_TRUE(hashed.ok());
  EXPECT_EQ(hashed->stage, "lane");
  EXPECT_EQ(hashed->sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hashed->file, "");
  EXPECT_EQ(names(), (Names{"out"}));
  const Result<SourceRecord> kept = folder.keep_source("rms_norm 64x4096 f32 canonical", "llvm", "define", true);
  ASSERT_TRUE(kept.ok()) << kept.error().text();
  EXPECT_EQ(kept->file, "sources/rms_norm_64x4096_f32_canonical.ll");
  EXPECT_EQ(kept->sha256, sha256_hex("define", 6));
  EXPECT_EQ(content("out/" + kept->file), "define");
  EXPECT_EQ(names(), (Names{"out", "out/sources", "out/" + kept->file}));
}

TEST_F(ResultsFolderTest, NamesOfSourcesAreSafeAndUnique) {
  ResultsFolder folder = made("out");
  const auto kept = [&](const std::string& id, const std::string& stage) {
    const std::string text = id + stage;
    const Result<SourceRecord> source = folder.keep_source(id, stage, text, true);
    EXPECT_TRUE(source.ok()) << source.error().text();
    EXPECT_EQ(content("out/" + source->file), text);
    return source->file;
  };
  EXPECT_EQ(kept("a b", "lane"), "sources/a_b.lane");
  EXPECT_EQ(kept("a/b", "lane"), "sources/a_b-2.lane");
  EXPECT_EQ(kept("A b", "asm"), "sources/A_b-3.s");
  EXPECT_EQ(kept("a b", "asm"), "sources/a_b.s");
  EXPECT_EQ(kept("a/b", "llvm"), "sources/a_b-2.ll");
  EXPECT_EQ(kept("a b", "lane"), "sources/a_b-4.lane");  // made again
  EXPECT_EQ(kept("a b", "asm"), "sources/a_b-4.s");
  EXPECT_EQ(kept("../../x", "lane"), "sources/_.._.._x.lane");
  EXPECT_EQ(kept("-rf", "lane"), "sources/_-rf.lane");
  EXPECT_EQ(kept("", "lane"), "sources/_.lane");
  EXPECT_EQ(kept(std::string("n\0\n\xc3\xa9", 5), "lane"), "sources/n____.lane");
  EXPECT_EQ(kept("m", "../asm"), "sources/m._.._asm");
  const std::string long_name = kept(std::string(1000, 'l'), "lane");
  const std::string other_long_name = kept(std::string(1001, 'l'), "lane");
  EXPECT_NE(long_name, other_long_name);
  EXPECT_LT(other_long_name.size(), 200u);
  for (const std::string& name : names()) EXPECT_EQ(name.rfind("out", 0), 0u) << name;
}

}  // namespace
}  // namespace lanefold::bench
