// SPDX-License-Identifier: MIT OR Apache-2.0
// Memory for small things that are never given back to the kernel, without malloc, which may be the caller.
#ifndef HF_BASE_CHUNK_H
#define HF_BASE_CHUNK_H

#include <stddef.h>

#include "base/system_call.h"

enum { HF_CHUNK_BYTES = 64 * 1024 };

// What is left of the chunk that was asked for last. Zero at first.
struct hf_chunk {
    char *rest;
    size_t left;
};

// Zeroed, aligned to a cache line if `bytes` always is; NULL without memory. At most HF_CHUNK_BYTES; one thread at a
// time.
static inline void *hf_chunk_carve(struct hf_chunk *chunk, size_t bytes) {
    if (chunk->left < bytes) {
        void *fresh = hf_map_memory(HF_CHUNK_BYTES);
        if (!fresh)
            return NULL;
        *chunk = (struct hf_chunk){.rest = fresh, .left = HF_CHUNK_BYTES};
    }
    void *carved = chunk->rest;
    chunk->rest += bytes;
    chunk->left -= bytes;
    return carved;
}

#endif
