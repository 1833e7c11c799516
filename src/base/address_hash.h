// SPDX-License-Identifier: MIT OR Apache-2.0
// The place of an object in a table by its address.
#ifndef HF_BASE_ADDRESS_HASH_H
#define HF_BASE_ADDRESS_HASH_H

#include <stdint.h>

// `bits` of them, 1 to 63. The upper bits of a product with 2^64 over the golden ratio depend on all of the address,
// and neighbours come apart (Knuth, The Art of Computer Programming 6.4).
static inline uint64_t hf_address_hash(uint64_t address, unsigned bits) {
    return (address * 0x9e3779b97f4a7c15u) >> (64 - bits);
}

#endif
