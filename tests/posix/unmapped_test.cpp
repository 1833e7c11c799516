// SPDX-License-Identifier: MIT OR Apache-2.0
// A mutex whose memory goes while threads wait for it until a deadline (dlclose, munmap). An error of the program that
// glibc's mutex survives: it does not look again after the time-out. Memory that comes again there is another mutex.
// Shown able to fail: hf_futex_is_there that always says yes (SIGSEGV under u-SCL).
#include <array>
#include <atomic>
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

pthread_mutex_t *mutex_at(void *place) {
    auto *mutex = static_cast<pthread_mutex_t *>(map_at(place));
    EXPECT_EQ(pthread_mutex_init(mutex, nullptr), 0);
    return mutex;
}

// Threads that sleep for a mutex whose owner is the caller, and whose memory has gone.
class sleeping {
public:
    sleeping() : mutex_(mutex_at(nullptr)) {
        EXPECT_EQ(pthread_mutex_lock(mutex_), 0);
        for (std::atomic<pid_t> &one : begun_)
            all_.add([this, &one] { wait(one); });
        for (std::atomic<pid_t> &one : begun_)
            EXPECT_TRUE(eventually([&] { return one && is_asleep(one); }));
        // A waiter that slept for a moment only looks at the mutex again.
        std::this_thread::sleep_for(std::chrono::milliseconds(500));
        munmap(mutex_, sizeof(*mutex_));
    }
    void *where() const { return mutex_; }
    void join() { all_.join(); }

    std::atomic<int> timed_out = 0, failed = 0;

private:
    void wait(std::atomic<pid_t> &self) {
        timespec at = from_now(CLOCK_REALTIME, 4000);
        self = gettid();
        int error = pthread_mutex_timedlock(mutex_, &at);
        if (error == ETIMEDOUT)
            timed_out++;
        else if (error == 0)
            pthread_mutex_unlock(mutex_);
        else
            failed++;
    }

    pthread_mutex_t *mutex_;
    std::array<std::atomic<pid_t>, waiters> begun_{};
    team all_;
};

TEST(AnUnmappedMutex, EndsWaitsAtTheirDeadlines) {
    sleeping those;
    those.join();
    EXPECT_EQ(those.timed_out, waiters);
}

TEST(AMutexWhereAnotherWas, MayBeHadByWaitersForThatOne) {
    sleeping those;
    pthread_mutex_t *mutex = mutex_at(those.where());
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
    those.join();
    EXPECT_EQ(those.failed, 0);
    EXPECT_EQ(pthread_mutex_destroy(mutex), 0);
    munmap(mutex, sizeof(*mutex));
}

} // namespace
} // namespace holdfast::test
