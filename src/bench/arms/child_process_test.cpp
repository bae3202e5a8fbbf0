#include "bench/arms/child_process.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <thread>

namespace lanefold::bench {
namespace {

using std::chrono::milliseconds;
using Words = std::vector<std::string>;
constexpr milliseconds kLong{20'000};

std::unique_ptr<ChildProcess> shell(const std::string& script) {
  auto child = ChildProcess::start({"sh", "-c", script});
  if (!child) internal_error(child.error().text());
  return std::move(child).value();
}

bool alive(pid_t pid) {
  std::ifstream about(fmt::format("/proc/{}/stat", pid));
  std::string number, name, state;
  // A process that has ended stays as a zombie until its new parent, which need not hurry, takes its status.
  return about >> number >> name >> state && state != "Z" && state != "X";
}

bool ends_soon(pid_t pid) {
  for (int i = 0; i < 500 && alive(pid); ++i) std::this_thread::sleep_for(milliseconds(10));
  return !alive(pid);
}

TEST(SplitCommand, SplitsAtSpacesOutsideOfQuotes) {
  EXPECT_EQ(*split_command("python3 peer.py"), (Words{"python3", "peer.py"}));
  EXPECT_EQ(*split_command("  a \t b  "), (Words{"a", "b"}));
  EXPECT_EQ(*split_command("'a b' \"c 'd'\""), (Words{"a b", "c 'd'"}));
  EXPECT_EQ(*split_command("a '' \"\""), (Words{"a", "", ""}));
  EXPECT_EQ(*split_command("/x/'y z'/w --n=\"1 2\""), (Words{"/x/y z/w", "--n=1 2"}));
  EXPECT_EQ(*split_command(R"(a\ b \")" + std::string("x\"")), (Words{"a\\", "b", "\\x"}));  // no escapes
}

TEST(SplitCommand, RefusesWhatNamesNoProgram) {
  for (const char* command : {"", " \t", "''", "a 'b", "\"a' b"}) {
    const auto words = split_command(command);
    ASSERT_FALSE(words.ok()) << command;
    EXPECT_EQ(words.error().code, Code::peer_not_started);
    EXPECT_EQ(words.error().place, command);
  }
  EXPECT_EQ(split_command("ab 'c").error().message, "the quote ' at character 4 is never closed");
}

TEST(Printable, ShowsOnlyPlainText) {
  EXPECT_EQ(printable("plain ~", 7), "plain ~");
  EXPECT_EQ(printable("plain ~", 5), "plain...");
  EXPECT_EQ(printable("a\x1b[1m\n\xff\x7f", 20), "a?[1m???");
}

TEST(ChildProcess, AnswersLines) {
  auto child = shell("while read line; do echo \"<$line>\"; done");
  EXPECT_EQ(*child->exchange("one", kLong), "<one>");
  EXPECT_EQ(*child->exchange("", kLong), "<>");
  EXPECT_EQ(*child->exchange("three", kLong), "<three>");
}

TEST(ChildProcess, ExchangesLongLines) {
  auto child = ChildProcess::start({"cat"});
  ASSERT_TRUE(child.ok()) << child.error().text();
  const std::string line(900'000, 'x');
  const auto answer = (*child)->exchange(line, kLong);
  ASSERT_TRUE(answer.ok()) << answer.error().text();
  EXPECT_EQ(*answer, line);
}

TEST(ChildProcess, TakesAnAnswerInPieces) {
  auto child = shell("read line; printf 'a'; sleep 0.05; printf 'b\\n'; read line");
  EXPECT_EQ(*child->exchange("go", kLong), "ab");
}

TEST(ChildProcess, SaysWhyAProgramDoesNotStart) {
  const auto missing = ChildProcess::start({"/lanefold/no/such/program"});
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, Code::peer_not_started);
  EXPECT_NE(missing.error().message.find("No such file or directory"), std::string::npos) << missing.error().text();
  const auto folder = ChildProcess::start({"/"});
  ASSERT_FALSE(folder.ok());
  EXPECT_NE(folder.error().message.find("Permission denied"), std::string::npos) << folder.error().text();
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
}

TEST(ChildProcess, SaysHowItEnded) {
  auto child = shell("echo first >&2; echo >&2; echo last >&2; exit 5");
  const auto answer = child->exchange("go", kLong);
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().code, Code::peer_protocol);
  EXPECT_EQ(answer.error().message,
            "ended with exit status 5 instead of answering; its last errors:\n    first\n    last");
  EXPECT_FALSE(child->exchange("again", kLong).ok());
  child->send_last("quit");  // to a dead child: nothing happens, no signal either
}

TEST(ChildProcess, KeepsTheLastErrorsOnly) {
  auto child = shell("i=0; while [ $i -lt 3000 ]; do echo \"line $i\" >&2; i=$((i + 1)); done; read line; echo done");
  EXPECT_EQ(*child->exchange("go", kLong), "done");
  child->kill();
  const std::string words = child->last_words();
  EXPECT_EQ(std::count(words.begin(), words.end(), '\n'), 12);
  EXPECT_TRUE(words.starts_with("\n    line 2988\n")) << words;
  EXPECT_TRUE(words.ends_with("\n    line 2999")) << words;
}

TEST(ChildProcess, GivesUpAfterTheLimit) {
  auto child = shell("echo waiting >&2; sleep 60");
  const auto answer = child->exchange("go", milliseconds(200));
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().message, "gives no answer within 200 ms; its last errors:\n    waiting");
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
}

TEST(ChildProcess, IsNotFooledByAGrandchildThatHoldsTheSocket) {
  auto child = shell("sleep 60 & echo $! >&2; exit 2");
  const auto answer = child->exchange("go", kLong);
  ASSERT_FALSE(answer.ok());
  EXPECT_NE(answer.error().message.find("exit status 2"), std::string::npos) << answer.error().message;
  EXPECT_TRUE(ends_soon(std::stoi(child->last_words().substr(5))));  // the process group is killed with the child
}

TEST(ChildProcess, NoticesAClosedOutput) {
  auto child = shell("exec <&- >&-; exec sleep 60");
  const auto answer = child->exchange("go", kLong);
  ASSERT_FALSE(answer.ok());
  EXPECT_NE(answer.error().message.find("closes its output"), std::string::npos) << answer.error().message;
}

TEST(ChildProcess, EndsByItselfOrIsKilled) {
  for (const char* script : {"read line; exit 0", "trap '' TERM; sleep 60"}) {
    auto child = shell(script);
    const pid_t pid = child->pid();
    EXPECT_TRUE(alive(pid));
    child.reset();
    EXPECT_EQ(::kill(pid, 0), -1) << script;
    EXPECT_EQ(errno, ESRCH);
  }
}

#ifdef __linux__
TEST(ChildProcess, InheritsNoFilesOfOurs) {
  const int ours = ::dup(STDERR_FILENO);  // without FD_CLOEXEC, as libraries open files
  auto other = shell("read line");
  auto child = shell("read line; ls /proc/self/fd | wc -l");
  const auto count = child->exchange("go", kLong);
  ASSERT_TRUE(count.ok()) << count.error().text();
  EXPECT_EQ(std::stoi(*count), 4);  // the three, and the folder that ls reads
  ::close(ours);
}

TEST(ChildProcess, DiesWithItsParent) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t between = ::fork();
  ASSERT_GE(between, 0);
  if (between == 0) {
    auto child = ChildProcess::start({"sh", "-c", "trap '' HUP PIPE; read line; echo ready; sleep 60"});
    const pid_t pid = child.ok() && (*child)->exchange("go", kLong).ok() ? (*child)->pid() : -1;
    [[maybe_unused]] const ssize_t told = ::write(ends[1], &pid, sizeof pid);
    ::kill(::getpid(), SIGKILL);  // nothing of ours can tidy up
  }
  pid_t pid = -1;
  ASSERT_EQ(::read(ends[0], &pid, sizeof pid), static_cast<ssize_t>(sizeof pid));
  ::waitpid(between, nullptr, 0);
  ASSERT_GT(pid, 0);
  EXPECT_TRUE(ends_soon(pid));
  ::close(ends[0]);
  ::close(ends[1]);
}
#endif

}  // namespace
}  // namespace lanefold::bench
