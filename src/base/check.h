// SPDX-License-Identifier: MIT OR Apache-2.0
// Assertions. Each cites the invariant it checks; they are compiled into debug and sanitizer builds.
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
