// The processor's name, as the system tells it.
#pragma once

#include <string>
#include <string_view>

namespace lanefold::driver {

/// The model of this machine's processor, else its architecture; empty where the system tells neither. Looked for once.
const std::string& processor_name();

/// The first "model name" in the text of /proc/cpuinfo; empty where it has none. The part of processor_name that reads, for tests.
std::string model_name(std::string_view cpuinfo);

}  // namespace lanefold::driver
