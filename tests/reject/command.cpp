#include "reject/command.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "base/load_store.h"
#include "tensor/npy.h"

namespace lanefold {
namespace {

std::string read_file(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace

FileSizeLimit::FileSizeLimit(std::uint64_t bytes) {
  rlimit limit{};
  EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
  before_ = limit.rlim_cur;
  limit.rlim_cur = bytes;
  EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
}

FileSizeLimit::~FileSizeLimit() {
  rlimit limit{};
  ::getrlimit(RLIMIT_FSIZE, &limit);
  limit.rlim_cur = before_;
  ::setrlimit(RLIMIT_FSIZE, &limit);
}

void CommandTest::SetUp() {
  std::string pattern = (std::filesystem::temp_directory_path() / "lanefold-test-XXXXXX").string();
  ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
  directory_ = pattern;
}

void CommandTest::TearDown() { std::filesystem::remove_all(directory_); }

std::string CommandTest::write(const std::string& name, std::string_view content) const {
  std::ofstream(directory_ / name, std::ios::binary) << content;
  return path(name);
}

std::string CommandTest::content(const std::string& name) const { return read_file(directory_ / name); }

std::string CommandTest::matrix(const std::string& name, std::vector<std::int64_t> shape, ElementType type) const {
  const tensor::Tensor tensor = tensor::make_tensor(std::move(shape), type);
  const std::int64_t cols = tensor.shape.empty() ? 1 : tensor.shape.back();
  for (std::int64_t i = 0; i < tensor.element_count(); ++i) {
    std::byte* at = tensor.data + i * static_cast<std::int64_t>(element_bytes(type));
    const auto value = i % cols == 0 ? static_cast<float>(i / cols + 1) : 0.25f;
    if (is_float(type)) {
      store_element(at, type, value);
    } else {
      store_integer(at, type, i);
    }
  }
  const Status written = tensor::write_npy(path(name), tensor);
  EXPECT_TRUE(written.ok()) << written.error().text();
  return path(name);
}

tensor::Tensor CommandTest::read(const std::string& name) const {
  const Result<tensor::Tensor> tensor = tensor::read_npy(path(name));
  EXPECT_TRUE(tensor.ok()) << tensor.error().text();
  return tensor.ok() ? *tensor : tensor::Tensor{};
}

Finished CommandTest::lanefold(const Arguments& arguments, const std::string& out) const {
  const std::string out_file = out.empty() ? path("stdout") : out, err_file = path("stderr");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  std::vector<std::string> words = {LANEFOLD_COMMAND};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> settings;
  for (char** entry = environ; *entry != nullptr; ++entry)
    if (!std::string_view(*entry).starts_with("LANEFOLD_CACHE_DIR=")) settings.emplace_back(*entry);
  settings.push_back("LANEFOLD_CACHE_DIR=" + path("cache"));
  std::vector<char*> argv, envp;
  for (std::string& word : words) argv.push_back(word.data());
  for (std::string& setting : settings) envp.push_back(setting.data());
  argv.push_back(nullptr);
  envp.push_back(nullptr);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, LANEFOLD_COMMAND, &actions, nullptr, argv.data(), envp.data());
  posix_spawn_file_actions_destroy(&actions);
  Finished finished;
  EXPECT_EQ(error, 0) << "cannot start " << LANEFOLD_COMMAND;
  if (error != 0) return finished;
  int status = 0;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  finished.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (out.empty()) finished.out = read_file(out_file);
  finished.err = read_file(err_file);
  return finished;
}

nlohmann::json CommandTest::json_of(Arguments arguments) const {
  arguments.emplace_back("--json");
  const Finished finished = lanefold(arguments);
  EXPECT_EQ(finished.status, 0) << finished.out << finished.err;
  EXPECT_EQ(finished.err, "");
  return nlohmann::json::parse(finished.out, nullptr, false);
}

void CommandTest::refused(const Arguments& arguments, Code code, std::string_view hint) const {
  std::string line = "lanefold";
  for (const std::string& word : arguments) line += " '" + word + "'";
  SCOPED_TRACE(line);
  Arguments with_json = arguments;
  with_json.emplace_back("--json");
  const Finished json = lanefold(with_json);
  EXPECT_EQ(json.status, 2) << json.err;
  EXPECT_EQ(json.err, "");
  const nlohmann::json parsed = nlohmann::json::parse(json.out, nullptr, false);
  ASSERT_TRUE(parsed.is_object() && parsed.contains("error")) << json.out;
  const nlohmann::json& error = parsed.at("error");
  EXPECT_EQ(error.at("code"), code_number(code)) << json.out;
  EXPECT_EQ(error.at("name"), code_name(code));
  EXPECT_FALSE(error.at("message").get<std::string>().empty());
  EXPECT_NE(error.at("hint").get<std::string>().find(hint), std::string::npos) << json.out;
  EXPECT_TRUE(error.at("place").is_string());
}

}  // namespace lanefold
