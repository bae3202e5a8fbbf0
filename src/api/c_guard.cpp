#include "api/c_guard.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include <fmt/format.h>

#include "api/failure.h"

namespace lanefold::api {
namespace {

// Given where there is no memory for anything else, and never freed.
lanefold_error no_memory = {LANEFOLD_OUT_OF_MEMORY, 0, "", "out_of_memory", "memory ran out", "", ""};

/// An error with its strings in one piece of memory behind it; `no_memory` where there is none left.
lanefold_error* make_error(int32_t status, const char* code, const char* name, const char* message, const char* hint,
                           const char* place) noexcept {
  const char* const texts[] = {code, name, message, hint, place};
  std::size_t bytes = sizeof(lanefold_error);
  for (const char* text : texts) bytes += std::strlen(text) + 1;
  auto* memory = static_cast<char*>(std::malloc(bytes));
  if (!memory) return &no_memory;
  char* at = memory + sizeof(lanefold_error);
  const auto keep = [&](const char* text) {
    const std::size_t length = std::strlen(text) + 1;
    std::memcpy(at, text, length);
    at += length;
    return static_cast<const char*>(at - length);
  };
  // In the order of the fields.
  return new (memory) lanefold_error{status, 0, keep(code), keep(name), keep(message), keep(hint), keep(place)};
}

}  // namespace

int32_t report_exception(lanefold_error** error) noexcept {
  const auto tell = [&](int32_t status, const char* code, const char* name, const char* message, const char* hint,
                        const char* place) {
    if (error) *error = make_error(status, code, name, message, hint, place);
    return status;
  };
  try {
    throw;
  } catch (const Error& e) {
    return tell(LANEFOLD_USER_ERROR, e.code().c_str(), e.name().c_str(), e.what(), e.hint().c_str(), e.place().c_str());
  } catch (const std::bad_alloc&) {
    if (error) *error = &no_memory;
    return LANEFOLD_OUT_OF_MEMORY;
  } catch (const std::exception& e) {
    return tell(LANEFOLD_INTERNAL_ERROR, "", "internal_error", e.what(), "please report this", "");
  } catch (...) {
    return tell(LANEFOLD_INTERNAL_ERROR, "", "internal_error", "an unknown exception", "please report this", "");
  }
}

void need(const void* pointer, const char* name) {
  if (!pointer)
    fail({Code::bad_arguments, fmt::format("the argument {} is a null pointer", name), "give a valid pointer", name});
}

char* copy_text(const std::string& text) {
  auto* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (!copy) throw std::bad_alloc();
  std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

}  // namespace lanefold::api

void lanefold_error_free(lanefold_error* error) {
  if (error != &lanefold::api::no_memory) std::free(error);
}

void lanefold_string_free(char* text) { std::free(text); }
