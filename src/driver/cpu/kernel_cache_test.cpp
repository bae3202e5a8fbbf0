#include "driver/cpu/kernel_cache.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include "driver/cpu/row_kernel.h"
#include "kernels/registry.h"

namespace lanefold::driver {
namespace {

namespace fs = std::filesystem;

class KernelCacheTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "lanefold-cache-XXXXXX").string();
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

  /// The sum of each of two rows, by a kernel from this cache; whether that came from the disk.
  bool run(const KernelCache& cache, std::string_view op = "sum") const {
    CompileOptions options;
    options.cache = cache;
    auto kernel = RowKernel::create(*kernels::build(*kernels::find(op), ElementType::f32), options);
    EXPECT_TRUE(kernel.ok());
    std::vector<float> x(20, 1.5f), y(2);
    const View in[] = {{.data = reinterpret_cast<std::byte*>(x.data()), .rows = 2, .cols = 10, .row_stride = 10}};
    const View out[] = {{.data = reinterpret_cast<std::byte*>(y.data()), .rows = 2, .cols = 1, .row_stride = 1}};
    const runtime::Call call{.inputs = in, .outputs = out, .parameters = {}, .rows = 2, .cols = 10};
    runtime::Executor executor(1);
    const Status status = (*kernel)->run(call, executor);
    EXPECT_TRUE(status.ok()) << status.error().text();
    EXPECT_EQ(y, std::vector<float>(2, op == "sum" ? 15.0f : 1.5f));
    return (*(*kernel)->prepare(call))->from_disk;
  }

  static jit::Object object(std::size_t size, int seed) {
    jit::Object bytes(size);
    for (std::size_t i = 0; i < size; ++i)
      bytes[i] = static_cast<std::byte>((i * 31 + static_cast<std::size_t>(seed)) & 255);
    return bytes;
  }

  fs::path folder_;
};

TEST_F(KernelCacheTest, GivesBackWhatWasStored) {
  const KernelCache cache(folder_ / "new" / "folder");
  EXPECT_FALSE(cache.find("a").has_value());
  cache.store("a", object(1000, 1));
  cache.store("b", object(2000, 2));
  cache.store("b", object(500, 3));
  EXPECT_EQ(cache.find("a"), object(1000, 1));
  EXPECT_EQ(cache.find("b"), object(500, 3));
  EXPECT_EQ(files().size(), 2u) << "no temporary file stays";
}

TEST_F(KernelCacheTest, EveryDamageIsFound) {
  const KernelCache cache(folder_);
  cache.store("a", object(200, 1));
  const fs::path file = files().at(0);
  std::ifstream in(file, std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const auto damaged = [&](const std::string& bytes) {
    std::ofstream(file, std::ios::binary) << bytes;
    return !cache.find("a").has_value();
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

TEST_F(KernelCacheTest, KernelsComeFromTheDiskTheSecondTime) {
  const KernelCache cache(folder_);
  EXPECT_FALSE(run(cache));
  EXPECT_TRUE(run(cache));
  EXPECT_FALSE(run(cache, "max")) << "another program's kernel is not taken for it";
  EXPECT_TRUE(run(cache, "max"));
  EXPECT_TRUE(run(cache));
}

TEST_F(KernelCacheTest, ADamagedKernelIsBuiltAnew) {
  const KernelCache cache(folder_);
  EXPECT_FALSE(run(cache));
  fs::resize_file(files().at(0), 100);
  EXPECT_FALSE(run(cache));
  EXPECT_TRUE(run(cache)) << "and stored again";
}

TEST_F(KernelCacheTest, AnObjectThatDoesNotLinkIsBuiltAnew) {
  const KernelCache cache(folder_);
  EXPECT_FALSE(run(cache));
  const std::string key = files().at(0).stem().string();
  ASSERT_TRUE(cache.find(key).has_value());
  cache.store(key, object(300, 5));  // whole, but no object file
  EXPECT_FALSE(run(cache));
  EXPECT_TRUE(run(cache));
}

TEST_F(KernelCacheTest, AFolderThatCannotBeIsNoError) {
  std::ofstream(folder_ / "file") << "not a folder";
  const KernelCache cache(folder_ / "file" / "cache");
  EXPECT_FALSE(run(cache));
  EXPECT_FALSE(run(cache));
  const KernelCache none(std::nullopt);
  none.store("a", object(10, 1));
  EXPECT_FALSE(none.find("a").has_value());
  EXPECT_FALSE(run(none));
}

TEST_F(KernelCacheTest, SeveralWritersLeaveOneWholeEntry) {
  const KernelCache cache(folder_);
  std::vector<std::thread> writers;
  for (int seed = 0; seed < 4; ++seed)
    writers.emplace_back([&, seed] {
      for (int i = 0; i < 20; ++i) {
        cache.store("a", object(5000, seed));
        EXPECT_TRUE(cache.find("a").has_value());
      }
    });
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(files().size(), 1u);
}

TEST_F(KernelCacheTest, KeysTellModulesAndTargetsApart) {
  lane::Module module;
  module.name = "a";
  target::Target target = target::host();
  const std::string key = KernelCache::key(module, target);
  EXPECT_EQ(KernelCache::key(module, target), key);
  target.llvm_features += ",+other";
  EXPECT_NE(KernelCache::key(module, target), key);
  module.name = "b";
  EXPECT_NE(KernelCache::key(module, target::host()), key);
}

TEST_F(KernelCacheTest, TheUsersFolderFollowsTheEnvironment) {
  const char* names[] = {"LANEFOLD_CACHE_DIR", "XDG_CACHE_HOME", "HOME"};
  std::vector<std::optional<std::string>> before;
  for (const char* name : names) {
    const char* value = std::getenv(name);
    before.push_back(value ? std::optional<std::string>(value) : std::nullopt);
    ::unsetenv(name);
  }
  EXPECT_EQ(KernelCache::user().folder(), std::nullopt);
  ::setenv("HOME", "/home/somebody", 1);
  EXPECT_EQ(KernelCache::user().folder(), fs::path("/home/somebody/.cache/lanefold"));
  ::setenv("XDG_CACHE_HOME", "/caches", 1);
  EXPECT_EQ(KernelCache::user().folder(), fs::path("/caches/lanefold"));
  ::setenv("LANEFOLD_CACHE_DIR", "/own", 1);
  EXPECT_EQ(KernelCache::user().folder(), fs::path("/own"));
  ::setenv("LANEFOLD_CACHE_DIR", "", 1);
  EXPECT_EQ(KernelCache::user().folder(), std::nullopt);
  for (std::size_t i = 0; i < 3; ++i) before[i] ? ::setenv(names[i], before[i]->c_str(), 1) : ::unsetenv(names[i]);
}

}  // namespace
}  // namespace lanefold::driver
