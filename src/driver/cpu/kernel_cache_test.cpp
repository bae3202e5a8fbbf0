#include "driver/cpu/kernel_cache.h"

#include <unistd.h>

#include <fstream>

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

}  // namespace
}  // namespace lanefold::driver
