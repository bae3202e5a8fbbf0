// Proof: two kernels run on symbols, and every output byte compared as an expression.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "verify/instance.h"
#include "verify/module_inputs.h"

namespace lanefold::verify {

enum class Verdict : std::uint8_t {
  equal,      ///< every output byte is the same expression, so the bytes are equal for all inputs
  different,  ///< some output byte is another expression
  not_provable,  ///< an address, trip count or barrier depends on data; a kernel is faulty; or only a NaN's payload may differ
};
std::string_view verdict_name(Verdict verdict);

/// Contents of the input buffers on which stored bytes differ: what fill_inputs makes of them, so that anybody can make them again.
struct Witness {
  Pattern pattern = Pattern::plain;
  std::uint64_t seed = 0;
  std::string output;
  std::int64_t element = 0;
  std::string a, b;  ///< the elements as text
};

struct Proof {
  Verdict verdict = Verdict::equal;
  std::string reason;            ///< not_provable
  std::string output;            ///< different: the first output that is
  std::int64_t element = 0;      ///< in it
  std::string a, b;              ///< both expressions
  std::string a_inner, b_inner;  ///< where they first differ, seen from their roots
  std::optional<Witness> witness;
  std::vector<std::string> parts;  ///< what was proved: "threadgroup 0", "row 17"
  std::int64_t all_parts = 0;      ///< of so many
  std::uint64_t outputs = 0;       ///< output elements compared
  std::uint64_t expressions = 0;   ///< made for it
};

struct ProveOptions {
  bool all = false;        ///< all rows or threadgroups instead of the first, the last and one between
  bool launches = true;    ///< first run both whole launches on numbers: a race between threadgroups shows only there
  std::uint64_t seed = 1;  ///< chooses that one, and the order in which SIMD groups run
  int witness_tries = 24;  ///< inputs that are tried where expressions differ
};

/// Refuses kernels whose buffers differ in name, type, size, or in whether they are stored to (prove_buffers_differ).
Status check_same_buffers(const Instance& a, const Instance& b);

/// What was proved: "rows 0, 17, 63 of 64", "all 64 rows", "the whole launch".
std::string parts_text(const Proof& proof);

/// Compares two instances over the same buffers. Refuses kernels whose buffers differ in name, type or shape (prove_buffers_differ).
Result<Proof> prove(const Instance& a, const Instance& b, const ProveOptions& options = {});

/// Compares an instance of a row program with the program's own meaning in the order of its plan.
Result<Proof> prove_canonical(const Instance& a, const ProveOptions& options = {});

}  // namespace lanefold::verify
