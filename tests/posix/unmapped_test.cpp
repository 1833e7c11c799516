// SPDX-License-Identifier: MIT OR Apache-2.0
// A mutex whose memory goes while threads wait for it until a deadline (dlclose, munmap). An error of the program that
// glibc's mutex survives: it does not look again after the time-out. Memory that comes again there is another mutex.
// Shown able to fail: hf_futex_is_there that always says yes (SIGSEGV under u-SCL).
#include <cerrno>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>

#include "deadline.hpp"
#include "threads_and_processes.hpp"

namespace holdfast::test {
namespace {

constexpr int waiters = 3;

void *map_at(void *place) {
    void *page = mmap(place, sizeof(pthread_mutex_t), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | (place ? MAP_FIXED : 0), -1, 0);
    EXPECT_NE(page, MAP_FAILED);
    return page;
}

// Sleep for the mutex, which the caller holds.
struct sleeping {
    team all;
    std::atomic<int> begun = 0, timed_out = 0, failed = 0;

    explicit sleeping(pthread_mutex_t *mutex) {
        for (int i = 0; i < waiters; i++)
            all.add([this, mutex] {
                begun++;
                timespec at = from_now(CLOCK_REALTIME, 1500);
                int error = pthread_mutex_timedlock(mutex, &at);
                if (error == ETIMEDOUT)
                    timed_out++;
                else if (error == 0)
                    pthread_mutex_unlock(mutex);
                else
                    failed++;
            });
        EXPECT_TRUE(eventually([this] { return begun == waiters; }));
        std::this_thread::sleep_for(std::chrono::milliseconds(500));
    }
};

TEST(AnUnmappedMutex, EndsWaitsAtTheirDeadlines) {
    auto *mutex = static_cast<pthread_mutex_t *>(map_at(nullptr));
    pthread_mutex_init(mutex, nullptr);
    pthread_mutex_lock(mutex);
    sleeping those(mutex);
    munmap(mutex, sizeof(*mutex));
    those.all.join();
    EXPECT_EQ(those.timed_out, waiters);
}

TEST(AMutexWhereAnotherWas, MayBeHadByThoseWhoWaitedForThatOne) {
    auto *mutex = static_cast<pthread_mutex_t *>(map_at(nullptr));
    pthread_mutex_init(mutex, nullptr);
    pthread_mutex_lock(mutex);
    sleeping those(mutex);
    munmap(mutex, sizeof(*mutex));
    map_at(mutex);
    pthread_mutex_init(mutex, nullptr);
    int inside = 0;
    {
        team users(2, [&](int) {
            for (int i = 0; i < 20'000; i++) {
                pthread_mutex_lock(mutex);
                inside++;
                pthread_mutex_unlock(mutex);
            }
        });
    }
    EXPECT_EQ(inside, 40'000);
    those.all.join();
    EXPECT_EQ(those.failed, 0);
    EXPECT_EQ(pthread_mutex_destroy(mutex), 0);
    munmap(mutex, sizeof(*mutex));
}

} // namespace
} // namespace holdfast::test
