// SPDX-License-Identifier: MIT OR Apache-2.0
// Exporting a function under glibc's name and version. A program's reference carries the version that it was linked
// against, and the dynamic linker binds it to ours only where that version matches: so each version that means the
// same function is exported, and none that means another one (the condition variables of before 2.3.2).
#ifndef HF_PRELOAD_SYMBOL_VERSION_H
#define HF_PRELOAD_SYMBOL_VERSION_H

// gcc may put a function elsewhere than the file's own assembly sees; the attribute knows where it is.
#define HF_EXPORT(function, name, version)                                                                             \
    extern __typeof__(function) hf_export_##name                                                                       \
        __attribute__((alias(#function), visibility("default"), symver(#name "@@" version)))

#define HF_EXPORT_TWICE(function, name, older, newer)                                                                  \
    extern __typeof__(function) hf_export_older_##name                                                                 \
        __attribute__((alias(#function), visibility("default"), symver(#name "@" older)));                             \
    HF_EXPORT(function, name, newer)

#endif
