// SPDX-License-Identifier: MIT OR Apache-2.0
// Assertions. Each cites the invariant that it checks, as "word.I1": the module that states it, and its number there.
// Debug and sanitizer builds have them.
#ifndef HF_BASE_CHECK_H
#define HF_BASE_CHECK_H

#ifdef HF_CHECKS
#include <stdio.h>
#include <stdlib.h>
#define HF_CHECK(invariant, condition)                                                                                 \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "holdfast: %s:%d: invariant %s broken: %s\n", __FILE__, __LINE__, invariant, #condition);  \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)
#else
#define HF_CHECK(invariant, condition) ((void)sizeof(!(condition)))
#endif

#endif
