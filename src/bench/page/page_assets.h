// What stands in every page: its style, and the script that draws the charts.
#pragma once

#include <string_view>

namespace lanefold::bench {

std::string_view page_style();
/// Draws each figure once it comes into view, from the JSON within it, with the library of page_bundle.h.
std::string_view page_script();

}  // namespace lanefold::bench
