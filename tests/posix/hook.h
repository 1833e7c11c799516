// SPDX-License-Identifier: MIT OR Apache-2.0
// For libraries that are preloaded besides Holdfast and hook functions, as tracers do. The file that includes this
// defines note_call(), which every hook calls first.
#ifndef HF_TESTS_POSIX_HOOK_H
#define HF_TESTS_POSIX_HOOK_H

#include <dlfcn.h>
#include <stdlib.h>

static void note_call(void);

static void *note_call_of(const char *name) {
    note_call();
    void *next = dlsym(RTLD_NEXT, name);
    if (!next)
        abort();
    return next;
}

#define HOOK(result, name, parameters, arguments)                                                                      \
    result name parameters {                                                                                           \
        result(*next) parameters;                                                                                      \
        *(void **)&next = note_call_of(#name);                                                                         \
        return next arguments;                                                                                         \
    }

#endif
