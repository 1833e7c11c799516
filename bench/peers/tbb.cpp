// SPDX-License-Identifier: MIT OR Apache-2.0
// tbb::queuing_mutex. Its scoped_lock, which is the waiter's place in the queue, lies in one of our nodes and is kept
// in the lock, since lock and unlock come as two calls here.
#include <oneapi/tbb/queuing_mutex.h>

#include "peers/peer.hpp"
#include "peers/waiter_queue.hpp"

namespace {

class tbb_queuing_mutex {
public:
    void lock() {
        scope *place = take();
        place->acquire(mutex_);
        owner_ = place;
    }

    bool try_lock() {
        scope *place = take();
        if (!place->try_acquire(mutex_)) {
            give(place);
            return false;
        }
        owner_ = place;
        return true;
    }

    void unlock() {
        scope *place = owner_;
        place->release();
        give(place);
    }

private:
    using scope = tbb::queuing_mutex::scoped_lock;
    static_assert(sizeof(scope) <= sizeof(hf_queue_node));

    static scope *take() { return new (hf_queue_node_take()) scope; }
    static void give(scope *place) {
        place->~scope();
        holdfast::bench::give_node(place);
    }

    tbb::queuing_mutex mutex_;
    scope *owner_;
};

} // namespace

HF_PEER_IS(tbb, tbb_queuing_mutex)
