// Headers of .npy files: any bytes are parsed or refused, and what is accepted is sane and survives a round trip.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>

#include "tensor/npy.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lanefold;
  const auto header = tensor::parse_npy_header(std::as_bytes(std::span(data, size)));
  if (!header) {
    require(!header.error().message.empty());
    return 0;
  }
  require(header->data_offset <= size);
  const auto type = tensor::npy_element_type(header->descr, std::nullopt);
  if (!type || header->fortran_order || !tensor::byte_count(header->shape, *type)) return 0;
  const auto text = tensor::npy_header_text(*type, header->shape);
  if (!text) return 0;
  const auto again = tensor::parse_npy_header(std::as_bytes(std::span(text->data(), text->size())));
  require(again.ok() && again->shape == header->shape && again->data_offset == text->size());
  return 0;
}
