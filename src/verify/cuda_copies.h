// Memory of the host with a copy on a CUDA device, while something runs there.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "runtime/cuda/device.h"

namespace lanefold::verify {

/// CUDA device 0, opened once: its context lives as long as the process, so that opening it again costs nothing.
Result<runtime::CudaDevice> shared_cuda_device();

/// Bytes of the host.
struct HostBytes {
  std::span<std::byte> bytes;
  bool written = false;  ///< to be copied back
};

/// Copies on the device: aligned as the originals are, in one piece where they overlap, with sentinels on both sides.
class CudaCopies {
 public:
  static Result<CudaCopies> make(const runtime::CudaDevice& device, std::span<const HostBytes> all);

  /// Where the copy of a byte lies; bytes that were not copied stay where they are.
  std::byte* on_device(std::byte* host) const;
  /// Copies back what is written, once all work of the device has ended. A sentinel that changed is machine_out_of_bounds.
  Status bring_back() const;

 private:
  struct Piece {
    std::byte* begin = nullptr;
    std::byte* end = nullptr;
    bool written = false;
    std::size_t offset = 0;  ///< of the copy in the buffer
    std::optional<runtime::CudaBuffer> buffer;
    std::size_t size() const { return static_cast<std::size_t>(end - begin); }
  };

  explicit CudaCopies(runtime::CudaDevice device) : device_(std::move(device)) {}
  static std::vector<Piece> joined(std::span<const HostBytes> all);

  runtime::CudaDevice device_;
  std::vector<Piece> pieces_;
};

}  // namespace lanefold::verify
