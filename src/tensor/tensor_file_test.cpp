#include "tensor/tensor_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>

#include "tensor/npy.h"
#include "tensor/safetensors.h"
#include "tensor/staged_files.h"
#include "tensor/test_files.h"

namespace lanefold::tensor {
namespace {

using TensorFileTest = FileTest;

/// While it lives, no file may grow beyond the limit: what a full disk does, without filling one.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &old_);
    rlimit limit = old_;
    limit.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &old_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit old_{};
  void (*handler_)(int) = SIG_DFL;
};

TEST_F(TensorFileTest, OneSpellingForBothFormats) {
  const Tensor a = counting_tensor({2, 3}, ElementType::f32);
  const Tensor b = counting_tensor({4}, ElementType::bf16);
  const std::vector<Output> outputs = {{path("a.npy"), a},
                                       {path("m.safetensors") + "#b", b},
                                       {path("b.npy"), b},
                                       {path("m.safetensors") + "#a.safetensors#1", a}};
  const Status written = write_tensors(outputs);
  ASSERT_TRUE(written.ok()) << written.error().text();
  EXPECT_EQ(names(), (std::vector<std::string>{"a.npy", "b.npy", "m.safetensors"}));
  for (const Output& output : outputs) {
    const Result<Tensor> back = read_tensor(output.spec, output.tensor.type);
    ASSERT_TRUE(back.ok()) << back.error().text();
    EXPECT_EQ(row_major(*back), row_major(output.tensor)) << output.spec;
  }
}

TEST_F(TensorFileTest, RefusesSpecs) {
  for (const char* spec : {"", "x", "x.bin", "x.safetensors", "x.safetensors#", "x.npy.gz", "x#y"}) {
    expect_code(read_tensor(spec), Code::file_kind_unknown);
    expect_code(check_output_specs(std::vector<std::string>{spec}), Code::file_kind_unknown);
  }
}

TEST_F(TensorFileTest, RefusesOneTargetTwice) {
  const auto check = [&](const std::string& a, const std::string& b) {
    return check_output_specs(std::vector<std::string>{a, b});
  };
  EXPECT_TRUE(check(path("a.npy"), path("b.npy")).ok());
  EXPECT_TRUE(check(path("a.safetensors#a"), path("a.safetensors#b")).ok());
  expect_code(check(path("a.npy"), path("a.npy")), Code::output_repeated);
  expect_code(check(path("a.npy"), path("./x/../a.npy")), Code::output_repeated);
  expect_code(check(path("a.safetensors#a"), path("./a.safetensors#a")), Code::output_repeated);
  const Tensor tensor = counting_tensor({1}, ElementType::f32);
  expect_code(write_tensors(std::vector<Output>{{path("a.npy"), tensor}, {path("a.npy"), tensor}}),
              Code::output_repeated);
  StagedFiles files;
  ASSERT_TRUE(files.stage(path("a"), {bytes_of("x")}).ok());
  expect_code(files.stage(path("./a"), {bytes_of("x")}), Code::output_repeated);
}

TEST_F(TensorFileTest, FailedWritesLeaveNothingBehind) {
  const Tensor small = counting_tensor({1}, ElementType::f32);
  const Tensor large = counting_tensor({100000}, ElementType::f32);
  write("a.npy", "old");
  expect_code(write_npy(path("no/such/a.npy"), small), Code::write_failed);
  expect_code(write_npy(write("plain", "x") + "/a.npy", small), Code::write_failed);
  {
    const FileSizeLimit limit(4096);
    expect_code(write_npy(path("a.npy"), large), Code::write_failed);
    expect_code(write_tensors(std::vector<Output>{{path("a.npy"), small}, {path("b.npy"), large}}), Code::write_failed);
    const std::vector<NamedTensor> tensors = {{"x", large}};
    expect_code(write_safetensors(path("a.safetensors"), tensors), Code::write_failed);
  }
  EXPECT_EQ(content("a.npy"), "old");
  EXPECT_EQ(names(), (std::vector<std::string>{"a.npy", "plain"}));
}

TEST_F(TensorFileTest, DevicesAndPipesAreNotReplaced) {
  const Tensor tensor = counting_tensor({1}, ElementType::f32);
  ASSERT_EQ(::mkfifo(path("pipe.npy").c_str(), 0600), 0);
  std::filesystem::create_symlink(path("pipe.npy"), path("link.npy"));
  expect_code(write_npy(path("pipe.npy"), tensor), Code::write_failed);
  expect_code(write_npy(path("link.npy"), tensor), Code::write_failed);
  expect_code(write_tensors(std::vector<Output>{{path("a.npy"), tensor}, {path("pipe.npy"), tensor}}),
              Code::write_failed);
  EXPECT_TRUE(std::filesystem::is_fifo(path("pipe.npy")));
  EXPECT_EQ(names(), (std::vector<std::string>{"link.npy", "pipe.npy"}));
}

TEST_F(TensorFileTest, FailedRenamesPutEverythingBack) {
  const Tensor tensor = counting_tensor({1}, ElementType::f32);
  write("old.npy", "old");
  std::filesystem::create_directory(path("taken.npy"));  // a rename onto a directory fails
  expect_code(write_npy(path("taken.npy"), tensor), Code::write_failed);
  expect_code(write_tensors(std::vector<Output>{
                  {path("old.npy"), tensor}, {path("new.npy"), tensor}, {path("taken.npy"), tensor}}),
              Code::write_failed);
  EXPECT_EQ(content("old.npy"), "old");
  EXPECT_EQ(names(), (std::vector<std::string>{"old.npy", "taken.npy"}));
}

TEST_F(TensorFileTest, ReplacesFilesAndFollowsLinks) {
  const Tensor tensor = counting_tensor({3}, ElementType::f32);
  write("old.npy", "old");
  std::filesystem::create_symlink("old.npy", path("link.npy"));
  const std::vector<Output> outputs = {{path("link.npy"), tensor}, {path("new.npy"), tensor}};
  ASSERT_TRUE(write_tensors(outputs).ok());
  EXPECT_TRUE(std::filesystem::is_symlink(path("link.npy")));
  EXPECT_EQ(row_major(*read_npy(path("old.npy"))), row_major(tensor));
  EXPECT_EQ(names(), (std::vector<std::string>{"link.npy", "new.npy", "old.npy"}));
}

TEST_F(TensorFileTest, AnInputMayBeReplacedWhileItIsMapped) {
  ASSERT_TRUE(write_npy(path("a.npy"), counting_tensor({4}, ElementType::i8)).ok());
  const Tensor input = *read_npy(path("a.npy"));
  Tensor reversed = input;
  reversed.data += 3;
  reversed.strides = {-1};
  ASSERT_TRUE(write_npy(path("a.npy"), reversed).ok());
  EXPECT_EQ(row_major(input), "\1\2\3\4");
  EXPECT_EQ(row_major(*read_npy(path("a.npy"))), "\4\3\2\1");
}

TEST_F(TensorFileTest, UncommittedFilesVanish) {
  {
    StagedFiles files;
    ASSERT_TRUE(files.stage(path("a"), {bytes_of("x"), bytes_of("y")}).ok());
    EXPECT_EQ(names().size(), 1u);
    EXPECT_FALSE(std::filesystem::exists(path("a")));
  }
  EXPECT_TRUE(names().empty());
}

}  // namespace
}  // namespace lanefold::tensor
