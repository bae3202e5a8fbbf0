#include "bench/page/page_bundle.h"

#ifndef LANEFOLD_VEGA_BUNDLE
#error "LANEFOLD_VEGA_BUNDLE is the path of third_party/vega/vega_bundle.min.js, in quotes"
#endif

// Symbols of C have an underscore in front in Mach-O, and sections have other names there.
#ifdef __APPLE__
#define LANEFOLD_SYMBOL(name) "_" name
#define LANEFOLD_READ_ONLY ".section __TEXT,__const\n"
#define LANEFOLD_BACK ".text\n"
#else
#define LANEFOLD_SYMBOL(name) name
#define LANEFOLD_READ_ONLY ".pushsection .rodata.lanefold_vega,\"a\"\n"
#define LANEFOLD_BACK ".popsection\n"
#endif

// clang-format off
__asm__(LANEFOLD_READ_ONLY
        ".balign 16\n"
        ".globl " LANEFOLD_SYMBOL("lanefold_vega_begin") "\n"
        LANEFOLD_SYMBOL("lanefold_vega_begin") ":\n"
        ".incbin \"" LANEFOLD_VEGA_BUNDLE "\"\n"
        ".globl " LANEFOLD_SYMBOL("lanefold_vega_end") "\n"
        LANEFOLD_SYMBOL("lanefold_vega_end") ":\n"
        ".byte 0\n"
        LANEFOLD_BACK);
// clang-format on

extern "C" {
extern const char lanefold_vega_begin[];
extern const char lanefold_vega_end[];
}

namespace lanefold::bench {

std::string_view vega_bundle() {
  return {lanefold_vega_begin, static_cast<std::size_t>(lanefold_vega_end - lanefold_vega_begin)};
}

}  // namespace lanefold::bench
