// SPDX-License-Identifier: MIT OR Apache-2.0
// The ten spinlocks that Huang et al. measure busy-waiting detection with (HPDC '21, section 4.2), as programs have
// them: the interposer knows nothing of them but for POSIX's, and nobody counts their polls, since a loop that counts
// is no loop that only waits. Waiters of none of them ever sleep.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "peers/peer.h"

namespace holdfast::bench {

std::vector<std::string> spinlock_names();

class spinlock {
public:
    // Throws std::out_of_range where there is none of that name.
    explicit spinlock(const std::string &name);

    void lock() { kind_->lock(memory_.get()); }
    void unlock() { kind_->unlock(memory_.get()); }

private:
    struct free_memory {
        void operator()(void *memory) const noexcept;
    };
    const hf_peer *kind_;
    std::unique_ptr<void, free_memory> memory_;
};

} // namespace holdfast::bench
