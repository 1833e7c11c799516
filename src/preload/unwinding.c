// SPDX-License-Identifier: MIT OR Apache-2.0
// What a cancelled thread unwinds our frames with, found when one does. The compiler refers to two functions of
// libgcc_s.so.1; a library that is preloaded and needs that keeps every program from starting where it is missing, as
// in a container that has only C programs.
//
//     the unwinder (glibc has loaded it for the cancellation, or the program for its exceptions)
//         -> __gcc_personality_v0 of ours -> libgcc_s's: which of our clean-ups is to run
//         -> the clean-up -> _Unwind_Resume of ours -> libgcc_s's, as a jump: it looks for its caller
//
// Both are the library's own (exports.map): nobody else sees them.
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <unwind.h>

#include "base/atomic.h"

typedef void *(*open_function)(const char *, int);
typedef void (*resume_function)(struct _Unwind_Exception *);
typedef _Unwind_Reason_Code (*personality_function)(int, _Unwind_Action, _Unwind_Exception_Class,
                                                    struct _Unwind_Exception *, struct _Unwind_Context *);

static uintptr_t resume, personality;

// Threads that come here together all find the same. The library is loaded, else nobody would be unwinding.
__attribute__((cold, noinline)) static void find(void) {
    open_function glibcs = (open_function)(uintptr_t)dlsym(RTLD_NEXT, "dlopen"); // NOLINT(performance-no-int-to-ptr)
    void *libgcc = glibcs("libgcc_s.so.1", RTLD_LAZY | RTLD_NOLOAD);
    void *scope = libgcc ? libgcc : RTLD_DEFAULT; // a program may bring its own, by another name
    uintptr_t found = (uintptr_t)dlsym(scope, "__gcc_personality_v0");
    hf_store_relaxed(&resume, (uintptr_t)dlsym(scope, "_Unwind_Resume"));
    hf_store_release(&personality, found); // pairs with the acquire below: then the other is there, too
    if (!found || !hf_load_relaxed(&resume))
        abort(); // as glibc does, without one
}

// NOLINTBEGIN(clang-diagnostic-reserved-identifier): the compiler's
_Unwind_Reason_Code __gcc_personality_v0(int version, _Unwind_Action actions, _Unwind_Exception_Class class,
                                         struct _Unwind_Exception *exception, struct _Unwind_Context *context) {
    if (!hf_load_acquire(&personality))
        find();
    personality_function libgccs = (personality_function)personality; // NOLINT(performance-no-int-to-ptr)
    return libgccs(version, actions, class, exception, context);
}

// The frame that resumes has been through the one above.
void _Unwind_Resume(struct _Unwind_Exception *exception) {
    resume_function libgccs = (resume_function)hf_load_relaxed(&resume); // NOLINT(performance-no-int-to-ptr)
    libgccs(exception);
}
// NOLINTEND(clang-diagnostic-reserved-identifier)
