// SPDX-License-Identifier: MIT OR Apache-2.0
// Test-and-test-and-set whose owner asks the kernel not to switch it out inside (Linux 7.0 and newer): it sets
// `request` in its rseq area before it takes the word. Where the kernel has let it run on past its slice, it finds
// that clear and `granted` set, and gives the CPU up as soon as it is out.
//
// On an older kernel nobody reads the request, and it is a plain test-and-test-and-set. Requests count: locks nest.
#include <cstdint>
#include <sys/rseq.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/cpu.h"
#include "base/slice_extension.h"
#include "holdfast/ttas.h"
#include "peers/peer.hpp"

namespace holdfast::bench {
namespace {

// Enabled for each thread by itself.
class thread_slice {
public:
    thread_slice() : enabled_(hf_slice_extension_enable()) {
        if (enabled_)
            control_ = reinterpret_cast<hf_slice_control *>(hf_thread_pointer() + __rseq_offset + HF_RSEQ_SLICE_OFFSET);
    }

    bool enabled() const { return enabled_; }

    void request() {
        if (depth_++ == 0) {
            hf_store_relaxed(&control_->request, std::uint8_t{1});
            hf_program_order();
        }
    }

    void no_more() {
        hf_program_order();
        if (--depth_ != 0)
            return;
        if (hf_exchange_relaxed(&control_->request, std::uint8_t{0}) == 0 && hf_load_relaxed(&control_->granted))
            syscall(HF_SYS_RSEQ_SLICE_YIELD);
    }

private:
    bool enabled_;
    unsigned depth_ = 0;
    hf_slice_control nobody_reads_{};
    hf_slice_control *control_ = &nobody_reads_;
};

thread_slice &own_slice() {
    thread_local thread_slice slice;
    return slice;
}

class slice_extension {
public:
    static bool available() { return own_slice().enabled(); }

    bool try_lock() {
        own_slice().request();
        if (hf_ttas_trylock(&lock_))
            return true;
        own_slice().no_more();
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
        own_slice().no_more();
    }

private:
    hf_ttas_t lock_;
};

} // namespace
} // namespace holdfast::bench

HF_PEER_IS(slice_extension, holdfast::bench::slice_extension)
