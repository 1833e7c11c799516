// SPDX-License-Identifier: MIT OR Apache-2.0
// Test-and-test-and-set whose owner asks the kernel not to switch it out inside (park/slice_request.h; Linux 7.0 and
// later).
//
// On an older kernel nobody reads the request, and it is a plain test-and-test-and-set.
#include "base/cpu.h"
#include "holdfast/ttas.h"
#include "park/slice_request.h"
#include "peers/peer.hpp"

namespace holdfast::bench {
namespace {

class slice_extension {
public:
    static bool available() { return hf_slice_requests_are_heard(); }

    bool try_lock() {
        hf_slice_request();
        if (hf_ttas_trylock(&lock_)) {
            held++;
            return true;
        }
        done_unless_inside();
        return false;
    }

    // Waits without a request: a waiter has no right to its CPU.
    void lock() {
        while (!try_lock()) {
            while (hf_load_relaxed(&lock_.word) != 0)
                hf_pause();
        }
    }

    void unlock() {
        hf_ttas_unlock(&lock_);
        held--;
        done_unless_inside();
    }

private:
    static void done_unless_inside() {
        if (held == 0)
            hf_slice_done();
    }

    static inline thread_local unsigned held = 0; // locks nest
    hf_ttas_t lock_;
};

} // namespace
} // namespace holdfast::bench

HF_PEER_IS(slice_extension, holdfast::bench::slice_extension)
