// Shuffles, permutations, barriers and hints for loops in CUDA C++.
#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "emit/cuda/cuda_dialect.h"

namespace lanefold::emit {

using lane::Op;
using lane::Statement;

namespace {

constexpr std::uint32_t kLanes = 32;

Expression shuffled(std::string_view how, const std::string& value, const std::string& from, ElementType type) {
  return {.text = fmt::format("__shfl{}_sync(0xffffffffu, {}, {})", how, value, from), .type = type};
}

// Few short turns are written out, and long ones never: their loads are unrolled already.
constexpr std::int64_t kMostUnrolled = 8;
constexpr std::size_t kLongBody = 48;

/// The helper that gives an element of the type to other blocks, and the bits that it takes.
std::string_view give_helper(ElementType type) { return element_bytes(type) == 8 ? "give:8" : "give:4"; }

std::string bits_of(const Expression& value, ElementType type) {
  if (type == ElementType::f32) return fmt::format("__float_as_uint({})", value.text);
  return fmt::format("static_cast<unsigned {}>({})", element_bytes(type) == 8 ? "long long" : "int", value.text);
}

std::size_t statements(const std::vector<Statement>& block) {
  std::size_t count = block.size();
  for (const Statement& s : block) count += statements(s.body) + statements(s.otherwise);
  return count;
}

}  // namespace

std::string CudaDialect::loop_hint(const Statement& loop, std::optional<std::int64_t> trips) {
  const std::size_t size = statements(loop.body);
  if (size > kLongBody) return "#pragma unroll 1";
  return trips && *trips <= kMostUnrolled ? "#pragma unroll" : "";
}

Expression CudaDialect::by_bit(std::uint32_t bit, const Expression& clear, const Expression& set) {
  return helper("by_bit", {fmt::format("{}", bit), argument(clear), argument(set)}, clear.type);
}

Expression CudaDialect::trade(std::uint32_t bit, const Expression& clear, const Expression& set) {
  return helper("trade", {fmt::format("{}", bit), argument(clear), argument(set)}, clear.type);
}

Expression CudaDialect::swap(std::uint32_t distance, const Expression& value) {
  return shuffled("_xor", argument(value), fmt::format("{}", distance), value.type);
}

void CudaDialect::shuffle(BodyWriter& writer, const Statement& s) {
  if (s.op == Op::permute2) return writer.give_named(s, 0, permuted(writer, s));
  const Expression value = writer.take(s.operands[0]);
  const std::string distance = fmt::format("{}", s.b);
  if (s.op == Op::shuffle_xor) return writer.give_named(s, 0, shuffled("_xor", argument(value), distance, value.type));
  if (s.op == Op::shuffle_down)
    return writer.give_named(s, 0, shuffled("_down", argument(value), distance, value.type));
  const Expression from = writer.take(s.operands[1]);
  writer.give_named(s, 0, shuffled("", argument(value), from.text, value.type));
}

Expression CudaDialect::permuted(BodyWriter& writer, const Statement& s) {
  const std::vector<std::uint16_t>& table = s.table;
  // What a lane gives: one of the two, where all that read from it want the same one.
  std::uint32_t gives_a = 0, gives_b = 0;
  for (const std::uint16_t t : table) (t >= kLanes ? gives_b : gives_a) |= 1u << t % kLanes;
  const Expression a = gives_a != 0 ? writer.take_named(s.operands[0]) : writer.take(s.operands[0]);
  const Expression b = gives_b != 0 ? writer.take_named(s.operands[1]) : writer.take(s.operands[1]);
  const auto all = [&](auto holds) {
    for (std::uint32_t i = 0; i < kLanes; ++i)
      if (!holds(i, table[i] % kLanes)) return false;
    return true;
  };
  std::uint32_t takes_b = 0;
  for (std::uint32_t i = 0; i < kLanes; ++i) takes_b |= static_cast<std::uint32_t>(table[i] >= kLanes) << i;
  const auto lanes = [](std::uint32_t mask) { return fmt::format("({:#010x}u >> threadIdx.x % 32 & 1u) != 0", mask); };
  const auto chosen = [&](std::uint32_t mask, const std::string& with, const std::string& without) {
    return fmt::format("{} ? {} : {}", lanes(mask), with, without);
  };
  const std::uint32_t first = table[0] % kLanes;
  std::string how, from;
  if (all([&](std::uint32_t i, std::uint32_t t) { return t == i; })) {
    how = "none";
  } else if (all([&](std::uint32_t i, std::uint32_t t) { return t == (i ^ first); })) {
    how = "_xor";
    from = fmt::format("{}", first);
  } else if (all([&](std::uint32_t, std::uint32_t t) { return t == first; })) {
    from = fmt::format("{}", first);
  } else if (all([&](std::uint32_t i, std::uint32_t t) { return t == (i + first) % kLanes; })) {
    from = fmt::format("(threadIdx.x + {}) % 32", first);
  } else {
    const std::string name = fmt::format("permutation_{}", ++table_count_);
    std::string entries;
    for (const std::uint16_t t : table) entries += fmt::format("{}{}", entries.empty() ? "" : ", ", t % kLanes);
    append_line(tables_, 0, fmt::format("__constant__ const unsigned char {}[32] = {{{}}};", name, entries));
    from = fmt::format("{}[threadIdx.x % 32]", name);
  }
  const auto moved = [&](const std::string& value) {
    return how == "none" ? value : shuffled(how, value, from, a.type).text;
  };
  const auto one_of = [&](std::uint32_t mask) {
    return mask == 0 ? argument(a) : mask == ~0u ? argument(b) : chosen(mask, argument(b), argument(a));
  };
  Expression result{.text = "", .type = a.type, .strength = Strength::choice};
  if (how == "none") {
    result.text = one_of(takes_b);
  } else if ((gives_a & gives_b) == 0) {
    result.text = moved(one_of(gives_a == 0 ? ~0u : gives_b));
  } else {
    const std::string from_a = writer.declare(type(a.type), "from_first", moved(argument(a)));
    const std::string from_b = writer.declare(type(a.type), "from_second", moved(argument(b)));
    result.text = chosen(takes_b, from_b, from_a);
  }
  return result;
}

void CudaDialect::barrier(BodyWriter& writer, const Statement& s) {
  if (s.op == Op::simd_barrier) return writer.line("__syncwarp();");
  if (s.op == Op::barrier || writer.at().cluster == 1)
    writer.line("__syncthreads();");
  else
    writer.line(fmt::format("{}();", helpers_.use("cluster_barrier")));
  begin_sweep(writer);
}

namespace {

/// Calls with each exchange of the block, and whether it stands in a loop or branch.
void for_exchanges(const std::vector<Statement>& block, bool is_inside, const std::function<void(bool)>& call) {
  for (const Statement& s : block) {
    if (s.op == Op::exchange) call(is_inside);
    for_exchanges(s.body, true, call);
    for_exchanges(s.otherwise, true, call);
  }
}

}  // namespace

std::string CudaDialect::begin_kernel(BodyWriter& writer, const lane::Kernel& kernel) {
  divisors_.clear();
  bounded_.clear();
  halves_.clear();
  packed_.clear();
  derived_.clear();
  packed_words_.clear();
  guarded_words_.clear();
  pairs_.clear();
  minuends_.clear();
  nearness_.clear();
  exchanges_.clear();
  next_exchange_ = 0;
  cluster_is_ready_ = false;
  is_spread_ = kernel.cluster > 1;
  if (kernel.cluster == 1) return "";
  bool any_inside = false;
  std::string turns;
  std::string arrived;
  for_exchanges(kernel.body, false, [&](bool is_inside) {
    if (arrived.empty()) arrived = writer.fresh_name("arrived");
    Exchange& exchange = exchanges_.emplace_back();
    exchange.arrived = fmt::format("&{}[{}]", arrived, exchanges_.size() - 1);
    if (!is_inside) return;
    any_inside = true;
    exchange.turn = writer.fresh_name("turn");
    turns += fmt::format("{}{} = 0", turns.empty() ? "" : ", ", exchange.turn);
  });
  if (exchanges_.empty()) return "";
  std::string text;
  append_line(text, 1,
              "// One for each exchange with the other blocks of the cluster: it counts what has arrived of them.");
  append_line(text, 1, fmt::format("__shared__ unsigned long long {}[{}];", arrived, exchanges_.size()));
  append_line(text, 1, fmt::format("{}({}, {});", helpers_.use("begin_exchanges"), arrived, exchanges_.size()));
  if (any_inside) {
    append_line(text, 1, fmt::format("unsigned int {};", turns));
    append_line(text, 1, fmt::format("{}();", helpers_.use("cluster_has_begun")));
    cluster_is_ready_ = true;
  }
  return text;
}

void CudaDialect::exchange(BodyWriter& writer, const Statement& s) {
  const lane::Kernel& kernel = writer.at();
  std::vector<Expression> values;
  for (const lane::ValueId v : s.operands) values.push_back(writer.take_named(v));
  writer.settle(s);
  if (kernel.cluster == 1) {
    std::string stores;
    for (std::uint32_t k = 0; k < values.size(); ++k)
      stores += fmt::format("{}[threadIdx.x / 32] = {}; ", writer.shared_name(s.a + k), values[k].text);
    writer.line(fmt::format("if (threadIdx.x % 32 == 0) {{ {}}}", stores));
    writer.line("__syncthreads();");
    return begin_sweep(writer);
  }
  const Exchange& exchange = exchanges_.at(next_exchange_++);
  if (!cluster_is_ready_) {
    writer.line(fmt::format("{}();", helpers_.use("cluster_has_begun")));
    cluster_is_ready_ = true;
  }
  std::size_t bytes = 0;
  for (std::uint32_t k = 0; k < values.size(); ++k) bytes += element_bytes(kernel.shared[s.a + k].type);
  writer.line(fmt::format("{}({}, {});", helpers_.use("expect"), exchange.arrived,
                          bytes * kernel.cluster * kernel.simd_groups));
  const std::string place = kernel.simd_groups == 1 ? fmt::format("{}()", helpers_.use("cluster_rank"))
                                                    : fmt::format("{}() * {} + threadIdx.x / 32",
                                                                  helpers_.use("cluster_rank"), kernel.simd_groups);
  for (std::uint32_t k = 0; k < values.size(); ++k)
    writer.line(fmt::format("{}({} + {}, {}, {}, {});", helpers_.use(give_helper(kernel.shared[s.a + k].type)),
                            writer.shared_name(s.a + k), place, bits_of(values[k], kernel.shared[s.a + k].type),
                            exchange.arrived, kernel.cluster));
  writer.line(
      fmt::format("{}({}, {});", helpers_.use("await"), exchange.arrived, exchange.turn.empty() ? "0" : exchange.turn));
  if (!exchange.turn.empty()) writer.line(fmt::format("{} ^= 1;", exchange.turn));
  begin_sweep(writer);
}

}  // namespace lanefold::emit
