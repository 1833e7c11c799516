// SPDX-License-Identifier: MIT OR Apache-2.0
// Makes a peer of a class: of one with lock(), unlock() and maybe try_lock(), which zero bytes are a free object of.
#pragma once

#include "peers/peer.h"

namespace holdfast::bench {

template <class Lock>
constexpr hf_peer peer_of() {
    hf_peer made{};
    made.bytes = sizeof(Lock);
    made.lock = [](void *lock) { static_cast<Lock *>(lock)->lock(); };
    made.unlock = [](void *lock) { static_cast<Lock *>(lock)->unlock(); };
    if constexpr (requires(Lock &lock) { lock.try_lock(); })
        made.trylock = [](void *lock) -> bool { return static_cast<Lock *>(lock)->try_lock(); };
    if constexpr (requires { Lock::available(); })
        made.available = [] { return Lock::available(); };
    return made;
}

} // namespace holdfast::bench

// Once, at the end of the file bench/peers/<name>.cpp.
#define HF_PEER_IS(name, ...)                                                                                          \
    extern "C" const hf_peer hf_peer_##name;                                                                           \
    const hf_peer hf_peer_##name = holdfast::bench::peer_of<__VA_ARGS__>();
