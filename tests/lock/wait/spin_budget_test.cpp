// SPDX-License-Identifier: MIT OR Apache-2.0
// Shown able to fail: a budget that is not renewed, that is renewed without progress, and that is renewed for ever.
#include <gtest/gtest.h>
#include <memory>

#include "base/clock.h"
#include "lock/wait/spin_budget.h"

namespace {

constexpr int polls = 100;

class budget : public testing::Test {
protected:
    budget() : page_(std::make_unique<hf_hint_page>()) {
        page_->version = HF_HINT_VERSION;
        page_->monitor_state = HF_MONITOR_ALIVE;
        page_->heartbeat_ns = hf_monotonic_ns() + 3'600'000'000'000; // is not late, however long this machine waits
        hf_hint_listen_to(page_.get());
    }
    ~budget() override { hf_hint_listen_to(nullptr); }

    // Polls until there is none left, or for long; `progress` happens after each.
    template <class Progress>
    static int polls_of(hf_spin_budget budget, Progress progress) {
        int count = 0;
        while (count < 1'000'000 && hf_spin_budget_lasts(&budget, 1))
            progress(++count);
        return count;
    }

    std::unique_ptr<hf_hint_page> page_;
    uint16_t releases_ = 7;
};

TEST_F(budget, EndsWithoutProgress) {
    hf_spin_budget without_progress{};
    without_progress.polls_left = polls;
    EXPECT_EQ(polls_of(without_progress, [](int) {}), polls);
    EXPECT_EQ(polls_of(hf_spin_budget_of(polls, &releases_), [](int) {}), polls);
}

TEST_F(budget, CountsFromTheLastProgressOn) {
    EXPECT_EQ(polls_of(hf_spin_budget_of(polls, &releases_), [&](int count) { releases_ += count == 10; }), 2 * polls);
    EXPECT_EQ(polls_of(hf_spin_budget_of(polls, &releases_), [&](int count) { releases_ += count <= 1010; }),
              12 * polls);
}

TEST_F(budget, EndsEvenWithProgress) {
    EXPECT_EQ(polls_of(hf_spin_budget_of(polls, &releases_), [&](int) { releases_++; }),
              (1 + HF_SPIN_BUDGET_RENEWALS) * polls);
}

TEST_F(budget, EndsWhenSpinningDoesNotPay) {
    EXPECT_EQ(polls_of(hf_spin_budget_of(polls, &releases_),
                       [&](int count) { page_->scope[HF_SCOPE_MACHINE].preempted_critical_sections = count == 5; }),
              5);
}

TEST_F(budget, EndsWhenTheMonitorHasDied) {
    page_->heartbeat_ns = hf_monotonic_ns() - 2 * HF_HEARTBEAT_STALE_NS;
    EXPECT_LE(polls_of(hf_spin_budget_of(1 << 14, &releases_), [&](int) { releases_++; }),
              2 * HF_SPIN_BUDGET_FRESHNESS_POLLS);
}

} // namespace
