#include "api/signature.h"

#include <fmt/format.h>

#include "api/failure.h"
#include "ir/names.h"

namespace lanefold::api {
namespace {

using Role = ir::Part::Role;
using Tag = ir::Kind::Tag;

// A block of q8_0: two bytes of scale, then the codes.
constexpr std::int64_t kBlockBytes = 34;
constexpr std::int64_t kScaleBytes = 2;

template <class Ports>
std::vector<Declared> declarations(const Ports& ports) {
  std::vector<Declared> all;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const ir::Part& part = ports[i].part;
    const bool begins = all.empty() || part.of.empty() || all.back().name != part.of;
    if (!begins) {
      ++all.back().count;
      continue;
    }
    Declared declared;
    declared.name = ir::declared_name(ports[i].name, part);
    declared.role = part.role;
    declared.kind = ports[i].kind;
    declared.first = i;
    all.push_back(std::move(declared));
  }
  return all;
}

[[noreturn]] void refuse(Code code, const Declared& declared, std::string what, const char* hint) {
  const std::string place = fmt::format("{} {}", declared.what, declared.name);
  fail({code, fmt::format("{} {}", place, what), hint, place});
}

const void* moved(const void* data, std::int64_t bytes) {
  return data == nullptr ? data : static_cast<const std::byte*>(data) + bytes;
}

/// A product that an address or a size may be made of.
std::int64_t product(const Declared& declared, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result))
    refuse(Code::call_shape_mismatch, declared, fmt::format("has a size or stride of {}", a), "no memory has so much");
  return result;
}

const void* place(const Declared& declared, const void* data, Type type, std::int64_t k, std::int64_t stride) {
  const std::int64_t elements = product(declared, stride, k);
  return moved(data, product(declared, elements, static_cast<std::int64_t>(element_bytes(element_type(type)))));
}

void check_blocks(const Declared& declared, Type type, std::int64_t blocks, std::int64_t stride) {
  if (type != Type::q8_0)
    refuse(Code::call_type_mismatch, declared, "is stored in blocks of q8_0, and the array in another type",
           "pass blocks of 34 bytes as Type::q8_0");
  if (blocks > 1 && stride != 1)
    refuse(Code::call_shape_mismatch, declared, fmt::format("has blocks that lie {} blocks apart", stride),
           "blocks of a row follow each other without gaps");
}

void check_inner(const Declared& declared, Type type, std::int64_t size) {
  if (type == Type::q8_0)
    refuse(Code::call_type_mismatch, declared, "is given in blocks of q8_0, and the program wants single elements",
           "convert the data, or build the program for that type");
  const auto inner = static_cast<std::int64_t>(declared.count);
  if (size == inner) return;
  refuse(Code::call_shape_mismatch, declared, fmt::format("has {} places of its inner axis, not {}", size, inner),
         "compile the kernel for that many, or call it with as many");
}

void inner_places(const Declared& declared, const ConstMatrix& m, MatrixList& ports) {
  const auto inner = static_cast<std::int64_t>(declared.count);
  const bool vectors = declared.kind.tag == Tag::column || declared.kind.tag == Tag::row;
  check_inner(declared, m.type, vectors ? m.rows : m.rows % inner == 0 ? inner : m.rows);
  for (std::int64_t k = 0; k < inner; ++k) {
    ConstMatrix one = m;
    if (vectors) {
      one.data = place(declared, m.data, m.type, k, m.row_stride);
      one.rows = 1;
      if (declared.kind.tag == Tag::row) one = {one.data, m.type, m.cols, 1, m.column_stride, 0};
    } else {
      one.rows = m.rows / inner;
      one.data = place(declared, m.data, m.type, k, product(declared, m.row_stride, one.rows));
    }
    ports.push_back(one);
  }
}

ConstTensor without_first(const Declared& declared, const ConstTensor& t, std::int64_t k) {
  ConstTensor one = t;
  one.data = place(declared, t.data, t.type, k, t.strides[0]);
  --one.rank;
  for (std::size_t d = 0; d + 1 < one.shape.size(); ++d) {
    one.shape[d] = t.shape[d + 1];
    one.strides[d] = t.strides[d + 1];
  }
  return one;
}

}  // namespace

Signature::Signature(const ir::Program& program)
    : inputs(declarations(program.inputs)), outputs(declarations(program.stores)) {
  for (Declared& declared : outputs) declared.what = "output";
  for (Declared& declared : inputs) declared.has_stand_in = program.inputs[declared.first].absent.has_value();
  plain = inputs.size() == program.inputs.size() && outputs.size() == program.stores.size();
}

Port port_of(const ir::Program& program, const Declared& declared, bool output) {
  const ElementType storage = output ? program.stores[declared.first].storage : program.inputs[declared.first].storage;
  Port port = {.name = declared.name, .type = static_cast<Type>(storage), .block = declared.kind.block};
  switch (declared.kind.tag) {
    case Tag::row: port.kind = Kind::row; break;
    case Tag::column: port.kind = Kind::column; break;
    case Tag::block: port.kind = Kind::block; break;
    case Tag::element:
    case Tag::uniform: break;  // no input or output is uniform
  }
  if (declared.role == Role::codes) {
    port.type = Type::q8_0;
    port.kind = Kind::block;
    port.block = ir::kQ8Block;
  }
  if (declared.role == Role::inner) port.inner = static_cast<std::int64_t>(declared.count);
  return port;
}

void take_apart(const std::vector<Declared>& declared, std::span<const ConstMatrix> arrays, MatrixList& ports) {
  for (std::size_t d = 0; d < declared.size(); ++d) {
    const ConstMatrix& m = arrays[d];
    switch (declared[d].role) {
      case Role::whole: ports.push_back(m); break;
      case Role::inner: inner_places(declared[d], m, ports); break;
      case Role::codes:
      case Role::scale:
        check_blocks(declared[d], m.type, m.cols, m.column_stride);
        ports.push_back({moved(m.data, kScaleBytes), Type::i8, m.rows, product(declared[d], m.cols, ir::kQ8Block),
                         product(declared[d], m.row_stride, kBlockBytes), 1});
        ports.push_back({m.data, Type::f16, m.rows, m.cols, m.row_stride * (kBlockBytes / 2), kBlockBytes / 2});
        break;
    }
  }
}

void take_apart(const std::vector<Declared>& declared, std::span<const ConstTensor> arrays, TensorList& ports) {
  for (std::size_t d = 0; d < declared.size(); ++d) {
    const ConstTensor& t = arrays[d];
    if (declared[d].role == Role::whole) {
      ports.push_back(t);
      continue;
    }
    if (t.rank < 1 || t.rank > kMostDimensions)
      refuse(Code::call_shape_mismatch, declared[d], fmt::format("has {} dimensions", t.rank), "use 1 to 4");
    const auto last = static_cast<std::size_t>(t.rank) - 1;
    if (declared[d].role == Role::inner) {
      check_inner(declared[d], t.type, t.shape[0]);
      for (std::int64_t k = 0; k < t.shape[0]; ++k) ports.push_back(without_first(declared[d], t, k));
      continue;
    }
    check_blocks(declared[d], t.type, t.shape[last], t.strides[last]);
    ConstTensor codes = t, scale = t;
    codes.data = moved(t.data, kScaleBytes);
    codes.type = Type::i8;
    scale.type = Type::f16;
    for (std::size_t i = 0; i <= last; ++i) {
      codes.strides[i] = product(declared[d], t.strides[i], kBlockBytes);
      scale.strides[i] = t.strides[i] * (kBlockBytes / 2);
    }
    codes.shape[last] = product(declared[d], t.shape[last], ir::kQ8Block);
    codes.strides[last] = 1;
    scale.strides[last] = kBlockBytes / 2;
    ports.push_back(codes);
    ports.push_back(scale);
  }
}

}  // namespace lanefold::api
