#include "runtime/common/binary_store.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>

namespace lanefold::runtime {
namespace {

namespace fs = std::filesystem;

class BinaryStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "lanefold-store-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::vector<fs::path> files() const {
    std::vector<fs::path> all;
    for (const auto& entry : fs::recursive_directory_iterator(folder_))
      if (entry.is_regular_file()) all.push_back(entry.path());
    return all;
  }

  static BinaryStore::Bytes sample(std::size_t size, int seed) {
    BinaryStore::Bytes bytes(size);
    for (std::size_t i = 0; i < size; ++i)
      bytes[i] = static_cast<std::byte>((i * 31 + static_cast<std::size_t>(seed)) & 255);
    return bytes;
  }

  fs::path folder_;
};

TEST_F(BinaryStoreTest, GivesBackWhatWasStored) {
  const BinaryStore entries(folder_ / "new" / "folder", ".o");
  EXPECT_FALSE(entries.find("a").has_value());
  entries.store("a", sample(1000, 1));
  entries.store("b", sample(2000, 2));
  entries.store("b", sample(500, 3));
  EXPECT_EQ(entries.find("a"), sample(1000, 1));
  EXPECT_EQ(entries.find("b"), sample(500, 3));
  EXPECT_EQ(files().size(), 2u) << "no temporary file stays";
}

TEST_F(BinaryStoreTest, EveryDamageIsFound) {
  const BinaryStore entries(folder_, ".o");
  entries.store("a", sample(200, 1));
  const fs::path file = files().at(0);
  std::ifstream in(file, std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const auto damaged = [&](const std::string& bytes) {
    std::ofstream(file, std::ios::binary) << bytes;
    return !entries.find("a").has_value();
  };
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string changed = whole;
    changed[i] ^= 1;
    EXPECT_TRUE(damaged(changed)) << "byte " << i;
    EXPECT_TRUE(damaged(whole.substr(0, i))) << "cut to " << i;
  }
  EXPECT_TRUE(damaged(whole + "x"));
  EXPECT_FALSE(damaged(whole));
}

TEST_F(BinaryStoreTest, SeveralWritersLeaveOneWholeEntry) {
  const BinaryStore entries(folder_, ".o");
  std::vector<std::thread> writers;
  for (int seed = 0; seed < 4; ++seed)
    writers.emplace_back([&, seed] {
      for (int i = 0; i < 20; ++i) {
        entries.store("a", sample(5000, seed));
        EXPECT_TRUE(entries.find("a").has_value());
      }
    });
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(files().size(), 1u);
}

TEST_F(BinaryStoreTest, TheUsersFolderFollowsTheEnvironment) {
  const char* names[] = {"LANEFOLD_CACHE_DIR", "XDG_CACHE_HOME", "HOME"};
  std::vector<std::optional<std::string>> before;
  for (const char* name : names) {
    const char* value = std::getenv(name);
    before.push_back(value ? std::optional<std::string>(value) : std::nullopt);
    ::unsetenv(name);
  }
  EXPECT_EQ(BinaryStore::user_folder(), std::nullopt);
  ::setenv("HOME", "/home/somebody", 1);
  EXPECT_EQ(BinaryStore::user_folder(), fs::path("/home/somebody/.cache/lanefold"));
  ::setenv("XDG_CACHE_HOME", "/caches", 1);
  EXPECT_EQ(BinaryStore::user_folder(), fs::path("/caches/lanefold"));
  ::setenv("LANEFOLD_CACHE_DIR", "/own", 1);
  EXPECT_EQ(BinaryStore::user_folder(), fs::path("/own"));
  ::setenv("LANEFOLD_CACHE_DIR", "", 1);
  EXPECT_EQ(BinaryStore::user_folder(), std::nullopt);
  for (std::size_t i = 0; i < 3; ++i) before[i] ? ::setenv(names[i], before[i]->c_str(), 1) : ::unsetenv(names[i]);
}

TEST_F(BinaryStoreTest, KindsDoNotMix) {
  const BinaryStore objects(folder_, ".o");
  const BinaryStore others(folder_, ".other");
  objects.store("a", sample(10, 1));
  EXPECT_FALSE(others.find("a").has_value());
  fs::copy_file(folder_ / "a.o", folder_ / "a.other");
  EXPECT_FALSE(others.find("a").has_value()) << "the head names the kind";
}

TEST_F(BinaryStoreTest, AFolderThatCannotBeIsNoError) {
  std::ofstream(folder_ / "file") << "not a folder";
  const BinaryStore blocked(folder_ / "file" / "cache", ".o");
  blocked.store("a", sample(10, 1));
  EXPECT_FALSE(blocked.find("a").has_value());
  const BinaryStore none(std::nullopt, ".o");
  none.store("a", sample(10, 1));
  EXPECT_FALSE(none.find("a").has_value());
}

TEST_F(BinaryStoreTest, KeysFollowTheText) {
  EXPECT_EQ(BinaryStore::key("a"), BinaryStore::key("a"));
  EXPECT_NE(BinaryStore::key("a"), BinaryStore::key("b"));
  EXPECT_EQ(BinaryStore::key("a").size(), 32u);
}

}  // namespace
}  // namespace lanefold::runtime
