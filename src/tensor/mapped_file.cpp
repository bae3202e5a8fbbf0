#include "tensor/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace lanefold::tensor {
namespace {

Diagnostic unreadable(const std::string& path, const char* what, const char* hint) {
  return {Code::file_unreadable, fmt::format("\"{}\" cannot be read: {}", path, what), hint, path};
}

struct Descriptor {
  int fd = -1;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

}  // namespace

Result<MappedFile> map_file(const std::string& path) {
  // O_NONBLOCK, so that a named pipe is refused below instead of waiting for a writer.
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.fd < 0) {
    const int error = errno;
    if (error == ENOENT || error == ENOTDIR) {
      return Diagnostic{Code::file_missing, fmt::format("there is no file \"{}\"", path),
                        "check the path; relative paths start from the current directory", path};
    }
    return unreadable(path, std::strerror(error), "check the permissions of the file and of its directories");
  }
  struct stat status{};
  if (::fstat(file.fd, &status) != 0) return unreadable(path, std::strerror(errno), "check the file system");
  if (S_ISDIR(status.st_mode)) return unreadable(path, "it is a directory", "name a file inside it");
  if (!S_ISREG(status.st_mode)) {
    return unreadable(path, "it is not an ordinary file", "copy its contents to an ordinary file first");
  }
  MappedFile mapped;
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return mapped;  // a mapping cannot be empty
  void* memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd, 0);
  if (memory == MAP_FAILED) return unreadable(path, std::strerror(errno), "free some address space, or copy the file");
  mapped.owner = std::shared_ptr<void>(memory, [size](void* p) { ::munmap(p, size); });
  mapped.bytes = {static_cast<std::byte*>(memory), size};
  return mapped;
}

}  // namespace lanefold::tensor
