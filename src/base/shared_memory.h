// SPDX-License-Identifier: MIT OR Apache-2.0
// Memory of a file that others map, too (a memfd), of which there is more the more is written. The kernel promises it
// to nobody: where it has none left (vm.overcommit_memory=2), a thread that stores first to a page is ended by SIGBUS.
#ifndef HF_BASE_SHARED_MEMORY_H
#define HF_BASE_SHARED_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/system_call.h"

// Is there memory behind this address, from now on if not before? The kernel ORs nothing to the word: it stores what
// stands there, in one step, so others may store to it meanwhile; and it answers EFAULT where a store would end us.
static inline bool hf_memory_is_there(void *address) {
    const uint32_t nobody_waits_here = 0;
    return hf_sys_futex_change(&nobody_waits_here, (uint32_t *)address, FUTEX_OP(FUTEX_OP_OR, 0, FUTEX_OP_CMP_EQ, 0)) >=
           0;
}

// No machine's pages are smaller, so where there is memory there is so much of it.
enum { HF_PAGE_BYTES = 4096 };

// No machine's pages are larger. Files are laid out in pieces of whole granules, so that each can be mapped by itself.
enum { HF_GRANULE_BYTES = 64 * 1024 };

// Maps so many bytes of the file from where a mapping of it ends that has at least a granule. So nobody need keep a
// descriptor, which the program may close, and use for something else. NULL: the kernel refuses, or a limit is reached.
static inline char *hf_map_what_follows(char *end, size_t bytes) {
    char *mapped = (char *)hf_sys_mremap_again(end - HF_GRANULE_BYTES, HF_GRANULE_BYTES + bytes);
    if (hf_mmap_error(mapped))
        return NULL;
    hf_sys_munmap(mapped, HF_GRANULE_BYTES); // that piece was there already
    return mapped + HF_GRANULE_BYTES;
}

#endif
