/* LANEFOLD_API marks what the shared library exports. Everything else in it is hidden. */
#ifndef LANEFOLD_EXPORT_H
#define LANEFOLD_EXPORT_H

#if defined(__GNUC__)
#define LANEFOLD_API __attribute__((visibility("default")))
#else
#define LANEFOLD_API
#endif

#endif
