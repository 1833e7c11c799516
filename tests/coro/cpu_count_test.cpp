// SPDX-License-Identifier: MIT OR Apache-2.0
// A pool polls, and lets locks poll, while it has several CPUs: as many as its workers may use now.
// Shown able to fail: with the CPUs that the pool was made with.
#include <chrono>
#include <filesystem>
#include <gtest/gtest.h>
#include <sched.h>
#include <string>
#include <thread>

#include "holdfast/coro/pool.hpp"
#include "holdfast/coro/spawn.hpp"

namespace {

using namespace holdfast::coro;

task<bool> polling_pays() {
    co_return current_context()->spinning_pays;
}

void wait_until_polling_pays(pool &workers, bool pays) {
    while (sync_wait(workers, polling_pays()) != pays)
        std::this_thread::sleep_for(std::chrono::milliseconds(1)); // the workers sleep meanwhile
}

void pin_all_threads_to(const cpu_set_t &cpus) {
    for (const auto &thread : std::filesystem::directory_iterator("/proc/self/task"))
        sched_setaffinity(std::stoi(thread.path().filename()), sizeof(cpus), &cpus);
}

TEST(CoroCpuCount, FollowsWhatTheWorkersMayUse) {
    cpu_set_t all, one;
    ASSERT_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
    if (CPU_COUNT(&all) < 2)
        GTEST_SKIP() << "needs two CPUs";
    if (std::filesystem::exists("/sys/devices/system/node/node1"))
        GTEST_SKIP() << "with several memory nodes workers stay at home";
    CPU_ZERO(&one);
    for (int cpu = 0; CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &all))
            CPU_SET(cpu, &one);
    pool workers(2);
    wait_until_polling_pays(workers, true);
    pin_all_threads_to(one);
    wait_until_polling_pays(workers, false);
    pin_all_threads_to(all);
    wait_until_polling_pays(workers, true);
}

} // namespace
