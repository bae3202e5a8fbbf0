// The command as a whole: finds the verb, runs it, and turns what happens into text and an exit status.
#pragma once

namespace lanefold::cli {

/// Exit statuses.
inline constexpr int kSuccess = 0;
inline constexpr int kFailedCheck = 1;
inline constexpr int kUserError = 2;
inline constexpr int kNotProvable = 3;
inline constexpr int kInternalError = 70;

/// Runs the command line and returns the exit status. Throws nothing.
int run_command_line(int count, char** arguments);

}  // namespace lanefold::cli
