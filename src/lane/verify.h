// The two halves of the verifier, for those who need one of them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "lane/module.h"

namespace lanefold::lane {

inline constexpr std::size_t kMaxValues = std::size_t{1} << 20;  ///< of one kernel or function
inline constexpr std::size_t kMaxDepth = 64;                     ///< of nested blocks
inline constexpr std::uint32_t kMaxThreads = 1024;
inline constexpr std::uint32_t kMaxSharedBytes = 1u << 20;
inline constexpr std::uint32_t kMaxVector = 64;  ///< elements of one load or store
inline constexpr std::uint32_t kMaxRoleIndex = 1023;
inline constexpr std::size_t kMaxAxes = 8;
inline constexpr std::int64_t kMaxExtent = std::int64_t{1} << 40;
inline constexpr std::uint32_t kMaxRegisters = 1u << 16;  ///< elements of all register arrays of a kernel

/// Names, indices, numbering, types and shapes: everything that makes a module safe to walk. Empty for a good one.
std::vector<Diagnostic> verify_structure(const Module& module);
/// The same for the functions and one kernel.
std::vector<Diagnostic> verify_structure(const Module& module, const Kernel& kernel);
/// Where loops, barriers and SIMD-group operations stand. Only for modules whose structure is good.
std::vector<Diagnostic> verify_control(const Module& module);

/// "kernel:3.else.2": statement 2 of the else block of statement 3, counting from 1.
std::string statement_place(std::string_view owner, std::string_view path);
/// The place of a statement of a kernel, found by its address.
std::string statement_place(const Kernel& kernel, const Statement& statement);

}  // namespace lanefold::lane
