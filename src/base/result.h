// Result<T>: a value, or the diagnostic that says why there is none.
#pragma once

#include <utility>
#include <variant>

#include "base/diagnostic.h"

namespace lanefold {

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Diagnostic error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  /// The value; an internal error when there is none.
  T& value() & { return check(), std::get<0>(state_); }
  const T& value() const& { return check(), std::get<0>(state_); }
  T&& value() && { return check(), std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const Diagnostic& error() const { return std::get<1>(state_); }

 private:
  void check() const {
    if (!ok()) internal_error("value() of a failed result: " + error().text());
  }
  std::variant<T, Diagnostic> state_;
};

/// The outcome of an action that yields nothing.
using Status = Result<std::monostate>;
inline Status success() { return Status(std::monostate{}); }

}  // namespace lanefold

#define LANEFOLD_CONCAT_(a, b) a##b
#define LANEFOLD_CONCAT(a, b) LANEFOLD_CONCAT_(a, b)
/// LANEFOLD_TRY(auto x, expression): declares x from a Result, or returns its diagnostic from the current function.
#define LANEFOLD_TRY(declaration, ...)                                                        \
  auto LANEFOLD_CONCAT(result_, __LINE__) = (__VA_ARGS__);                                    \
  if (!LANEFOLD_CONCAT(result_, __LINE__)) return LANEFOLD_CONCAT(result_, __LINE__).error(); \
  declaration = std::move(LANEFOLD_CONCAT(result_, __LINE__)).value()
/// Returns the diagnostic of a failed Status from the current function.
#define LANEFOLD_CHECK(...) \
  if (auto lanefold_status_ = (__VA_ARGS__); !lanefold_status_) return lanefold_status_.error()
