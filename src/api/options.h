// Options and pools of the facade, as the house below knows them.
#pragma once

#include <memory>

#include "lanefold/lanefold.h"
#include "verify/device.h"
#include "verify/team.h"

namespace lanefold {

struct [[gnu::visibility("hidden")]] Pool::Implementation {
  unsigned threads = 1;
  std::shared_ptr<runtime::Executor> team;  ///< null in a build without the JIT
};

namespace api {

/// Who may look into a Pool.
struct PoolAccess {
  static const std::shared_ptr<runtime::Executor>& team(const Pool& pool);
};

/// Throws Error where an option has no meaning, or asks for what this build lacks.
verify::DeviceOptions device_options(const Options& options);
/// The pool's threads, or null: a kernel without a pool has threads of its own.
std::shared_ptr<runtime::Executor> team(const Options& options);

}  // namespace api
}  // namespace lanefold
