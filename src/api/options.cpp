#include "api/options.h"

#include <algorithm>
#include <thread>

#include <fmt/format.h>

#include "api/enumerators.h"
#include "api/failure.h"

namespace lanefold {
namespace api {
namespace {

constexpr unsigned kMostThreads = 1024;

void check_threads(unsigned threads) {
  if (threads > kMostThreads)
    fail({Code::number_invalid, fmt::format("{} threads are asked for", threads),
          fmt::format("use 1 to {}, or 0 for one per processor", kMostThreads), "threads"});
}

ir::Order internal_order(Order order) {
  switch (order) {
    case Order::canonical: return ir::Order::canonical;
    case Order::serial: return ir::Order::serial;
    case Order::free: return ir::Order::free;
  }
  refuse_enumerator<Order>(static_cast<int>(order));
}

bool has_cpu() { return verify::check_device("cpu").ok(); }

Device chosen(Device device) {
  switch (device) {
    case Device::automatic: return has_cpu() ? Device::cpu : Device::lane_machine;
    case Device::cpu:
      if (!has_cpu())
        fail({Code::device_missing, "there is no device cpu in this build, which has no JIT",
              "use Device::automatic, or build Lanefold with -DLANEFOLD_JIT=ON", "device"});
      return device;
    case Device::lane_machine:
    case Device::cuda: return device;
  }
  refuse_enumerator<Device>(static_cast<int>(device));
}

std::string_view name_of(Device device) {
  return device == Device::cuda ? "cuda" : device == Device::cpu ? "cpu" : "lane-machine";
}

}  // namespace

const std::shared_ptr<runtime::Executor>& PoolAccess::team(const Pool& pool) { return pool.implementation_->team; }

verify::DeviceOptions device_options(const Options& options) {
  check_threads(options.threads);
  if (options.pool && options.threads != 0)
    fail({Code::number_invalid,
          fmt::format("{} threads are asked for beside a pool, which has its own", options.threads),
          "leave threads at 0, or leave the pool out", "threads"});
  verify::DeviceOptions result;
  const Device device = chosen(options.device);
  result.device = name_of(device);
  if (options.cuda_device && device != Device::cuda)
    fail(
        {Code::option_not_for_kernel,
         fmt::format("CUDA device {} is asked for, of a kernel for the device {}", *options.cuda_device, result.device),
         "say Device::cuda, in C LANEFOLD_DEVICE_CUDA, too", "cuda_device"});
  result.order = internal_order(options.order);
  result.threads = options.threads;
  result.disk_cache = options.disk_cache;
  return result;
}

std::shared_ptr<runtime::Executor> team(const Options& options) {
  return options.pool ? PoolAccess::team(*options.pool) : nullptr;
}

}  // namespace api

Pool::Pool(unsigned threads) {
  api::check_threads(threads);
  if (threads == 0) threads = std::clamp(std::thread::hardware_concurrency(), 1u, api::kMostThreads);
  std::shared_ptr<runtime::Executor> team = verify::shared_team(threads);
  implementation_ =
      std::make_shared<const Implementation>(Implementation{.threads = team ? threads : 1, .team = std::move(team)});
}

unsigned Pool::threads() const { return implementation_->threads; }

}  // namespace lanefold
