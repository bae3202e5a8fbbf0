#include "machine/counts.h"

#include <algorithm>

#include "lane/verify.h"

namespace lanefold::machine {
namespace {

using lane::Op;
using lane::Statement;

bool is_arithmetic(Op op) { return op >= Op::neg && op <= Op::select; }

/// Operations of one call of each function, calls looked into.
std::vector<std::map<Op, std::uint64_t>> function_operations(const lane::Module& module) {
  std::vector<std::map<Op, std::uint64_t>> all;
  for (const lane::Function& function : module.functions) {
    std::map<Op, std::uint64_t> own;
    for (const Statement& s : function.body) {
      if (s.op == Op::call)
        for (const auto& [op, count] : all[s.a]) own[op] += count;
      else if (is_arithmetic(s.op))
        ++own[s.op];
    }
    all.push_back(std::move(own));
  }
  return all;
}

/// Exchanges and merges of one execution of a fold_lanes by a SIMD group.
struct FoldWork {
  std::uint64_t shuffles = 0;
  std::uint64_t merges = 0;  ///< by every lane
};

FoldWork fold_work(const Statement& s, std::size_t components) {
  FoldWork work;
  std::uint64_t registers = s.operands.size() / components;
  for (std::uint32_t bit = 0; bit < s.count; ++bit) {
    // Transposing sends one register of a pair and keeps the other, so a pair costs one exchange and becomes one register.
    registers = std::max<std::uint64_t>(1, registers / 2);
    work.shuffles += registers * components;
    work.merges += registers;
  }
  return work;
}

std::uint64_t sum(const std::vector<BufferCount>& buffers, std::uint64_t BufferCount::* field) {
  std::uint64_t total = 0;
  for (const BufferCount& buffer : buffers) total += buffer.*field;
  return total;
}

}  // namespace

std::uint64_t Counts::reads() const { return sum(buffers, &BufferCount::reads); }
std::uint64_t Counts::writes() const { return sum(buffers, &BufferCount::writes); }
std::uint64_t Counts::read_bytes() const { return sum(buffers, &BufferCount::read_bytes); }
std::uint64_t Counts::write_bytes() const { return sum(buffers, &BufferCount::write_bytes); }

void Counts::add(const Counts& other) {
  for (const BufferCount& theirs : other.buffers) {
    auto ours =
        std::find_if(buffers.begin(), buffers.end(), [&](const BufferCount& b) { return b.name == theirs.name; });
    if (ours == buffers.end())
      ours = buffers.insert(buffers.end(), BufferCount{.name = theirs.name, .role = theirs.role});
    ours->reads += theirs.reads;
    ours->read_bytes += theirs.read_bytes;
    ours->writes += theirs.writes;
    ours->write_bytes += theirs.write_bytes;
    // Memory counts distinct elements over all launches so far.
    ours->distinct_reads = std::min(ours->reads, theirs.distinct_reads);
    ours->distinct_writes = std::min(ours->writes, theirs.distinct_writes);
  }
  sites.insert(sites.end(), other.sites.begin(), other.sites.end());
  for (const auto& [name, count] : other.operations) operations[name] += count;
  shuffles += other.shuffles;
  shared_reads += other.shared_reads;
  shared_writes += other.shared_writes;
  barrier_sites += other.barrier_sites;
  barriers += other.barriers;
  simd_barriers += other.simd_barriers;
  shared_bytes = std::max(shared_bytes, other.shared_bytes);
  threadgroups += other.threadgroups;
  launches += other.launches;
  registers = std::max(registers, other.registers);
}

Counts Counters::summarise(const lane::Module& module, const lane::Kernel& kernel,
                           const std::vector<Instruction>& code) const {
  const auto functions = function_operations(module);
  Counts counts;
  counts.launches = 1;
  counts.shared_bytes = lane::shared_bytes(kernel);
  for (const lane::RegisterArray& array : kernel.registers) counts.registers += array.size;
  for (std::uint32_t i = 0; i < kernel.arguments.size(); ++i)
    if (kernel.arguments[i].buffer)
      counts.buffers.push_back({.name = kernel.arguments[i].name, .role = kernel.arguments[i].role});
  const auto buffer_of = [&](std::uint32_t argument) -> BufferCount& {
    const std::string& name = kernel.arguments[argument].name;
    return *std::find_if(counts.buffers.begin(), counts.buffers.end(), [&](const auto& b) { return b.name == name; });
  };
  std::map<Op, std::uint64_t> operations;
  std::string comment;
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (code[i].statement == nullptr ||
        (code[i].step != Step::statement && code[i].step != Step::branch && code[i].step != Step::loop))
      continue;
    const Statement& s = *code[i].statement;
    if (!s.comment.empty()) comment = s.comment;
    if (code[i].step != Step::statement) continue;
    if (is_arithmetic(s.op)) operations[s.op] += lanes_[i];
    switch (s.op) {
      case Op::call:
        for (const auto& [op, count] : functions[s.a]) operations[op] += count * lanes_[i];
        break;
      case Op::load:
      case Op::store: {
        const std::uint64_t elements = lanes_[i] * s.count;
        const std::uint64_t bytes = elements * element_bytes(kernel.arguments[s.a].type);
        BufferCount& buffer = buffer_of(s.a);
        (s.op == Op::load ? buffer.reads : buffer.writes) += elements;
        (s.op == Op::load ? buffer.read_bytes : buffer.write_bytes) += bytes;
        counts.sites.push_back(
            {lane::statement_place(kernel, s), buffer.name, comment, s.op == Op::store, elements, bytes});
        break;
      }
      case Op::shared_load:
      case Op::peer_load: counts.shared_reads += lanes_[i]; break;
      case Op::shared_store:
      case Op::peer_store: counts.shared_writes += lanes_[i]; break;
      case Op::shuffle_xor:
      case Op::shuffle_down:
      case Op::shuffle:
      case Op::permute2: counts.shuffles += groups_[i]; break;
      case Op::fold_lanes: {
        const FoldWork work = fold_work(s, module.functions[s.a].returns.size());
        counts.shuffles += work.shuffles * groups_[i];
        for (const auto& [op, count] : functions[s.a]) operations[op] += count * work.merges * lanes_[i];
        break;
      }
      case Op::exchange: counts.shared_writes += groups_[i] * kernel.cluster * s.operands.size(); [[fallthrough]];
      case Op::barrier:
      case Op::cluster_barrier:
        ++counts.barrier_sites;
        counts.barriers += groups_[i] / kernel.simd_groups;
        break;
      case Op::simd_barrier: counts.simd_barriers += groups_[i]; break;
      default: break;
    }
  }
  for (const auto& [op, count] : operations)
    if (count != 0) counts.operations[std::string(op_name(op))] = count;
  return counts;
}

}  // namespace lanefold::machine
