#include "bench/arms/peer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>

namespace lanefold::bench {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

/// A case y = x of 3 x 5, and a folder of the test's own for temporary files. After each test no child and no file may be left.
class Peers : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const char* before = std::getenv("TMPDIR")) before_ = before;
    std::string pattern = (fs::temp_directory_path() / "lanefold-peers-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    ::setenv("TMPDIR", folder_.c_str(), 1);
    std::iota(x_.begin(), x_.end(), 0.5f);
    case_.op = "softmax";
    case_.rows = 3;
    case_.cols = 5;
    case_.dtype = "f32";
    case_.threads = 2;
    case_.parameters = {{"eps", 0.25f}};
    case_.inputs.push_back({"x", {3, 5}, {reinterpret_cast<std::byte*>(x_.data()), ElementType::f32, 3, 5, 5, 1}});
    case_.outputs.push_back({"y", {3, 5}, {}});
  }
  void TearDown() override {
    EXPECT_TRUE(fs::is_empty(folder_)) << "temporary files are left";
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
    EXPECT_EQ(errno, ECHILD);
    fs::remove_all(folder_);
    before_.empty() ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", before_.c_str(), 1);
  }

  static std::string command(const std::string& kind) {
    return fmt::format("python3 -S \"{}/tests/peers/fake_peer.py\" {}", LANEFOLD_SOURCE_DIR, kind);
  }
  static Result<std::unique_ptr<Peer>> start(const std::string& kind, milliseconds answer = milliseconds(20'000)) {
    return Peer::start(command(kind), {.greeting = answer, .answer = answer});
  }
  /// Greets, prepares, runs and fetches the outputs, as far as it gets; the failure.
  Result<std::vector<std::vector<std::byte>>> all_of(Peer& peer) {
    LANEFOLD_TRY(const PeerOffer offer, peer.prepare(case_));
    EXPECT_EQ(offer.declined, "");
    LANEFOLD_TRY(const Timing timing, peer.run(7));
    EXPECT_GT(timing.wall_ns, 0);
    return peer.outputs();
  }
  Diagnostic failure_of(const std::string& kind, milliseconds answer = milliseconds(20'000)) {
    auto peer = start(kind, answer);
    if (!peer) return peer.error();
    const auto result = all_of(**peer);
    EXPECT_FALSE(result.ok()) << kind;
    if (result.ok()) return {Code::peer_protocol, "", "", ""};
    // It is over: what comes after fails alike.
    EXPECT_EQ((*peer)->run(1).error().message, result.error().message);
    EXPECT_EQ((*peer)->prepare(case_).error().message, result.error().message);
    EXPECT_EQ((*peer)->outputs().error().message, result.error().message);
    return result.error();
  }
  void expect_failure(const std::string& kind, const std::string& part, Code code = Code::peer_protocol) {
    const Diagnostic failure = failure_of(kind);
    EXPECT_EQ(failure.code, code) << failure.text();
    EXPECT_EQ(failure.place, command(kind));
    EXPECT_NE(failure.message.find(part), std::string::npos) << failure.text();
  }

  std::string folder_, before_;
  std::vector<float> x_ = std::vector<float>(15);
  PeerCase case_;
};

TEST_F(Peers, ComputesACase) {
  auto peer = start("behaves");
  ASSERT_TRUE(peer.ok()) << peer.error().text();
  EXPECT_EQ((*peer)->name(), "fake");
  const pid_t pid = std::stoi((*peer)->version());
  EXPECT_EQ(::kill(pid, 0), 0);
  for (int round = 0; round < 2; ++round) {  // the second case replaces the first
    x_[0] = static_cast<float>(100 + round);
    const auto offer = (*peer)->prepare(case_);
    ASSERT_TRUE(offer.ok()) << offer.error().text();
    EXPECT_EQ(offer->declined, "");
    EXPECT_EQ(offer->call, "y[:] = x");
    EXPECT_EQ(offer->output_policy, "preallocated");
    EXPECT_FALSE(offer->tolerance.has_value());
    EXPECT_TRUE(fs::is_empty(folder_)) << "inputs stay on disk";
    const auto timing = (*peer)->run(1000);
    ASSERT_TRUE(timing.ok()) << timing.error().text();
    EXPECT_GT(timing->wall_ns, 0);
    EXPECT_FALSE(timing->device_ns.has_value());
    const auto outputs = (*peer)->outputs();
    ASSERT_TRUE(outputs.ok()) << outputs.error().text();
    ASSERT_EQ(outputs->size(), 1u);
    ASSERT_EQ(outputs->at(0).size(), x_.size() * sizeof(float));
    EXPECT_EQ(std::memcmp(outputs->at(0).data(), x_.data(), outputs->at(0).size()), 0);
  }
  peer->reset();
  EXPECT_EQ(::kill(pid, 0), -1);
  EXPECT_EQ(errno, ESRCH);
}

TEST_F(Peers, HandsOverEveryMember) {
  case_.outputs[0].shape = {50};
  auto peer = start("describes");
  ASSERT_TRUE(peer.ok()) << peer.error().text();
  const auto outputs = all_of(**peer);
  ASSERT_TRUE(outputs.ok()) << outputs.error().text();
  std::string text(reinterpret_cast<const char*>(outputs->at(0).data()), outputs->at(0).size());
  text.erase(text.find_last_not_of(' ') + 1);
  EXPECT_EQ(text, R"(["softmax", 3, 5, {"eps": 0.25}, [3, 5], 7])");
}

TEST_F(Peers, GivesTheDevicesTime) {
  auto peer = start("device");
  ASSERT_TRUE(peer.ok()) << peer.error().text();
  ASSERT_TRUE((*peer)->prepare(case_).ok());
  const auto timing = (*peer)->run(3);
  ASSERT_TRUE(timing.ok()) << timing.error().text();
  EXPECT_EQ(timing->wall_ns, 3000);
  EXPECT_EQ(timing->device_ns, 30);
}

TEST_F(Peers, MayClaimATolerance) {
  auto peer = start("tolerant");
  ASSERT_TRUE(peer.ok()) << peer.error().text();
  const auto offer = (*peer)->prepare(case_);
  ASSERT_TRUE(offer.ok()) << offer.error().text();
  ASSERT_TRUE(offer->tolerance.has_value());
  EXPECT_EQ(offer->tolerance->absolute, 4.0);
  EXPECT_EQ(offer->tolerance->relative, 0.5);
  EXPECT_EQ(offer->tolerance->why, "y is x");
}

TEST_F(Peers, SaysWhyItDeclinesAndGoesOn) {
  auto peer = start("declines");
  ASSERT_TRUE(peer.ok()) << peer.error().text();
  auto offer = (*peer)->prepare(case_);
  ASSERT_TRUE(offer.ok()) << offer.error().text();
  EXPECT_EQ(offer->declined, "no softmax in f32 by 2 threads");
  EXPECT_THROW((*peer)->run(1).ok(), InternalError);
  EXPECT_THROW((*peer)->outputs().ok(), InternalError);
  case_.op = "sum";
  offer = (*peer)->prepare(case_);
  ASSERT_TRUE(offer.ok()) << offer.error().text();
  EXPECT_EQ(offer->declined, "no sum in f32 by 2 threads");
}

TEST_F(Peers, DeclinesWhatRaises) {
  auto peer = start("raises");
  ASSERT_TRUE(peer.ok()) << peer.error().text();
  const auto offer = (*peer)->prepare(case_);
  ASSERT_TRUE(offer.ok()) << offer.error().text();
  EXPECT_EQ(offer->declined, "KeyError: 'prepare went wrong'");
}

TEST_F(Peers, NamesAProgramThatIsNotThere) {
  const auto peer = Peer::start("lanefold-no-such-program --fast");
  ASSERT_FALSE(peer.ok());
  EXPECT_EQ(peer.error().code, Code::peer_not_started);
  EXPECT_EQ(peer.error().message, "cannot execute lanefold-no-such-program: No such file or directory");
  EXPECT_EQ(Peer::start("  ").error().code, Code::peer_not_started);
  EXPECT_EQ(Peer::start("python3 'x.py").error().code, Code::peer_not_started);
}

TEST_F(Peers, TellsHowOneEnded) {
  expect_failure("dies_in_protocol", "asked for \"protocol\", it ended with exit status 3 instead of answering");
  expect_failure("dies_in_run", "last errors:\n    one thing went wrong\n    then another");
  expect_failure("dies_in_outputs", "asked for \"outputs\", it ended with exit status 3");
  expect_failure("dies_after_greeting", "asked for \"prepare\", it ended with exit status 4");
  expect_failure("killed_in_run", "it was ended by signal 9");
}

TEST_F(Peers, RefusesOddAnswers) {
  expect_failure("garbage_in_protocol", "no JSON object: hello ???");
  expect_failure("garbage_in_run", "answers \"run\" with what is no JSON object");
  expect_failure("array", "no JSON object: [1]");
  expect_failure("endless_in_run", "a line of more than 1048576 bytes");
  expect_failure("twice_in_prepare", "writes what nothing asked for");
  expect_failure("other_version", "it does not speak protocol 1");
  expect_failure("no_name", "there is no text \"name\"");
}

TEST_F(Peers, RefusesOddOffersAndTimes) {
  expect_failure("not_ready", "\"ready\" is not true");
  expect_failure("no_policy", "there is no text \"output_policy\"");
  expect_failure("odd_policy", "the policy is neither");
  expect_failure("empty_decline", "there is no text \"declined\"");
  expect_failure("number_tolerance", "the tolerance has no \"absolute\" from 0");
  expect_failure("negative_tolerance", "the tolerance has no \"relative\" from 0");
  expect_failure("endless_tolerance", "the tolerance has no \"absolute\" from 0");
  expect_failure("unexplained_tolerance", "there is no text \"why\"");
  expect_failure("no_time", "there is no time \"ns\" above 0");
  expect_failure("zero_time", "there is no time \"ns\" above 0");
  expect_failure("text_time", "there is no time \"ns\" above 0");
  expect_failure("bad_device_time", "there is no time \"device_ns\" above 0");
}

TEST_F(Peers, RefusesOddOutputs) {
  expect_failure("not_written", "\"written\" is not true");
  expect_failure("no_output", "the file of y has No such file or directory, not 60 bytes");
  expect_failure("short_output", "the file of y has 59 bytes, not 60 bytes");
}

TEST_F(Peers, DoesNotWaitForEver) {
  const Diagnostic failure = failure_of("hangs_in_run", milliseconds(1500));
  EXPECT_EQ(failure.code, Code::peer_protocol);
  EXPECT_NE(failure.message.find("asked for \"run\", it gives no answer within 1500 ms"), std::string::npos)
      << failure.text();
}

TEST_F(Peers, KillsOneThatDoesNotQuit) {
  auto peer = start("stays");
  ASSERT_TRUE(peer.ok()) << peer.error().text();
  const pid_t pid = std::stoi((*peer)->version());
  peer->reset();
  EXPECT_EQ(::kill(pid, 0), -1);
  EXPECT_EQ(errno, ESRCH);
}

TEST_F(Peers, ReadsWhatIsWrittenToStandardError) {
  auto peer = start("noisy");
  ASSERT_TRUE(peer.ok()) << peer.error().text();
  ASSERT_TRUE((*peer)->prepare(case_).ok());
  for (int i = 0; i < 3; ++i) {
    const auto timing = (*peer)->run(1);
    ASSERT_TRUE(timing.ok()) << timing.error().text();
  }
}

TEST_F(Peers, SaysWhereInputsCannotBeWritten) {
  auto peer = start("behaves");
  ASSERT_TRUE(peer.ok()) << peer.error().text();
  ::setenv("TMPDIR", (folder_ + "/missing").c_str(), 1);
  const auto offer = (*peer)->prepare(case_);
  ASSERT_FALSE(offer.ok());
  EXPECT_EQ(offer.error().code, Code::write_failed);
  ::setenv("TMPDIR", folder_.c_str(), 1);
  EXPECT_TRUE(all_of(**peer).ok());  // the peer had no part in it
}

}  // namespace
}  // namespace lanefold::bench
