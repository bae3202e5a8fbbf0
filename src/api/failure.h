// Diagnostics on their way out: what a user did wrong leaves the library as an exception.
#pragma once

#include <utility>

#include "base/result.h"

namespace lanefold::api {

/// Throws the diagnostic as lanefold::Error.
[[noreturn]] void fail(const Diagnostic& diagnostic);

/// The value of a result, or its diagnostic as an exception.
template <class T>
T value_or_fail(Result<T> result) {
  if (!result) fail(result.error());
  return std::move(result).value();
}

}  // namespace lanefold::api
