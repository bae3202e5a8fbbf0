// What a run has done, in numbers.
#pragma once

#include <bit>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lane/module.h"
#include "machine/code.h"
#include "machine/words.h"

namespace lanefold::machine {

/// Traffic of one buffer argument's memory, in elements of its own type.
struct BufferCount {
  std::string name;
  lane::Role role = lane::Role::input;
  std::uint64_t reads = 0, read_bytes = 0;  ///< each lane's elements
  std::uint64_t writes = 0, write_bytes = 0;
  std::uint64_t distinct_reads = 0;   ///< different elements read, by this launch and those before it
  std::uint64_t distinct_writes = 0;  ///< different elements written, likewise
};

/// One load or store statement.
struct SiteCount {
  std::string place;  ///< "kernel:3.2"
  std::string buffer;
  std::string comment;  ///< of the nearest commented statement before it
  bool store = false;
  std::uint64_t elements = 0, bytes = 0;
};

struct Counts {
  std::vector<BufferCount> buffers;
  std::vector<SiteCount> sites;
  std::map<std::string, std::uint64_t> operations;  ///< lane operations by name: arithmetic, functions looked into
  std::uint64_t shuffles = 0;  ///< exchanges executed by SIMD groups, those of fold_lanes counted one by one
  std::uint64_t shared_reads = 0, shared_writes = 0;  ///< elements of threadgroup arrays
  std::uint32_t barrier_sites = 0;                    ///< threadgroup and cluster barriers, and exchanges, in the text
  std::uint64_t barriers = 0;                         ///< executions, one per threadgroup
  std::uint64_t simd_barriers = 0;                    ///< executions, one per SIMD group
  std::uint32_t shared_bytes = 0;                     ///< of a threadgroup; the largest of the kernels
  std::uint64_t threadgroups = 0;
  std::uint64_t launches = 0;
  std::uint64_t registers = 0;  ///< elements of register arrays per lane; the most of the kernels
  std::uint64_t reads() const;
  std::uint64_t writes() const;
  std::uint64_t read_bytes() const;
  std::uint64_t write_bytes() const;
  /// Adds what another launch did; buffers are matched by name.
  void add(const Counts& other);
};

/// Executions of each instruction, counted while a kernel runs.
class Counters {
 public:
  explicit Counters(std::size_t instructions) : lanes_(instructions), groups_(instructions) {}
  void count(std::size_t counter, LaneMask mask) {
    lanes_[counter] += static_cast<std::uint64_t>(std::popcount(mask));
    ++groups_[counter];
  }
  /// The counts of one launch, without distinct elements, which memory knows.
  Counts summarise(const lane::Module& module, const lane::Kernel& kernel, const std::vector<Instruction>& code) const;

 private:
  std::vector<std::uint64_t> lanes_, groups_;
};

}  // namespace lanefold::machine
