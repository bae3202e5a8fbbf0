// Loads and stores in CUDA C++.
#include <algorithm>
#include <bit>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "emit/cuda/cuda_dialect.h"

namespace lanefold::emit {

using lane::Op;
using lane::Statement;

namespace {

constexpr std::uint32_t kWidestBytes = 16;
constexpr const char* kMembers[] = {".x", ".y", ".z", ".w"};

/// Elements that one access moves from element `first` of a statement on.
std::uint32_t piece(const Statement& s, std::uint32_t first, std::uint32_t bytes) {
  const std::uint32_t most = std::min({kWidestBytes / bytes, s.alignment, std::bit_floor(s.count - first)});
  return std::max(most, 1u);
}

/// Elements that lie together in one word of a vector: members are words, and of narrow types a word holds several elements.
std::uint32_t per_word(ElementType storage) {
  return std::max(1u, 4 / static_cast<std::uint32_t>(element_bytes(storage)));
}

/// The built-in type of `count` elements.
std::string vector_type(ElementType storage, std::uint32_t count) {
  const std::uint32_t bytes = count * static_cast<std::uint32_t>(element_bytes(storage));
  const char* word = storage == ElementType::f32   ? "float"
                     : storage == ElementType::i32 ? "int"
                     : storage == ElementType::i64 ? "longlong"
                                                   : "uint";
  const std::uint32_t words = bytes / (storage == ElementType::i64 ? 8 : 4);
  if (bytes == 2) return "unsigned short";
  return words == 1 ? "unsigned int" : fmt::format("{}{}", word, words);
}

std::string subscript(const std::string& array, const Expression& address, std::uint32_t offset) {
  if (offset == 0) return fmt::format("{}[{}]", array, address.text);
  return fmt::format("{}[{} + {}]", array, inside(address, Strength::sum), offset);
}

std::string pointer(const std::string& array, const Expression& address, std::uint32_t offset) {
  std::string text = fmt::format("{} + {}", array, inside(address, Strength::product));
  // Sums go on: the address is then a pointer and an offset, in 64 bits either way.
  if (address.strength == Strength::sum) text = fmt::format("{} + {}", array, address.text);
  return offset == 0 ? text : fmt::format("{} + {}", text, offset);
}

/// The word of whose bytes these are all four, in order.
std::optional<std::string> word_of_bytes(std::span<const Expression> values) {
  constexpr std::string_view kByte = "signed_byte(", kFirst = ", 0)";
  const std::string& first = values[0].text;
  if (values.size() != 4 || !first.starts_with(kByte) || !first.ends_with(kFirst)) return std::nullopt;
  const std::string word = first.substr(kByte.size(), first.size() - kByte.size() - kFirst.size());
  for (std::size_t i = 1; i < values.size(); ++i)
    if (values[i].text != fmt::format("{}{}, {})", kByte, word, i)) return std::nullopt;
  return word;
}

}  // namespace

Expression CudaDialect::widened(std::string element, ElementType storage) {
  switch (storage) {
    case ElementType::boolean: return {.text = element + " != 0", .strength = Strength::equality};
    case ElementType::bf16: return helper("from_bf16", {std::move(element)}, ElementType::f32);
    case ElementType::f16: return helper("from_f16", {std::move(element)}, ElementType::f32);
    case ElementType::e4m3: return helper("from_e4m3", {std::move(element)}, ElementType::f32);
    case ElementType::e5m2: return helper("from_e5m2", {std::move(element)}, ElementType::f32);
    default: return {.text = std::move(element)};
  }
}

std::string CudaDialect::narrowed(const Expression& value, ElementType storage) {
  switch (storage) {
    case ElementType::boolean: return fmt::format("{} ? 1 : 0", inside(value, Strength::either));
    case ElementType::i8: return fmt::format("static_cast<signed char>({})", value.text);
    case ElementType::bf16: return helper("to_bf16", {value.text}, ElementType::f32).text;
    case ElementType::f16: return helper("to_f16", {value.text}, ElementType::f32).text;
    case ElementType::e4m3: return helper("to_e4m3", {value.text}, ElementType::f32).text;
    case ElementType::e5m2: return helper("to_e5m2", {value.text}, ElementType::f32).text;
    default: return value.text;
  }
}

Expression CudaDialect::element_of_word(const std::string& word, std::uint32_t index, ElementType storage) {
  const std::string at = fmt::format("{}", index);
  switch (storage) {
    case ElementType::bf16: return helper(index == 0 ? "bf16_low" : "bf16_high", {word}, ElementType::f32);
    case ElementType::f16: return helper(index == 0 ? "f16_low" : "f16_high", {word}, ElementType::f32);
    case ElementType::i8: return helper("signed_byte", {word, at}, ElementType::i32);
    case ElementType::boolean:
    case ElementType::e4m3:
    case ElementType::e5m2: return widened(helper("byte_of", {word, at}, ElementType::i32).text, storage);
    default: return {.text = word};
  }
}

std::string CudaDialect::packed_word(std::span<const Expression> values, ElementType storage) {
  if (storage == ElementType::bf16 || storage == ElementType::f16)
    return helper(storage == ElementType::f16 ? "pack_f16"
                  : is_spread_                ? "pack_bf16_in_turn"
                                              : "pack_bf16",
                  {values[0].text, values[1].text}, ElementType::i32)
        .text;
  if (element_bytes(storage) != 1) return values[0].text;
  if (std::optional<std::string> word = word_of_bytes(values); word && storage == ElementType::i8) return *word;
  std::vector<std::string> bytes;
  for (const Expression& value : values)
    bytes.push_back(storage == ElementType::i8 ? value.text : narrowed(value, storage));
  bytes.resize(4, "0");
  return helper("pack_bytes", {bytes[0], bytes[1], bytes[2], bytes[3]}, ElementType::i32).text;
}

void CudaDialect::load(BodyWriter& writer, const Statement& s) {
  const ElementType storage = writer.at().arguments[s.a].type;
  const auto bytes = static_cast<std::uint32_t>(element_bytes(storage));
  const Expression address = s.count == 1 ? writer.take(s.operands[0]) : writer.take_named(s.operands[0]);
  for (std::uint32_t first = 0; first < s.count;) {
    const std::uint32_t count = piece(s, first, bytes);
    load_piece(writer, s, address, first, count);
    first += count;
  }
}

void CudaDialect::load_piece(BodyWriter& writer, const Statement& s, const Expression& address, std::uint32_t first,
                             std::uint32_t count) {
  const ElementType storage = writer.at().arguments[s.a].type;
  const std::string& array = writer.argument_name(s.a);
  if (count == 1) {
    std::string element = subscript(array, address, first);
    if (s.streaming) {
      std::string type = storage_type(storage);
      if (element_bytes(storage) == 2) type = "unsigned short";
      if (element_bytes(storage) == 1 && storage != ElementType::i8) type = "unsigned char";
      element = fmt::format("{}({})", helpers_.use("load_once:" + type), pointer(array, address, first));
    }
    return writer.give(s, first, widened(std::move(element), storage));
  }
  const std::string type = vector_type(storage, count);
  const std::string values = fmt::format("{}_values", array);
  const std::string text = load_text(s, pointer(array, address, first), type);
  const std::optional<std::uint32_t> last = last_packed(s, first, count);
  if (!last) {
    const std::string name = writer.declare(type, values, text);
    for (std::uint32_t i = 0; i < count; ++i) give_element(writer, s, first + i, name, count, i, storage);
    return;
  }
  const std::string name = writer.fresh_name(values);
  writer.line(fmt::format("{} {} = {};", type, name, text));
  packed_words_.push_back({name, type, *last});
  for (std::uint32_t i = 0; i < count; ++i) give_element(writer, s, first + i, name, count, i, storage);
}

std::string CudaDialect::load_text(const Statement& s, const std::string& from, const std::string& type) {
  const std::string pointer = fmt::format("reinterpret_cast<const {}*>({})", type, from);
  return s.streaming ? fmt::format("{}({})", helpers_.use("load_once:" + type), pointer) : "*" + pointer;
}

void CudaDialect::give_element(BodyWriter& writer, const Statement& s, std::uint32_t index, const std::string& words,
                               std::uint32_t count, std::uint32_t i, ElementType storage) {
  const std::uint32_t together = per_word(storage);
  const bool one_word = count <= together && element_bytes(storage) < 4;
  const std::string word = one_word ? words : words + kMembers[i / together];
  const lane::ValueId v = s.result + index;
  if (storage == ElementType::bf16) halves_[v] = {word, i % together};
  Expression element = element_of_word(word, i % together, storage);
  if (packed_.contains(v)) return writer.give_anywhere(s, index, std::move(element));
  writer.give(s, index, std::move(element), BodyWriter::When::now);
}

bool CudaDialect::has_guarded(const BodyWriter& writer, const Statement& load) {
  const auto bytes = static_cast<std::uint32_t>(element_bytes(writer.at().arguments[load.a].type));
  for (std::uint32_t first = 0; first < load.count; first += piece(load, first, bytes))
    if (piece(load, first, bytes) == 1) return false;
  return true;
}

void CudaDialect::declare_guarded(BodyWriter& writer, const Statement& load) {
  const ElementType storage = writer.at().arguments[load.a].type;
  const auto bytes = static_cast<std::uint32_t>(element_bytes(storage));
  std::vector<std::string>& words = guarded_words_[load.result];
  for (std::uint32_t first = 0; first < load.count; first += piece(load, first, bytes)) {
    words.push_back(writer.fresh_name(writer.argument_name(load.a) + "_guarded"));
    writer.line(fmt::format("{} {} = {{}};", vector_type(storage, piece(load, first, bytes)), words.back()));
  }
}

void CudaDialect::load_guarded(BodyWriter& writer, const Statement& s) {
  const ElementType storage = writer.at().arguments[s.a].type;
  const auto bytes = static_cast<std::uint32_t>(element_bytes(storage));
  const Expression address = writer.take_named(s.operands[0]);
  std::size_t word = 0;
  for (std::uint32_t first = 0; first < s.count; first += piece(s, first, bytes))
    writer.line(fmt::format("{} = {};", guarded_words_.at(s.result).at(word++),
                            load_text(s, pointer(writer.argument_name(s.a), address, first),
                                      vector_type(storage, piece(s, first, bytes)))));
}

void CudaDialect::get_guarded(BodyWriter& writer, const Statement& get, const Statement& load) {
  const ElementType storage = writer.at().arguments[load.a].type;
  const auto bytes = static_cast<std::uint32_t>(element_bytes(storage));
  std::size_t word = 0;
  std::uint32_t first = 0;
  while (first + piece(load, first, bytes) <= get.b) {
    first += piece(load, first, bytes);
    ++word;
  }
  const std::string& name = guarded_words_.at(load.result).at(word);
  const std::uint32_t count = piece(load, first, bytes);
  if (const auto packed = packed_.find(get.result); packed != packed_.end()) {
    const auto known = std::find_if(packed_words_.begin(), packed_words_.end(),
                                    [&](const PackedWords& words) { return words.name == name; });
    if (known == packed_words_.end())
      packed_words_.push_back({name, vector_type(storage, count), packed->second});
    else
      known->last = std::max(known->last, packed->second);
  }
  give_element(writer, get, 0, name, count, get.b - first, storage);
}

void CudaDialect::store(BodyWriter& writer, const Statement& s) {
  const ElementType storage = writer.at().arguments[s.a].type;
  const auto bytes = static_cast<std::uint32_t>(element_bytes(storage));
  const Expression address = s.count == 1 ? writer.take(s.operands[0]) : writer.take_named(s.operands[0]);
  // The second of several accesses must not read again what the first has overwritten.
  if (s.count > 1) writer.settle(s);
  std::vector<Expression> values;
  for (std::uint32_t i = 0; i < s.count; ++i) values.push_back(writer.take(s.operands[1 + i]));
  writer.settle(s);
  for (std::uint32_t first = 0; first < s.count;) {
    const std::uint32_t count = piece(s, first, bytes);
    store_piece(writer, s, address, first, std::span(values).subspan(first, count));
    first += count;
  }
}

void CudaDialect::store_piece(BodyWriter& writer, const Statement& s, const Expression& address, std::uint32_t first,
                              std::span<const Expression> values) {
  const ElementType storage = writer.at().arguments[s.a].type;
  const std::string& array = writer.argument_name(s.a);
  std::string to, value;
  if (values.size() == 1) {
    value = narrowed(values[0], storage);
    if (!s.streaming) return writer.line(fmt::format("{} = {};", subscript(array, address, first), value));
    to = pointer(array, address, first);
    value = fmt::format("static_cast<{}>({})", storage_type(storage), value);
  } else {
    const std::string type = vector_type(storage, static_cast<std::uint32_t>(values.size()));
    const std::uint32_t together = per_word(storage);
    std::vector<std::string> words;
    for (std::size_t i = 0; i < values.size(); i += together)
      words.push_back(packed_word(values.subspan(i, std::min<std::size_t>(together, values.size() - i)), storage));
    to = fmt::format("reinterpret_cast<{}*>({})", type, pointer(array, address, first));
    value = words.size() > 1         ? fmt::format("make_{}({})", type, fmt::join(words, ", "))
            : type == "unsigned int" ? words[0]
                                     : fmt::format("static_cast<{}>({})", type, words[0]);
    if (!s.streaming) to = "*" + to;
  }
  writer.line(s.streaming ? fmt::format("__stcs({}, {});", to, value) : fmt::format("{} = {};", to, value));
}

void CudaDialect::shared_load(BodyWriter& writer, const Statement& s) {
  const ElementType storage = writer.at().shared[s.a].type;
  const std::string& array = writer.shared_name(s.a);
  const bool is_peer = s.op == Op::peer_load && writer.at().cluster > 1;
  const std::string rank = s.op == Op::peer_load ? writer.take(s.operands[0]).text : "";
  const Expression index = writer.take(s.operands.back());
  const std::string element = is_peer ? fmt::format("{}({}, {})[{}]", helpers_.use("peer"), array, rank, index.text)
                                      : subscript(array, index, 0);
  writer.give(s, 0, widened(element, storage));
}

void CudaDialect::shared_store(BodyWriter& writer, const Statement& s) {
  const ElementType storage = writer.at().shared[s.a].type;
  const std::string& array = writer.shared_name(s.a);
  const bool is_peer = s.op == Op::peer_store && writer.at().cluster > 1;
  const std::string rank = s.op == Op::peer_store ? writer.take(s.operands[0]).text : "";
  const Expression index = writer.take(s.operands[s.op == Op::peer_store ? 1 : 0]);
  const Expression value = writer.take(s.operands.back());
  writer.settle(s);
  const std::string element = is_peer ? fmt::format("{}({}, {})[{}]", helpers_.use("peer"), array, rank, index.text)
                                      : subscript(array, index, 0);
  writer.line(fmt::format("{} = {};", element, narrowed(value, storage)));
}

}  // namespace lanefold::emit
