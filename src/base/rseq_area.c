// SPDX-License-Identifier: MIT OR Apache-2.0
#include "base/rseq_area.h"

#include <stddef.h>
#include <sys/auxv.h>
#include <sys/rseq.h>

#include "base/atomic.h"
#include "base/system_call.h"

// Weak for a glibc that is older than 2.35.
extern const unsigned int __rseq_size __attribute__((weak));
extern const ptrdiff_t __rseq_offset __attribute__((weak));

enum {
    HF_RSEQ_FIRST_BYTES = 32, // of an area that has no room for what came later
    HF_RSEQ_UNREGISTER = 1,
    HF_AT_RSEQ_FEATURE_SIZE = 27,
    HF_AT_RSEQ_ALIGN = 28,
};

static __thread struct hf_rseq_area own_area __attribute__((tls_model("initial-exec")));
static __thread bool has_own_area __attribute__((tls_model("initial-exec")));

struct hf_rseq_area *hf_rseq_area_of_glibc(void) {
    bool registers = &__rseq_size != NULL && __rseq_size != 0;
    return HF_LIKELY(registers) ? (struct hf_rseq_area *)(hf_thread_pointer() + __rseq_offset) : NULL;
}

struct hf_rseq_area *hf_own_rseq_area(void) {
    return has_own_area ? &own_area : hf_rseq_area_of_glibc();
}

static bool register_area(struct hf_rseq_area *area, unsigned long bytes) {
    return hf_sys_rseq(area, (uint32_t)bytes, 0, RSEQ_SIG) == 0;
}

bool hf_rseq_area_enlarge(void) {
    struct hf_rseq_area *glibcs = hf_rseq_area_of_glibc();
    // libc's own function: the vector that it reads was there before the program.
    unsigned long wanted = getauxval(HF_AT_RSEQ_FEATURE_SIZE), alignment = getauxval(HF_AT_RSEQ_ALIGN);
    if (has_own_area || !glibcs || wanted <= HF_RSEQ_FIRST_BYTES || wanted > sizeof(own_area) ||
        alignment > _Alignof(struct hf_rseq_area))
        return false;
    // glibc registers none for a thread that was made by one which has exchanged its own.
    bool registered = hf_load_relaxed(&glibcs->cpu_id) < HF_RSEQ_NO_CPU;
    if (registered && hf_sys_rseq(glibcs, HF_RSEQ_FIRST_BYTES, HF_RSEQ_UNREGISTER, RSEQ_SIG) != 0)
        return false;
    has_own_area = register_area(&own_area, wanted);
    if (registered && !has_own_area)
        register_area(glibcs, HF_RSEQ_FIRST_BYTES);
    return has_own_area;
}
