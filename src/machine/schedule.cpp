#include "machine/schedule.h"

#include <fmt/format.h>

#include <limits>

#include "lane/verify.h"

namespace lanefold::machine {
namespace {

constexpr std::uint64_t kLongestTurn = 64;

}  // namespace

Cluster::Cluster(Launch& launch) : launch_(launch), groups_each_(launch.kernel.simd_groups) {
  for (std::uint32_t rank = 0; rank < launch.kernel.cluster; ++rank) threadgroups_.emplace_back(launch, rank);
  for (Threadgroup& threadgroup : threadgroups_) {
    for (Threadgroup& peer : threadgroups_) threadgroup.peers.push_back(&peer);
    for (std::uint32_t i = 0; i < launch.kernel.simd_groups; ++i) groups_.emplace_back(threadgroup, i);
  }
}

bool Cluster::run(std::int64_t first, Random& random) {
  for (Threadgroup& threadgroup : threadgroups_) {
    threadgroup.index = first + threadgroup.rank;
    threadgroup.cluster = first;
    threadgroup.epoch = threadgroup.cluster_epoch = threadgroup.exchange_epoch = 0;
    threadgroup.peer_access.reset();
    threadgroup.shared.reset();
  }
  for (Group& group : groups_) group.restart();
  std::vector<std::size_t> running;
  for (;;) {
    running.clear();
    for (std::size_t i = 0; i < groups_.size(); ++i)
      if (!groups_[i].ended() && !groups_[i].waiting()) running.push_back(i);
    while (!running.empty()) {
      const std::size_t pick = random.below(running.size());
      Group& group = groups_[running[pick]];
      try {
        group.advance(running.size() == 1 ? std::numeric_limits<std::uint64_t>::max() : 1 + random.below(kLongestTurn));
      } catch (const Fault& found) {
        fault(found, group);
        return false;
      }
      if (group.ended() || group.waiting()) {
        running[pick] = running.back();
        running.pop_back();
      }
    }
    if (!meet()) return false;
    bool all_ended = true;
    for (const Group& group : groups_) all_ended = all_ended && group.ended();
    if (all_ended) {
      check_peers();
      return true;
    }
  }
}

bool Cluster::meet() {
  bool moved = false;
  for (std::size_t rank = 0; rank < threadgroups_.size(); ++rank) {
    const std::size_t begin = rank * groups_each_;
    if (!together(begin, begin + groups_each_)) return false;
    Group& first = groups_[begin];
    if (!first.ended() && first.at()->op == lane::Op::barrier) {
      ++threadgroups_[rank].epoch;
      for (std::size_t i = begin; i < begin + groups_each_; ++i) groups_[i].release();
      moved = true;
    }
  }
  if (moved) return true;
  if (!together(0, groups_.size())) return false;
  if (groups_.front().ended()) return true;
  const bool is_exchange = groups_.front().at()->op == lane::Op::exchange;
  for (Threadgroup& threadgroup : threadgroups_) {
    threadgroup.epoch += !is_exchange;
    threadgroup.cluster_epoch += !is_exchange;
    threadgroup.exchange_epoch += is_exchange;
  }
  for (Group& group : groups_) group.release();
  return true;
}

void Cluster::check_peers() {
  for (const Threadgroup& threadgroup : threadgroups_) {
    const std::optional<Access>& last = threadgroup.peer_access;
    if (!last || last->cluster_epoch != threadgroup.cluster_epoch) continue;
    if (!launch_.findings.is_new(Code::machine_peer_ended, last->counter)) continue;
    const lane::Statement& s = *launch_.code[last->counter].statement;
    launch_.findings.add(
        {Code::machine_peer_ended,
         fmt::format("threadgroup {} may have ended when lane {} of SIMD group {} of threadgroup {} uses its {}",
                     threadgroup.index, last->lane, last->group, last->threadgroup, launch_.kernel.shared[s.a].name),
         "put a cluster_barrier behind the last access to a peer", lane::statement_place(launch_.kernel, s)});
  }
}

bool Cluster::together(std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) {
    const Group& group = groups_[i];
    if (group.at() == groups_[begin].at()) {
      if (group.same_iterations(groups_[begin])) continue;
      fault({Code::machine_barrier_mismatch,
             fmt::format("SIMD groups {} and {} wait here in different iterations of a loop", groups_[begin].index(),
                         group.index()),
             "let every SIMD group pass the same barriers"},
            group);
      return false;
    }
    const Group& waiting = groups_[begin].ended() ? group : groups_[begin];
    const Group& other = groups_[begin].ended() ? groups_[begin] : group;
    const std::string elsewhere =
        other.ended() ? "has ended" : "waits at " + lane::statement_place(launch_.kernel, *other.at());
    const bool apart = &waiting.threadgroup() != &other.threadgroup();
    fault({Code::machine_barrier_mismatch,
           fmt::format("SIMD group {}{} {} while another waits here", other.index(),
                       apart ? fmt::format(" of threadgroup {}", other.threadgroup().index) : "", elsewhere),
           "let every SIMD group pass the same barriers"},
          waiting);
    return false;
  }
  return true;
}

void Cluster::fault(const Fault& fault, const Group& group) {
  if (!launch_.findings.is_new(fault.code, group.counter())) return;
  const std::string place =
      group.at() == nullptr ? launch_.kernel.name : lane::statement_place(launch_.kernel, *group.at());
  launch_.findings.add(
      {fault.code,
       fmt::format("{} (threadgroup {}, SIMD group {})", fault.message, group.threadgroup().index, group.index()),
       fault.hint, place});
}

}  // namespace lanefold::machine
