// Matrices in a CUDA device's memory for tests: at odd places, poisoned outputs, and whether anything beside them was written.
#pragma once

#include <cstring>
#include <vector>

#include "conformance/trial.h"
#include "runtime/cuda/device.h"

namespace lanefold::testing {

/// How a matrix lies in the device's memory, in elements.
struct DevicePlace {
  std::int64_t offset = 0;   ///< of the first element from a multiple of 256 bytes
  std::int64_t row_gap = 0;  ///< between the end of a row and the next one
};

/// A matrix on the device, and what its memory held at first.
class DeviceMatrix {
 public:
  /// A copy of a matrix of the host, or poison where `from` has no data.
  DeviceMatrix(const runtime::CudaDevice& device, const View& from, DevicePlace place)
      : stride_(from.cols + place.row_gap),
        offset_(place.offset + static_cast<std::int64_t>(kGuard / element_bytes(from.type))),
        buffer_(
            device.allocate(static_cast<std::size_t>(offset_ + from.rows * stride_) * element_bytes(from.type) + kGuard)
                .value()) {
    image_.assign(buffer_.size(), std::byte{0xe7});
    view_ = {.data = static_cast<std::byte*>(buffer_.data()) +
                     static_cast<std::ptrdiff_t>(offset_) * static_cast<std::ptrdiff_t>(element_bytes(from.type)),
             .type = from.type,
             .rows = from.rows,
             .cols = from.cols,
             .row_stride = stride_};
    const std::size_t size = element_bytes(from.type);
    for (std::int64_t r = 0; r < from.rows; ++r)
      for (std::int64_t c = 0; c < from.cols; ++c) {
        if (from.data != nullptr) {
          std::memcpy(at(image_, r, c), from.at(r, c), size);
        } else {
          std::memset(at(image_, r, c), 0xff, size);
        }
      }
    refill();
  }

  /// Its view, whose data lie on the device.
  const View& view() const { return view_; }
  /// Writes again what it held at first.
  void refill() const { EXPECT_TRUE(buffer_.write(image_).ok()); }
  /// Its elements now, row by row without gaps. Whatever lies beside them must be as it was.
  Bytes bytes() const {
    Bytes now(buffer_.size());
    const Status read = buffer_.read(now);
    EXPECT_TRUE(read.ok()) << (read.ok() ? "" : read.error().text());
    const std::size_t size = element_bytes(view_.type);
    Bytes all(static_cast<std::size_t>(view_.rows * view_.cols) * size);
    for (std::int64_t r = 0; r < view_.rows; ++r)
      for (std::int64_t c = 0; c < view_.cols; ++c) {
        std::byte* const element = at(now, r, c);
        std::memcpy(all.data() + static_cast<std::size_t>(r * view_.cols + c) * size, element, size);
        std::memcpy(element, at(const_cast<Bytes&>(image_), r, c), size);
      }
    EXPECT_TRUE(now == image_) << "memory beside the elements was changed";
    return all;
  }

 private:
  static constexpr std::size_t kGuard = 256;
  std::byte* at(Bytes& image, std::int64_t r, std::int64_t c) const {
    return image.data() + static_cast<std::size_t>(offset_ + r * stride_ + c) * element_bytes(view_.type);
  }

  std::int64_t stride_, offset_;
  runtime::CudaBuffer buffer_;
  Bytes image_;
  View view_;
};

/// The call of a trial over the device's memory.
class DeviceCall {
 public:
  DeviceCall(const runtime::CudaDevice& device, const Trial& trial, DevicePlace place = {})
      : parameters_(trial.parameters), rows_(trial.rows()), cols_(trial.cols()) {
    matrices_.reserve(trial.inputs.size() + trial.program().stores.size());
    for (const View& input : trial.inputs) inputs_.push_back(matrices_.emplace_back(device, input, place).view());
    for (const ir::Store& store : trial.program().stores) {
      const driver::Shape shape = driver::expected_shape(store.kind, rows_, cols_);
      const View poison = {.data = nullptr, .type = store.storage, .rows = shape.rows, .cols = shape.cols};
      outputs_.push_back(matrices_.emplace_back(device, poison, place).view());
    }
  }

  runtime::Call call() const {
    return {.inputs = inputs_, .outputs = outputs_, .parameters = parameters_, .rows = rows_, .cols = cols_};
  }
  /// The rows from `begin` on, `views` having room for their views.
  runtime::Call rows(const ir::Program& program, std::int64_t begin, std::int64_t count,
                     std::vector<View>& views) const {
    views = inputs_;
    views.insert(views.end(), outputs_.begin(), outputs_.end());
    for (std::size_t i = 0; i < views.size(); ++i) {
      if (i < inputs_.size() && program.inputs[i].kind.tag == ir::Kind::Tag::column) continue;
      views[i].data = views[i].at(begin, 0);
      views[i].rows = count;
    }
    const std::span<const View> all = views;
    return {.inputs = all.first(inputs_.size()),
            .outputs = all.subspan(inputs_.size()),
            .parameters = parameters_,
            .rows = count,
            .cols = cols_};
  }
  /// Poisons the outputs again.
  void poison() const {
    for (std::size_t i = inputs_.size(); i < matrices_.size(); ++i) matrices_[i].refill();
  }
  /// What the outputs hold; inputs must be as they were.
  std::vector<Bytes> outputs() const {
    std::vector<Bytes> all;
    for (std::size_t i = inputs_.size(); i < matrices_.size(); ++i) all.push_back(matrices_[i].bytes());
    return all;
  }

 private:
  std::vector<DeviceMatrix> matrices_;
  std::vector<View> inputs_, outputs_;
  std::vector<float> parameters_;
  std::int64_t rows_, cols_;
};

}  // namespace lanefold::testing
