// SPDX-License-Identifier: MIT OR Apache-2.0
// A u-SCL lock that has slices.
#pragma once

#include <thread>

#include "base/atomic.h"
#include "holdfast/uscl.h"

namespace holdfast::test {

// Two threads meet, so that the lock has slices from then on.
inline void contend(hf_uscl_t &lock) {
    hf_uscl_lock(&lock);
    std::thread other([&] {
        hf_uscl_lock(&lock);
        hf_uscl_unlock(&lock);
    });
    while (!hf_load_acquire(&lock.slices))
        std::this_thread::yield();
    hf_uscl_unlock(&lock);
    other.join();
}

} // namespace holdfast::test
