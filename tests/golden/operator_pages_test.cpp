// The pages of docs/operators are what `lanefold ops --pages` writes of the library. LANEFOLD_REWRITE_GOLDEN=1 writes
// them anew.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "kernels/registry.h"

namespace lanefold {
namespace {

namespace fs = std::filesystem;

/// The files of a folder, by name.
std::map<std::string, std::string> contents(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    std::ostringstream text;
    text << std::ifstream(entry.path(), std::ios::binary).rdbuf();
    files[entry.path().filename().string()] = text.str();
  }
  return files;
}

int write_pages(const fs::path& folder) {
  return std::system(("\"" LANEFOLD_COMMAND "\" ops --pages \"" + folder.string() + "\" > /dev/null").c_str());
}

TEST(OperatorPages, AreThoseOfTheLibrary) {
  const fs::path kept = fs::path(LANEFOLD_SOURCE_DIR) / "docs" / "operators";
  const char* rewrites = std::getenv("LANEFOLD_REWRITE_GOLDEN");
  if (rewrites != nullptr && std::string_view(rewrites) == "1") {
    fs::remove_all(kept);
    fs::create_directories(kept);
    ASSERT_EQ(write_pages(kept), 0);
  }
  ASSERT_TRUE(fs::exists(kept)) << "LANEFOLD_REWRITE_GOLDEN=1 writes docs/operators";
  const fs::path fresh = fs::path(::testing::TempDir()) / "lanefold_operator_pages";
  fs::remove_all(fresh);
  fs::create_directories(fresh);
  ASSERT_EQ(write_pages(fresh), 0);
  const auto now = contents(fresh), golden = contents(kept);
  fs::remove_all(fresh);
  EXPECT_EQ(now.size(), kernels::operators().size() + 1);
  for (const auto& [name, text] : now) {
    const auto page = golden.find(name);
    EXPECT_TRUE(page != golden.end() && page->second == text)
        << "docs/operators/" << name << " is not what the library says; LANEFOLD_REWRITE_GOLDEN=1 writes it";
  }
  for (const auto& [name, text] : golden)
    EXPECT_TRUE(now.contains(name)) << "docs/operators/" << name << " is of no operator";
}

}  // namespace
}  // namespace lanefold
