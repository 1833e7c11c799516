// SPDX-License-Identifier: MIT OR Apache-2.0
// The C library's spinlock: one word, for which all waiters race.
#include <cstdint>
#include <pthread.h>

#include "base/atomic.h"
#include "base/cpu.h"
#include "peers/peer.hpp"

namespace holdfast::bench {
namespace {

class pthread_spin {
public:
    void lock() { pthread_spin_lock(made()); }
    bool try_lock() { return pthread_spin_trylock(made()) == 0; }
    void unlock() { pthread_spin_unlock(&lock_); }

private:
    enum : std::uint32_t { zero, being_made, is_made };

    // Zero bytes are no lock of POSIX's.
    pthread_spinlock_t *made() {
        if (hf_load_acquire(&state_) == is_made)
            return &lock_;
        if (hf_cas_relaxed(&state_, std::uint32_t{zero}, std::uint32_t{being_made})) {
            pthread_spin_init(&lock_, PTHREAD_PROCESS_PRIVATE);
            hf_store_release(&state_, std::uint32_t{is_made});
        }
        while (hf_load_acquire(&state_) != is_made) // pairs with the release above
            hf_pause();
        return &lock_;
    }

    std::uint32_t state_;
    pthread_spinlock_t lock_;
};

} // namespace
} // namespace holdfast::bench

HF_PEER_IS(pthread_spin, holdfast::bench::pthread_spin)
