// SPDX-License-Identifier: MIT OR Apache-2.0
// absl::Mutex, of zero bytes as its constant-initialised constructor leaves them.
#include <absl/synchronization/mutex.h>

#include "peers/peer.hpp"

namespace {

struct absl_mutex {
    absl::Mutex mutex;

    void lock() ABSL_NO_THREAD_SAFETY_ANALYSIS { mutex.Lock(); }
    bool try_lock() ABSL_NO_THREAD_SAFETY_ANALYSIS { return mutex.TryLock(); }
    void unlock() ABSL_NO_THREAD_SAFETY_ANALYSIS { mutex.Unlock(); }
};

} // namespace

HF_PEER_IS(absl, absl_mutex)
