// SPDX-License-Identifier: MIT OR Apache-2.0
// A hint that changes all the time, for tests of how locks wait.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

#include "base/clock.h"
#include "hint/hint.h"

namespace holdfast::test {

// A hint page of our own that changes its mind all the time.
class mode_changes {
public:
    mode_changes() : page_(new hf_hint_page{}) { // never freed: waiters may remember it
        page_->version = HF_HINT_VERSION;
        page_->monitor_state = HF_MONITOR_ALIVE;
        hf_store_relaxed(&page_->heartbeat_ns, hf_monotonic_ns());
        hf_hint_listen_to(page_);
        thread_ = std::thread([this] {
            while (!stop_) {
                hf_store_relaxed(&page_->heartbeat_ns, hf_monotonic_ns());
                hf_store_relaxed(&page_->scope[HF_SCOPE_MACHINE].preempted_critical_sections, changes_++ % 2);
                share_cpus(changes_ % 4 < 2 ? 1 : 2);
                std::this_thread::sleep_for(std::chrono::microseconds(changes_ % 7 ? 20 : 300));
            }
        });
    }
    ~mode_changes() {
        stop_ = true;
        thread_.join();
        hf_hint_listen_to(nullptr);
    }
    unsigned long changes() const { return changes_; }

private:
    void share_cpus(std::uint32_t runnable) {
        for (unsigned cpu = 0; cpu < std::thread::hardware_concurrency() && cpu < HF_HINT_CPUS; cpu++) {
            hf_store_relaxed(&page_->cpu[cpu].runnable, runnable);
            hf_store_relaxed(&page_->cpu[cpu].shared_ns, changes_ % 16 < 8 ? hf_monotonic_ns() : 0);
        }
    }

    hf_hint_page *page_;
    std::atomic<bool> stop_ = false;
    std::atomic<unsigned long> changes_ = 0;
    std::thread thread_;
};

} // namespace holdfast::test
