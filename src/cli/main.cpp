#include "cli/command_line.h"

int main(int count, char** arguments) { return lanefold::cli::run_command_line(count, arguments); }
