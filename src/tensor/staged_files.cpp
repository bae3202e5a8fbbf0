#include "tensor/staged_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <random>

namespace lanefold::tensor {
namespace {

Diagnostic failed(const std::string& path, const std::string& what, int error) {
  const char* hint = "check the path and its permissions";
  if (error == ENOENT || error == ENOTDIR) hint = "create the directory first";
  if (error == ENOSPC || error == EDQUOT || error == EFBIG) hint = "free some space, or write to another place";
  if (error == EISDIR) hint = "name a file inside the directory";
  return {Code::write_failed, fmt::format("cannot {} \"{}\": {}", what, path, std::strerror(error)), hint, path};
}

/// A name in the directory of `target` that nobody else is likely to use; O_EXCL makes sure.
std::string beside(const std::string& target) {
  static std::atomic<unsigned> counter{0};
  static const unsigned process_salt = std::random_device{}();
  const std::string name = fmt::format(".lanefold-{:x}-{:x}-{:x}.tmp", static_cast<unsigned long>(::getpid()),
                                       process_salt, counter.fetch_add(1));
  return (std::filesystem::path(target).parent_path() / name).string();
}

/// Writes all bytes; 0, or the error.
int write_all(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    constexpr std::size_t kMost = std::size_t{1} << 30;  // a single write stops short of 2 GiB
    const ssize_t written = ::write(fd, bytes.data(), std::min(bytes.size(), kMost));
    if (written < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return 0;
}

/// Makes renames in a directory last. Best effort: some file systems cannot, and by then the files are whole.
void flush_directory(const std::string& target) {
  const std::string parent = std::filesystem::path(target).parent_path().string();
  const int fd = ::open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

bool is_ordinary_file(const std::string& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

/// Gives an existing target a second name, so that it can be put back; moves it where links are not to be had.
int back_up(const std::string& target, const std::string& backup) {
  if (::link(target.c_str(), backup.c_str()) == 0) return 0;
  return ::rename(target.c_str(), backup.c_str()) == 0 ? 0 : errno;
}

}  // namespace

std::string resolved_path(const std::string& path) {
  std::error_code error;
  // Absolute first: weakly_canonical leaves a relative path relative when its first part does not exist.
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  if (error) return path;
  const std::filesystem::path resolved = std::filesystem::weakly_canonical(absolute, error);
  return error ? absolute.string() : resolved.string();
}

StagedFiles::~StagedFiles() { roll_back(); }

Status StagedFiles::stage(const std::string& path, std::initializer_list<std::span<const std::byte>> pieces) {
  return stage(path, std::span(pieces.begin(), pieces.size()));
}

Status StagedFiles::stage(const std::string& path, std::span<const std::span<const std::byte>> pieces) {
  const std::string target = resolved_path(path);
  for (const File& file : files_) {
    if (file.target == target) {
      return Diagnostic{Code::output_repeated,
                        fmt::format("\"{}\" and \"{}\" are the same file, to be written twice", file.path, path),
                        "give each output a file of its own", path};
    }
  }
  // Renaming a file over a device or a pipe would take it away from everybody else.
  struct stat status{};
  if (::stat(target.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode))
    return Diagnostic{Code::write_failed, fmt::format("cannot replace \"{}\": it is not an ordinary file", path),
                      "name a file, new or to be replaced", path};
  std::string temporary = beside(target);
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) return failed(path, "create a file for", errno);
  files_.push_back({path, target, std::move(temporary), "", false});
  int error = 0;
  for (const std::span<const std::byte> piece : pieces) {
    if (error == 0) error = write_all(fd, piece);
  }
  // EINVAL and ENOTSUP: a file system that cannot flush.
  if (error == 0 && ::fsync(fd) != 0 && errno != EINVAL && errno != ENOTSUP) error = errno;
  if (::close(fd) != 0 && error == 0) error = errno;
  if (error != 0) return failed(path, "write", error);
  return success();
}

Status StagedFiles::commit() {
  for (File& file : files_) {
    // One file needs no backup, for its rename happens or does not.
    if (files_.size() > 1 && is_ordinary_file(file.target)) {
      std::string backup = beside(file.target);
      if (const int error = back_up(file.target, backup); error != 0) {
        const Diagnostic diagnostic = failed(file.path, "replace", error);
        roll_back();
        return diagnostic;
      }
      file.backup = std::move(backup);
    }
    if (::rename(file.temporary.c_str(), file.target.c_str()) != 0) {
      const Diagnostic diagnostic = failed(file.path, "replace", errno);
      roll_back();
      return diagnostic;
    }
    file.renamed = true;
  }
  for (const File& file : files_) {
    if (!file.backup.empty()) ::unlink(file.backup.c_str());
    flush_directory(file.target);
  }
  files_.clear();
  return success();
}

void StagedFiles::roll_back() {
  for (auto file = files_.rbegin(); file != files_.rend(); ++file) {
    if (!file->backup.empty()) {
      // Renaming one name of a file over another of the same file does nothing, hence the unlink.
      ::rename(file->backup.c_str(), file->target.c_str());
      ::unlink(file->backup.c_str());
    } else if (file->renamed) {
      ::unlink(file->target.c_str());
    }
    if (!file->renamed) ::unlink(file->temporary.c_str());
  }
  files_.clear();
}

}  // namespace lanefold::tensor
