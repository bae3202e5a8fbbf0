#include "runtime/cuda/binary_cache.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "runtime/cuda/test_fake_driver.h"
#include "runtime/cuda/test_nvrtc.h"

namespace lanefold::runtime {
namespace {

namespace fs = std::filesystem;

/// A folder that goes with the test.
class Folder {
 public:
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "lanefold-cubins-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) internal_error("no temporary folder");
    path_ = pattern;
  }
  ~Folder() { fs::remove_all(path_); }
  const fs::path& path() const { return path_; }
  std::vector<fs::path> files() const {
    std::vector<fs::path> all;
    for (const auto& entry : fs::directory_iterator(path_)) all.push_back(entry.path());
    return all;
  }

 private:
  fs::path path_;
};

CudaBinary sample(std::size_t size, int seed) {
  CudaBinary binary;
  for (std::size_t i = 0; i < size; ++i)
    binary.cubin.push_back(static_cast<std::byte>((i * 31 + static_cast<std::size_t>(seed)) & 255));
  binary.log = "ptxas info    : Compiling entry function 'k' for 'sm_90'\nptxas info    : Used 8 registers\n";
  return binary;
}

TEST(CudaBinaryCacheTest, GivesBackCodeAndLog) {
  const Folder folder;
  const CudaBinaryCache cache(folder.path());
  EXPECT_FALSE(cache.find("a").has_value());
  cache.store("a", sample(1000, 1));
  const auto found = cache.find("a");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->cubin, sample(1000, 1).cubin);
  EXPECT_EQ(found->log, sample(1000, 1).log);
  EXPECT_TRUE(found->from_disk);
  ASSERT_NE(found->find("k"), nullptr);
  EXPECT_EQ(found->find("k")->registers, 8u);
  EXPECT_FALSE(CudaBinaryCache(std::nullopt).find("a").has_value());
}

TEST(CudaBinaryCacheTest, AnEntryWhoseSizesDoNotFitIsNone) {
  const Folder folder;
  const CudaBinaryCache cache(folder.path());
  const BinaryStore store(folder.path(), ".cubin-entry");
  store.store("short", {std::byte{1}, std::byte{2}});
  EXPECT_FALSE(cache.find("short").has_value());
  const std::uint64_t log_size = 100;
  BinaryStore::Bytes bytes(20);
  std::memcpy(bytes.data(), &log_size, sizeof log_size);
  store.store("long", bytes);
  EXPECT_FALSE(cache.find("long").has_value());
}

TEST(CudaBinaryCacheTest, SeveralProcessesLeaveWholeEntries) {
  const Folder folder;
  const CudaBinaryCache cache(folder.path());
  std::vector<pid_t> children;
  for (int seed = 0; seed < 4; ++seed) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      bool whole = true;
      for (int i = 0; i < 25; ++i) {
        cache.store("a", sample(5000, seed));
        const auto found = cache.find("a");
        whole = whole && found && found->cubin.size() == 5000;
      }
      ::_exit(whole ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(folder.files().size(), 1u) << "no temporary file stays";
}

class CudaCompileCacheTest : public NvrtcTest {
 protected:
  static CudaSource source() { return {.text = std::string(kScaleSource), .name = "scale.cu"}; }
  bool from_disk(const CudaBinaryCache& cache) const {
    const auto binary = cache.get(*nvrtc_, source(), "sm_90");
    EXPECT_TRUE(binary.ok()) << binary.error().text();
    EXPECT_EQ(binary->find("scale")->shared_bytes, 256u);
    return binary->from_disk;
  }
};

TEST_F(CudaCompileCacheTest, CodeComesFromTheDiskTheSecondTime) {
  const Folder folder;
  const CudaBinaryCache cache(folder.path());
  EXPECT_FALSE(from_disk(cache));
  EXPECT_TRUE(from_disk(cache));
  ASSERT_EQ(folder.files().size(), 1u);
  fs::resize_file(folder.files()[0], 100);
  EXPECT_FALSE(from_disk(cache)) << "a damaged entry is made again";
  EXPECT_TRUE(from_disk(cache));
}

TEST_F(CudaCompileCacheTest, KeysTellApartWhatCodeDependsOn) {
  const std::string key = CudaBinaryCache::key(*nvrtc_, source(), "sm_90");
  EXPECT_EQ(CudaBinaryCache::key(*nvrtc_, source(), "sm_90"), key);
  EXPECT_NE(CudaBinaryCache::key(*nvrtc_, source(), "sm_80"), key);
  CudaSource other = source();
  other.text += " ";
  EXPECT_NE(CudaBinaryCache::key(*nvrtc_, other, "sm_90"), key);
  other = source();
  other.flags = {"--maxrregcount=64"};
  EXPECT_NE(CudaBinaryCache::key(*nvrtc_, other, "sm_90"), key);
  other = source();
  other.name = "other.cu";
  EXPECT_NE(CudaBinaryCache::key(*nvrtc_, other, "sm_90"), key);
}

/// Real machine code on the stand-in for a device.
class CudaBuildTest : public fake::FakeDriverTest {
 protected:
  void SetUp() override {
    FakeDriverTest::SetUp();
    const auto nvrtc = Nvrtc::get();
    if (nvrtc) return;
    if (nvrtc_required()) FAIL() << nvrtc.error().text();
    GTEST_SKIP() << nvrtc.error().text();
  }
};

TEST_F(CudaBuildTest, SourceBecomesAKernel) {
  const Folder folder;
  const CudaBinaryCache cache(folder.path());
  const CudaDevice device = this->device();
  const CudaSource source{.text = std::string(kScaleSource), .name = "scale.cu"};
  const auto kernel = device.kernel(source, {.name = "scale", .arguments = 3, .threads = 256}, cache);
  ASSERT_TRUE(kernel.ok()) << kernel.error().text();
  EXPECT_EQ((*kernel)->usage().shared_bytes, 256u);
  EXPECT_FALSE((*kernel)->module().binary().from_disk);
  const auto again = device.kernel(source, {.name = "scale", .arguments = 3, .threads = 256}, cache);
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE((*again)->module().binary().from_disk);
  CudaSource wrong = source;
  wrong.text = "no source";
  wrong.generated = false;
  EXPECT_EQ(device.build(wrong, cache).error().code, Code::code_generation_failed);
}

TEST_F(CudaBuildTest, AnEntryThatIsNoMachineCodeIsMadeAgain) {
  const Folder folder;
  const CudaBinaryCache cache(folder.path());
  const CudaDevice device = this->device();
  const CudaSource source{.text = std::string(kScaleSource), .name = "scale.cu"};
  const std::string key = CudaBinaryCache::key(**Nvrtc::get(), source, "sm_90");
  cache.store(key, sample(300, 5));
  const auto module = device.build(source, cache);
  ASSERT_TRUE(module.ok()) << module.error().text();
  EXPECT_FALSE((*module)->binary().from_disk);
  EXPECT_EQ(cache.find(key)->cubin, (*module)->binary().cubin);
}

}  // namespace
}  // namespace lanefold::runtime
