#include "bench/arms/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <thread>
#include <utility>

namespace lanefold::bench {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kGrace{1000};          ///< for ending on its own
constexpr milliseconds kSlice{100};           ///< between looks whether the child still lives
constexpr std::size_t kMostAnswer = 1 << 20;  ///< bytes of a line
constexpr std::size_t kKeptErrors = 8192;     ///< bytes of standard error
constexpr std::size_t kShownLines = 12;
#ifdef MSG_NOSIGNAL
constexpr int kSendFlags = MSG_NOSIGNAL | MSG_DONTWAIT;
#else
constexpr int kSendFlags = MSG_DONTWAIT;
#endif

std::string system_reason(int error) { return std::generic_category().message(error); }

/// A descriptor that closes itself, not inherited, and none of the three standard ones, whose places the child's take.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int raw) : fd_(raw < 0 ? -1 : ::fcntl(raw, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)) {
    if (raw >= 0) ::close(raw);
  }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() { close(); }
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

struct Ends {
  Descriptor ours, childs;
  bool ok() const { return ours.get() >= 0 && childs.get() >= 0; }
};

/// A socket in both directions rather than two pipes: send() can be told not to raise SIGPIPE where the child has ended.
Ends socket_ends() {
  int raw[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, raw) != 0) return {};
#ifdef SO_NOSIGPIPE
  const int on = 1;
  ::setsockopt(raw[0], SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
#endif
  return {Descriptor(raw[0]), Descriptor(raw[1])};
}

Ends pipe_ends() {
  int raw[2] = {-1, -1};
  if (::pipe(raw) != 0) return {};
  return {Descriptor(raw[0]), Descriptor(raw[1])};
}

Diagnostic not_started(std::string message, std::string hint, const std::string& place) {
  return {Code::peer_not_started, std::move(message), std::move(hint), place};
}

/// In the child, between fork and exec: only calls that are allowed while other threads of ours held locks.
[[noreturn]] void become(char* const* arguments, int lines, int errors, int report, pid_t parent) {
  ::setpgid(0, 0);
#ifdef __linux__
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
  if (::getppid() != parent) ::_exit(127);  // it ended before the line above
  ::signal(SIGPIPE, SIG_DFL);
  ::signal(SIGXFSZ, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
#ifdef CLOSE_RANGE_CLOEXEC
  // Libraries open files without asking that they be closed; where the kernel is too old for this, those are inherited.
  ::close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
#endif
  if (::dup2(lines, STDIN_FILENO) >= 0 && ::dup2(lines, STDOUT_FILENO) >= 0 && ::dup2(errors, STDERR_FILENO) >= 0)
    ::execvp(arguments[0], arguments);
  const int reason = errno;
  [[maybe_unused]] const ssize_t told = ::write(report, &reason, sizeof reason);
  ::_exit(127);
}

}  // namespace

Result<std::vector<std::string>> split_command(const std::string& command) {
  std::vector<std::string> words;
  bool within = false;  // a word has begun, be it empty as ""
  for (std::size_t i = 0; i < command.size(); ++i) {
    const char c = command[i];
    if (c == ' ' || c == '\t') {
      within = false;
      continue;
    }
    if (!within) words.emplace_back();
    within = true;
    if (c != '\'' && c != '"') {
      words.back() += c;
      continue;
    }
    const std::size_t end = command.find(c, i + 1);
    if (end == std::string::npos)
      return not_started(fmt::format("the quote {} at character {} is never closed", c, i + 1),
                         "close it, or put the word in quotes of the other kind", command);
    words.back().append(command, i + 1, end - i - 1);
    i = end;
  }
  if (words.empty() || words.front().empty())
    return not_started("the command names no program", "give a program and its arguments, such as python3 peer.py",
                       command);
  return words;
}

std::string printable(std::string_view text, std::size_t most) {
  std::string shown(text.substr(0, most));
  for (char& c : shown)
    if (c < ' ' || c > '~') c = '?';
  return text.size() > most ? shown + "..." : shown;
}

Result<std::unique_ptr<ChildProcess>> ChildProcess::start(const std::vector<std::string>& words) {
  if (words.empty()) internal_error("child process: no program");
  Ends lines = socket_ends(), errors = pipe_ends(), report = pipe_ends();
  if (!lines.ok() || !errors.ok() || !report.ok())
    return not_started(fmt::format("no channels to a child: {}", system_reason(errno)), "close other files or programs",
                       words.front());
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);

  const pid_t parent = ::getpid(), pid = ::fork();
  if (pid < 0)
    return not_started(fmt::format("no child process: {}", system_reason(errno)), "close other programs",
                       words.front());
  if (pid == 0) become(arguments.data(), lines.childs.get(), errors.childs.get(), report.childs.get(), parent);
  lines.childs.close();
  errors.childs.close();
  report.childs.close();
  // From here on the object owns the child: it is killed and taken leave of on every way out.
  std::unique_ptr<ChildProcess> child(new ChildProcess(pid, lines.ours.release(), errors.ours.release()));

  // The report closes unwritten as soon as the program is executed.
  int reason = 0;
  ssize_t got = 0;
  do got = ::read(report.ours.get(), &reason, sizeof reason);
  while (got < 0 && errno == EINTR);
  if (got == 0) return child;
  return not_started(fmt::format("cannot execute {}: {}", words.front(), system_reason(reason)),
                     "name a program in PATH or by its path, with its arguments after it", words.front());
}

ChildProcess::~ChildProcess() {
  if (!dead_) {
    ::shutdown(lines_, SHUT_WR);
    exits_within(kGrace);
    kill();
  }
  ::close(lines_);
  if (errors_ >= 0) ::close(errors_);
}

Result<std::string> ChildProcess::exchange(std::string_view line, milliseconds limit) {
  if (dead_) return ended();
  if (!received_.empty()) return broken("writes what nothing asked for: " + printable(received_, 200));
  const std::string request = std::string(line) + '\n';
  std::string_view unsent = request;
  const Clock::time_point until = Clock::now() + limit;
  for (;;) {
    const auto left = std::chrono::duration_cast<milliseconds>(until - Clock::now());
    if (left <= milliseconds(0)) return broken(fmt::format("gives no answer within {} ms", limit.count()));
    const Moved moved = move(unsent, std::min(left, kSlice));
    if (const std::size_t end = received_.find('\n'); end != std::string::npos) {
      std::string answer = received_.substr(0, end);
      received_.erase(0, end + 1);
      return answer;
    }
    if (received_.size() > kMostAnswer) return broken(fmt::format("answers a line of more than {} bytes", kMostAnswer));
    if (moved == Moved::ended) return ended();
  }
}

void ChildProcess::send_last(std::string_view line) {
  if (dead_) return;
  const std::string request = std::string(line) + '\n';
  [[maybe_unused]] const ssize_t sent = ::send(lines_, request.data(), request.size(), kSendFlags);
}

/// Waits until something can be moved, moves it, and shortens `unsent` by what was taken.
ChildProcess::Moved ChildProcess::move(std::string_view& unsent, milliseconds wait) {
  std::array<pollfd, 2> watched{{
      {lines_, static_cast<short>(POLLIN | (unsent.empty() ? 0 : POLLOUT)), 0},
      {errors_, POLLIN, 0},  // poll() passes over a negative descriptor
  }};
  if (::poll(watched.data(), watched.size(), static_cast<int>(wait.count())) <= 0) {
    if (!has_exited()) return Moved::nothing;
    // A child of the child may hold the socket open; what the child itself had to say has arrived.
    return receive() ? Moved::something : Moved::ended;
  }
  if (watched[1].revents != 0) read_errors();
  if ((watched[0].revents & POLLOUT) != 0) {
    const ssize_t sent = ::send(lines_, unsent.data(), unsent.size(), kSendFlags);
    if (sent > 0) unsent.remove_prefix(static_cast<std::size_t>(sent));
    if (sent < 0 && errno != EAGAIN && errno != EINTR) return Moved::ended;
  }
  if ((watched[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0 && !receive()) return Moved::ended;
  return Moved::something;
}

/// Takes what has arrived; false: nothing has, or nothing more will.
bool ChildProcess::receive() {
  std::array<char, 4096> bytes;
  const ssize_t got = ::recv(lines_, bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (got < 0 && errno == EINTR) return true;
  if (got <= 0) return false;
  received_.append(bytes.data(), static_cast<std::size_t>(got));
  return true;
}

void ChildProcess::read_errors() {
  std::array<char, 4096> bytes;
  const ssize_t got = ::read(errors_, bytes.data(), bytes.size());
  if (got < 0 && errno == EINTR) return;
  if (got <= 0) {
    ::close(std::exchange(errors_, -1));
    return;
  }
  written_.append(bytes.data(), static_cast<std::size_t>(got));
  if (written_.size() > kKeptErrors) written_.erase(0, written_.size() - kKeptErrors);
}

/// Reads what is left of standard error. It need not come to an end: a child of the child may hold it open.
void ChildProcess::drain_errors() {
  while (errors_ >= 0) {
    pollfd watched{errors_, POLLIN, 0};
    if (::poll(&watched, 1, 0) <= 0) return;
    read_errors();
  }
}

bool ChildProcess::has_exited() const {
  if (dead_) return true;
  siginfo_t about{};  // WNOWAIT: until kill() takes the status, no other process can get the child's number
  return ::waitid(P_PID, static_cast<id_t>(pid_), &about, WEXITED | WNOHANG | WNOWAIT) == 0 && about.si_pid == pid_;
}

bool ChildProcess::exits_within(milliseconds limit) {
  for (const Clock::time_point until = Clock::now() + limit; !has_exited();) {
    if (Clock::now() >= until) return false;
    drain_errors();  // it may have to write them before it can end
    std::this_thread::sleep_for(milliseconds(2));
  }
  return true;
}

void ChildProcess::kill() {
  if (dead_) return;
  // The child's own setpgid() may not have happened yet where it is killed at once: so by its own number too.
  ::kill(-pid_, SIGKILL);
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
  }
  dead_ = true;
  drain_errors();
}

std::string ChildProcess::last_words() const {
  std::vector<std::string_view> lines;
  for (std::string_view rest = written_; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    if (end > 0) lines.push_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  std::string text;
  for (std::size_t i = lines.size() - std::min(lines.size(), kShownLines); i < lines.size(); ++i)
    text += "\n    " + printable(lines[i], 300);
  return text;
}

/// What is said of a child that has ended, or of one that has closed its output.
Diagnostic ChildProcess::ended() {
  if (!exits_within(kGrace)) return broken("closes its output instead of answering");
  kill();
  return broken(WIFEXITED(status_) ? fmt::format("ended with exit status {} instead of answering", WEXITSTATUS(status_))
                                   : fmt::format("was ended by signal {} instead of answering", WTERMSIG(status_)));
}

Diagnostic ChildProcess::broken(const std::string& what) {
  kill();
  const std::string words = last_words();
  return {Code::peer_protocol, what + (words.empty() ? "; it wrote no errors" : "; its last errors:" + words),
          "run its command by hand and type {\"protocol\": 1}; bench/peers/README.md describes what it should answer",
          ""};
}

}  // namespace lanefold::bench
