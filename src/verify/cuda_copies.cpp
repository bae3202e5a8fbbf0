#if LANEFOLD_CUDA
#include "verify/cuda_copies.h"

#include <algorithm>
#include <bit>

namespace lanefold::verify {
namespace {

constexpr std::size_t kAlignment = 256;  // of allocations on the device
constexpr std::size_t kGuard = 256;      // sentinels on each side
constexpr std::byte kSentinel{0xe7};

}  // namespace

Result<runtime::CudaDevice> shared_cuda_device() {
  // Never destroyed: the driver may have gone before the process's static objects do.
  static const auto* const kDevice = new Result<runtime::CudaDevice>(runtime::CudaDevice::open());
  return *kDevice;
}

std::vector<CudaCopies::Piece> CudaCopies::joined(std::span<const HostBytes> all) {
  std::vector<Piece> sorted;
  for (const HostBytes& host : all)
    if (!host.bytes.empty())
      sorted.push_back({host.bytes.data(), host.bytes.data() + host.bytes.size(), host.written, 0, {}});
  std::sort(sorted.begin(), sorted.end(), [](const Piece& a, const Piece& b) { return a.begin < b.begin; });
  std::vector<Piece> pieces;
  for (Piece& piece : sorted) {
    if (pieces.empty() || piece.begin >= pieces.back().end) {
      pieces.push_back(std::move(piece));
      continue;
    }
    pieces.back().end = std::max(pieces.back().end, piece.end);
    pieces.back().written = pieces.back().written || piece.written;
  }
  return pieces;
}

Result<CudaCopies> CudaCopies::make(const runtime::CudaDevice& device, std::span<const HostBytes> all) {
  CudaCopies copies(device);
  copies.pieces_ = joined(all);
  const std::vector<std::byte> guard(kGuard + kAlignment, kSentinel);
  for (Piece& piece : copies.pieces_) {
    piece.offset = kGuard + std::bit_cast<std::uintptr_t>(piece.begin) % kAlignment;
    const std::size_t behind = piece.offset + piece.size();
    LANEFOLD_TRY(runtime::CudaBuffer buffer, device.allocate(behind + kGuard));
    LANEFOLD_CHECK(buffer.write(std::span(guard).first(piece.offset)));
    LANEFOLD_CHECK(buffer.write({piece.begin, piece.size()}, piece.offset));
    LANEFOLD_CHECK(buffer.write(std::span(guard).first(kGuard), behind));
    piece.buffer.emplace(std::move(buffer));
  }
  return copies;
}

std::byte* CudaCopies::on_device(std::byte* host) const {
  for (const Piece& piece : pieces_)
    if (host >= piece.begin && host < piece.end)
      return static_cast<std::byte*>(piece.buffer->data()) + piece.offset + (host - piece.begin);
  return host;
}

Status CudaCopies::bring_back() const {
  LANEFOLD_CHECK(device_.synchronize());
  std::vector<std::byte> guard(kGuard);
  for (const Piece& piece : pieces_) {
    for (const std::size_t at : {piece.offset - kGuard, piece.offset + piece.size()}) {
      LANEFOLD_CHECK(piece.buffer->read(guard, at));
      if (std::count(guard.begin(), guard.end(), kSentinel) != std::ssize(guard))
        return Diagnostic{Code::machine_out_of_bounds, "memory beside a buffer was changed on the CUDA device",
                          "run `lanefold check` on the device lane-machine to see where", device_.name()};
    }
    if (piece.written) LANEFOLD_CHECK(piece.buffer->read({piece.begin, piece.size()}, piece.offset));
  }
  return success();
}

}  // namespace lanefold::verify
#endif
