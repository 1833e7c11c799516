// SPDX-License-Identifier: MIT OR Apache-2.0
// A thread learns that it is a real-time one where the process expects any, and what the process expects is seen at
// its start.
//
// Shown able to fail: a constructor that does not look (both of StartedAs), hf_realtime_priority_asked that asks also
// when it is to remember.
#include <array>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern "C" {
#include "thread/realtime.h"
}

namespace {

constexpr const char *expects = "expects";

bool become(int policy, int priority) {
    sched_param parameters{.sched_priority = priority};
    return sched_setscheduler(0, policy, &parameters) == 0;
}

// This program, started again after `prepare` in a child, says whether real-time threads are expected.
template <class Prepare>
bool started_again_expects(Prepare prepare) {
    pid_t child = fork();
    if (child == 0) {
        prepare();
        execl("/proc/self/exe", "realtime_test", expects, nullptr);
        _exit(2);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) < 2);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(realtime, KnowsPolicies) {
    EXPECT_TRUE(hf_realtime_is_policy(SCHED_FIFO));
    EXPECT_TRUE(hf_realtime_is_policy(SCHED_RR | SCHED_RESET_ON_FORK));
    EXPECT_TRUE(hf_realtime_is_policy(6)); // SCHED_DEADLINE
    EXPECT_FALSE(hf_realtime_is_policy(SCHED_OTHER));
    EXPECT_FALSE(hf_realtime_is_policy(SCHED_BATCH | SCHED_RESET_ON_FORK));
    EXPECT_FALSE(hf_realtime_is_policy(SCHED_IDLE));
}

TEST(realtime, StartedAsAnOrdinaryThreadNoneAreExpected) {
    EXPECT_FALSE(started_again_expects([] {}));
}

TEST(realtime, StartedWithALimitToRealtimeThreadsTheyAreExpected) {
    EXPECT_TRUE(started_again_expects([] {
        rlimit limit{.rlim_cur = 200'000, .rlim_max = 200'000};
        setrlimit(RLIMIT_RTTIME, &limit);
    }));
}

// In a child: the parent goes on as it is.
TEST(realtime, AThreadIsAskedWhereTheyAreExpected) {
    pid_t child = fork();
    if (child == 0) {
        if (!become(SCHED_FIFO, 7))
            _exit(77);
        bool right = hf_realtime_priority() == 0;
        right = right && hf_realtime_priority_after_all() == 7 && hf_realtime_is_expected();
        right = right && hf_realtime_priority() == 7;
        right = right && become(SCHED_RR, 9) && hf_realtime_priority() == 9;
        hf_realtime_ask_no_more();
        right = right && become(SCHED_OTHER, 0) && hf_realtime_priority() == 9;
        _exit(right ? 0 : 1);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        GTEST_SKIP() << "no right to be a real-time thread";
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(realtime, StartedAsARealtimeThreadTheyAreExpected) {
    std::array<bool, 2> has_right{};
    for (int policy : {SCHED_FIFO, SCHED_RR}) {
        bool expected = started_again_expects([&] {
            if (!become(policy, 1))
                execl("/proc/self/exe", "realtime_test", "has no right", nullptr);
        });
        has_right[policy == SCHED_RR] = expected;
    }
    if (!become(SCHED_FIFO, 1))
        GTEST_SKIP() << "no right to be a real-time thread";
    EXPECT_TRUE(become(SCHED_OTHER, 0));
    EXPECT_TRUE(has_right[0] && has_right[1]);
}

} // namespace

int main(int argc, char **argv) {
    if (argc == 2 && argv[1] == std::string(expects))
        return hf_realtime_is_expected() ? 0 : 1;
    if (argc == 2 && argv[1] == std::string("has no right"))
        return 1;
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
