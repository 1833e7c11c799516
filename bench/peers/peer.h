// SPDX-License-Identifier: MIT OR Apache-2.0
// What a peer, a lock to compare ours with, has to offer. Each is in a file of its own, named for it, which defines
// hf_peer_<name>; C++ ones do so with peer.hpp.
#ifndef HF_BENCH_PEERS_PEER_H
#define HF_BENCH_PEERS_PEER_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

// All zero: left out of this build.
struct hf_peer {
    size_t bytes; // a free lock is that many zero bytes, aligned to a cache line
    void (*lock)(void *lock);
    bool (*trylock)(void *lock); // NULL: it can't be tried
    void (*unlock)(void *lock);
    bool (*available)(void); // NULL: always
};

#ifdef __cplusplus
}
#endif

#endif
