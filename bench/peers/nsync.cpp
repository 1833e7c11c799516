// SPDX-License-Identifier: MIT OR Apache-2.0
// nsync_mu. Zero bytes are a free one (NSYNC_MU_INIT).
#include <nsync.h>

#include "peers/peer.hpp"

namespace {

struct nsync_mutex {
    nsync::nsync_mu mutex;

    void lock() { nsync::nsync_mu_lock(&mutex); }
    bool try_lock() { return nsync::nsync_mu_trylock(&mutex); }
    void unlock() { nsync::nsync_mu_unlock(&mutex); }
};

} // namespace

HF_PEER_IS(nsync, nsync_mutex)
