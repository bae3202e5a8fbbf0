// Files mapped read-only into memory.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"

namespace lanefold::tensor {

/// The bytes of a file; they stay valid while `owner` lives. The file must not shrink meanwhile (the system would raise
/// SIGBUS); a file that is replaced by renaming keeps its old bytes here.
struct MappedFile {
  std::span<std::byte> bytes;  ///< read-only pages
  std::shared_ptr<void> owner;
};

/// Maps an ordinary file: file_missing or file_unreadable where that is not possible.
Result<MappedFile> map_file(const std::string& path);

}  // namespace lanefold::tensor
