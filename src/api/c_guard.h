// The edge of the C ABI: exceptions become statuses and errors that the caller frees.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lanefold/c.h"
#include "lanefold/lanefold.h"

/// A kernel as C sees it: with its ports in C's words.
struct lanefold_kernel {
  lanefold::Kernel kernel;
  std::vector<lanefold_port> inputs, outputs;
  std::vector<lanefold_parameter> parameters;
};

struct lanefold_pool {
  lanefold::Pool pool;
};

namespace lanefold::api {

/// The status of the exception that is being handled; *error, where there is one, tells of it.
int32_t report_exception(lanefold_error** error) noexcept;

/// Runs an action at the edge.
template <class Action>
int32_t guarded(lanefold_error** error, Action&& action) noexcept {
  if (error) *error = nullptr;
  try {
    action();
    return LANEFOLD_OK;
  } catch (...) {
    return report_exception(error);
  }
}

/// Throws Error (bad_arguments) where a pointer that a function needs is null.
void need(const void* pointer, const char* name);

/// A string for the caller to free.
char* copy_text(const std::string& text);

}  // namespace lanefold::api
