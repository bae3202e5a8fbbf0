// The numbers that a command gives a program by name: --option fixes one where the kernel is built, --set gives one to the run.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/instance_options.h"
#include "ir/program.h"

namespace lanefold::cli {

struct GivenNumber {
  std::size_t parameter = 0;  ///< of the declared program
  std::string name;
  float value = 0;
  bool when_built = false;  ///< an option, or a parameter that --option fixes
};

/// What --option and --set give the program as it is declared. Refuses names that it has not (unknown_parameter) or that are given
/// twice (assignment_repeated), and what is no number or none that the name can have (number_invalid): alike for both.
Result<std::vector<GivenNumber>> given_numbers(const ir::Program& declared, const SizeFlags& flags);

/// The parameters of a call to `program`, which is the declared one with what is fixed gone.
Result<std::vector<float>> parameter_values(const ir::Program& program, const ir::Program& declared,
                                            const SizeFlags& flags);

}  // namespace lanefold::cli
