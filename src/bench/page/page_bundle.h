// The plotting library that every report carries (third_party/vega).
#pragma once

#include <string_view>

namespace lanefold::bench {

/// The script that leaves `window.lanefoldVega` behind, as it stands in third_party/vega/vega_bundle.min.js. The build
/// says where that file is by LANEFOLD_VEGA_BUNDLE, and the assembler puts it into the library.
std::string_view vega_bundle();

}  // namespace lanefold::bench
