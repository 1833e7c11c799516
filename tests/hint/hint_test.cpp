// SPDX-License-Identifier: MIT OR Apache-2.0
#include <cerrno>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread_cpus.hpp"
#include "hint/freshness.h"
#include "hint/hint.h"
#include "hint/registration.h"

namespace {

class hint : public testing::Test {
protected:
    hint() : page_(std::make_unique<hf_hint_page>()) {
        page_->version = HF_HINT_VERSION;
        page_->monitor_state = HF_MONITOR_ALIVE;
        page_->heartbeat_ns = in_an_hour_ns();
        hf_cpu_limit_millis = HF_NO_CPU_LIMIT; // the machine's may be less than a CPU
    }
    ~hint() override {
        hf_hint_listen_to(nullptr);
        hf_cpu_limit_millis = limit_;
    }

    // When a heart beats that is not to be late, however long this machine lets us wait.
    static uint64_t in_an_hour_ns() { return hf_monotonic_ns() + 3'600'000'000'000; }

    std::unique_ptr<hf_hint_page> page_;
    uint32_t limit_ = hf_cpu_limit_millis;
};

TEST_F(hint, WithoutAMonitorSpinningNeverPays) {
    hf_hint_listen_to(nullptr);
    EXPECT_FALSE(hf_spinning_pays());
    EXPECT_FALSE(hf_hint_has_monitor());
}

TEST_F(hint, SpinningPaysWhileNobodyCriticalIsPreempted) {
    hf_hint_listen_to(page_.get());
    EXPECT_TRUE(hf_spinning_pays());
    page_->scope[HF_SCOPE_MACHINE].preempted_critical_sections = 1;
    EXPECT_FALSE(hf_spinning_pays());
    page_->scope[HF_SCOPE_MACHINE].preempted_critical_sections = 0;
    EXPECT_TRUE(hf_spinning_pays());
}

TEST_F(hint, SpinningDoesNotPayWhereOthersWantTheCpu) {
    hf_hint_listen_to(page_.get());
    for (auto &cpu : page_->cpu)
        cpu.runnable = 1;
    EXPECT_TRUE(hf_spinning_pays());
    for (auto &cpu : page_->cpu)
        cpu.runnable = 2;
    EXPECT_FALSE(hf_spinning_pays());
}

// Shown able to fail: with hf_spinning_pays not asking; with a limit that one thread can't use up taken for one.
TEST_F(hint, SpinningDoesNotPayWhereThreadsCanUseUpALimit) {
    hf_self(); // the one thread that has a record
    hf_hint_listen_to(page_.get());
    hf_cpu_limit_millis = 1000;
    EXPECT_TRUE(hf_spinning_pays()) << "one thread, a limit of one CPU";
    hf_cpu_limit_millis = 999;
    EXPECT_FALSE(hf_spinning_pays());
    hf_cpu_limit_millis = HF_NO_CPU_LIMIT;
    EXPECT_TRUE(hf_spinning_pays());
}

TEST_F(hint, SpinningDoesNotPayInAStormOfSwitches) {
    hf_hint_listen_to(page_.get());
    EXPECT_FALSE(hf_is_in_switch_storm());
    page_->group[HF_GROUP_OF_ALL].left_alone_until_ns = 1;
    EXPECT_TRUE(hf_is_in_switch_storm());
    EXPECT_FALSE(hf_spinning_pays());
    page_->group[HF_GROUP_OF_ALL].left_alone_until_ns = 0;
    EXPECT_TRUE(hf_spinning_pays());
    hf_hint_listen_to(nullptr);
    EXPECT_FALSE(hf_is_in_switch_storm());
}

TEST_F(hint, AMonitorThatDiesInAStormOfSwitchesIsListenedToNoLonger) {
    hf_hint_listen_to(page_.get());
    page_->group[HF_GROUP_OF_ALL].left_alone_until_ns = 1;
    auto go_to_sleep_often = [] {
        for (int sleeps = 0; sleeps < 100; sleeps++)
            hf_hint_look_again();
    };
    go_to_sleep_often();
    EXPECT_TRUE(hf_is_in_switch_storm());
    page_->heartbeat_ns = 1;
    go_to_sleep_often();
    EXPECT_FALSE(hf_is_in_switch_storm());
    EXPECT_FALSE(hf_hint_has_monitor());
}

TEST_F(hint, TheCpusCompanyIsForeignWhereOthersWantItAndHadItLately) {
    uint64_t now_ns = hf_monotonic_ns();
    EXPECT_EQ(hf_cpu_contention(now_ns), HF_CPU_UNCONTENDED) << "without a monitor nobody knows";
    hf_hint_listen_to(page_.get());
    EXPECT_EQ(hf_cpu_contention(now_ns), HF_CPU_UNCONTENDED);
    for (auto &cpu : page_->cpu) {
        cpu.runnable = 2;
        cpu.shared_ns = now_ns;
    }
    EXPECT_EQ(hf_cpu_contention(now_ns), HF_CPU_FOREIGN);
    EXPECT_EQ(hf_cpu_contention(now_ns + HF_SHARED_CPU_NS), HF_CPU_OWN);
    EXPECT_EQ(hf_cpu_contention(now_ns - 1), HF_CPU_OWN) << "a clock behind the monitor's: not known";
    for (auto &cpu : page_->cpu)
        cpu.runnable = 1;
    EXPECT_EQ(hf_cpu_contention(now_ns), HF_CPU_UNCONTENDED) << "they have gone";
}

TEST_F(hint, CurrentCpuIsTheKernels) {
    auto before = holdfast::usable_cpus();
    ASSERT_TRUE(holdfast::stay_on({0}));
    EXPECT_EQ(hf_current_cpu(), 0u);
    holdfast::stay_on(before);
}

TEST_F(hint, AStaleHeartMeansThatNobodyIsThere) {
    hf_hint_listen_to(page_.get());
    EXPECT_TRUE(hf_hint_is_fresh());
    page_->heartbeat_ns = hf_monotonic_ns() - HF_HEARTBEAT_STALE_NS - 1;
    EXPECT_FALSE(hf_hint_is_fresh());
    EXPECT_FALSE(hf_spinning_pays()) << "it is not listened to any more";
}

TEST_F(hint, AHeartThatWasLateIsListenedToAgain) {
    hf_hint_listen_to(page_.get());
    page_->heartbeat_ns = hf_monotonic_ns() - HF_HEARTBEAT_STALE_NS - 1;
    EXPECT_FALSE(hf_hint_is_fresh());
    hf_hint_look_again();
    EXPECT_FALSE(hf_hint_has_monitor()) << "still late";
    page_->heartbeat_ns = in_an_hour_ns();
    hf_hint_look_again();
    EXPECT_TRUE(hf_hint_has_monitor());
    page_->heartbeat_ns = 0;
    EXPECT_FALSE(hf_hint_is_fresh());
    page_->monitor_state = HF_MONITOR_RETIRED;
    page_->heartbeat_ns = in_an_hour_ns();
    hf_hint_look_again();
    EXPECT_FALSE(hf_hint_has_monitor()) << "it has said goodbye";
    page_->monitor_state = HF_MONITOR_ALIVE;
    hf_hint_look_again();
    EXPECT_TRUE(hf_hint_has_monitor()) << "another one keeps the page now";
}

TEST_F(hint, ARetiredMonitorIsNotListenedTo) {
    hf_hint_listen_to(page_.get());
    page_->monitor_state = HF_MONITOR_RETIRED;
    EXPECT_FALSE(hf_hint_is_fresh());
    EXPECT_FALSE(hf_hint_has_monitor());
    hf_hint_look_again();
    EXPECT_FALSE(hf_hint_has_monitor());
    page_->monitor_state = HF_MONITOR_ALIVE; // its successor's
    hf_hint_look_again();
    EXPECT_TRUE(hf_hint_has_monitor());
}

TEST_F(hint, APageOfAnotherVersionIsRefused) {
    int fd = memfd_create("page", MFD_CLOEXEC);
    ASSERT_GE(fd, 0);
    page_->version = HF_HINT_VERSION + 1;
    ASSERT_EQ(write(fd, page_.get(), sizeof(*page_)), static_cast<ssize_t>(sizeof(*page_)));
    EXPECT_FALSE(hf_hint_listen(fd, HF_GROUP_OF_ALL));
    EXPECT_EQ(errno, EPROTO);
    page_->version = HF_HINT_VERSION;
    ASSERT_EQ(pwrite(fd, page_.get(), sizeof(*page_), 0), static_cast<ssize_t>(sizeof(*page_)));
    EXPECT_TRUE(hf_hint_listen(fd, HF_GROUP_OF_ALL));
    EXPECT_TRUE(hf_hint_has_monitor());
    close(fd);
}

TEST_F(hint, APageThatCannotBeMappedIsRefused) {
    EXPECT_FALSE(hf_hint_listen(-1, HF_GROUP_OF_ALL));
    EXPECT_EQ(errno, EBADF);
}

TEST(socket_address, TakesPathsAndAbstractNames) {
    sockaddr_un address{};
    EXPECT_EQ(hf_socket_address("", &address), 0u);
    EXPECT_EQ(hf_socket_address(std::string(200, 'x').c_str(), &address), 0u) << "too long";
    EXPECT_EQ(hf_socket_address("/run/x", &address), offsetof(sockaddr_un, sun_path) + 7);
    EXPECT_STREQ(address.sun_path, "/run/x");
    EXPECT_EQ(hf_socket_address("@x", &address), offsetof(sockaddr_un, sun_path) + 2);
    EXPECT_EQ(address.sun_path[0], '\0');
    EXPECT_EQ(address.sun_path[1], 'x');
}

} // namespace
