// A child process that answers lines: one line to its standard input, one line back from its standard output.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace lanefold::bench {

/// The words of a command: split at spaces and tabs. A part within '…' or "…" is taken as it stands, so that a word may hold spaces; there are no escapes.
/// peer_not_started where there is no word, or a quote is never closed.
Result<std::vector<std::string>> split_command(const std::string& command);

/// The text's first `most` bytes for a message: what is not printable ASCII becomes a question mark, since another program wrote it.
std::string printable(std::string_view text, std::size_t most);

/// A running child. It is the first of a process group of its own, which is killed with it, and it is killed when the thread that started it ends
/// (where the system can do that). It gets none of our open files but its three standard ones. For one thread.
class ChildProcess {
 public:
  /// Starts a program with its arguments; the program is looked up in PATH. peer_not_started with the system's reason where it cannot be executed.
  static Result<std::unique_ptr<ChildProcess>> start(const std::vector<std::string>& words);
  /// Closes its input and gives it a second to end on its own; then kills it. Leaves no zombie.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// Sends a line and returns the one that answers it, both without their end. peer_protocol where the child ends first (its exit status and the last
  /// lines of its standard error are in the message), does not answer within the limit, answers more than one line, or answers a line of more than
  /// a MiB. After a failure the child is dead. What the child writes to standard error meanwhile is read, so that it never waits for us.
  Result<std::string> exchange(std::string_view line, std::chrono::milliseconds limit);

  /// Sends a line that has no answer, as far as the child still reads.
  void send_last(std::string_view line);
  /// Kills the child and its process group, and takes its exit status.
  void kill();
  pid_t pid() const { return pid_; }
  /// The last lines that it wrote to standard error, each after a newline and four spaces; empty where there are none.
  std::string last_words() const;

 private:
  ChildProcess(pid_t pid, int lines, int errors) : pid_(pid), lines_(lines), errors_(errors) {}
  enum class Moved : std::uint8_t { something, nothing, ended };
  Moved move(std::string_view& unsent, std::chrono::milliseconds wait);
  bool receive();
  void read_errors();
  void drain_errors();
  bool has_exited() const;
  bool exits_within(std::chrono::milliseconds limit);
  Diagnostic ended();
  Diagnostic broken(const std::string& what);

  pid_t pid_;
  int lines_;       ///< our end of the socket that is the child's input and output
  int errors_;      ///< where we read its standard error; -1: at its end
  int status_ = 0;  ///< as waitpid() gives it, once the child is dead
  bool dead_ = false;
  std::string received_;  ///< and not yet returned
  std::string written_;   ///< the end of what came from standard error
};

}  // namespace lanefold::bench
