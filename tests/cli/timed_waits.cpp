// SPDX-License-Identifier: MIT OR Apache-2.0
// Threads that wait in each way that POSIX has, and measure for how long. Says "ready"; begins when it reads a line,
// for the seconds that it is told; then prints each kind's name and the seconds waited, "done", and stays until its
// standard input ends. Waits end by sleeps of others, so that a busy machine makes them longer and no different. There
// those others wait, too: for a lock whose next owner has no CPU, or at the barrier. That is measured as well.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <pthread.h>
#include <semaphore.h>
#include <thread>
#include <unistd.h>

pthread_mutex_t timed_mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_rwlock_t timed_rwlock = PTHREAD_RWLOCK_INITIALIZER;
pthread_mutex_t mutex_of_condition = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t timed_condition = PTHREAD_COND_INITIALIZER;
bool condition_holds = false;
sem_t timed_semaphore;
pthread_barrier_t timed_barrier;

namespace {

constexpr useconds_t wait_us = 20'000, apart_us = 2'000;
std::atomic<bool> over = false;

// Of all threads that wait in one way, together.
class stopwatch {
public:
    template <class Wait>
    void time(const Wait &wait) {
        auto begun = std::chrono::steady_clock::now();
        wait();
        waited_ns_ += std::chrono::nanoseconds(std::chrono::steady_clock::now() - begun).count();
    }
    double seconds() const { return static_cast<double>(waited_ns_) / 1e9; }

private:
    std::atomic<std::int64_t> waited_ns_ = 0;
};

// Its end is not waited for in a join, of which there is a figure.
class helper {
public:
    template <class Function>
    explicit helper(const Function &function)
        : thread_([this, function] {
              while (!told_to_end_)
                  function();
              has_ended_ = true;
          }) {}
    void end() {
        told_to_end_ = true;
        while (!has_ended_)
            usleep(1000);
        thread_.join();
    }

private:
    std::atomic<bool> told_to_end_ = false, has_ended_ = false;
    std::thread thread_;
};

// Waits for a lock that another thread holds most of the time.
template <class Lock, class Unlock>
void wait_for_lock(const Lock &lock, const Unlock &unlock, stopwatch &watch) {
    helper holder([&] {
        watch.time(lock);
        usleep(wait_us);
        unlock();
        usleep(apart_us);
    });
    while (!over) {
        watch.time(lock);
        unlock();
        usleep(apart_us / 2);
    }
    holder.end();
}

void wait_for_mutex(stopwatch &watch) {
    wait_for_lock([] { pthread_mutex_lock(&timed_mutex); }, [] { pthread_mutex_unlock(&timed_mutex); }, watch);
}

void wait_for_rwlock(stopwatch &watch) {
    wait_for_lock([] { pthread_rwlock_wrlock(&timed_rwlock); }, [] { pthread_rwlock_unlock(&timed_rwlock); }, watch);
}

void wait_for_condition(stopwatch &watch) {
    helper signaller([] {
        usleep(wait_us);
        pthread_mutex_lock(&mutex_of_condition);
        condition_holds = true;
        pthread_mutex_unlock(&mutex_of_condition);
        pthread_cond_signal(&timed_condition);
    });
    while (!over) {
        pthread_mutex_lock(&mutex_of_condition);
        watch.time([] {
            while (!condition_holds)
                pthread_cond_wait(&timed_condition, &mutex_of_condition);
        });
        condition_holds = false;
        pthread_mutex_unlock(&mutex_of_condition);
    }
    signaller.end();
}

void wait_for_semaphore(stopwatch &watch) {
    helper poster([] {
        usleep(wait_us);
        sem_post(&timed_semaphore);
    });
    while (!over) {
        watch.time([] {
            while (sem_wait(&timed_semaphore) != 0)
                ;
        });
    }
    poster.end();
}

void wait_for_barrier(stopwatch &watch) {
    std::atomic<bool> last = false; // written before, read after a meeting: both leave in the same round
    auto meet = [&watch] { watch.time([] { pthread_barrier_wait(&timed_barrier); }); };
    std::thread late([&last, &meet] {
        bool is_last = false;
        while (!is_last) {
            usleep(wait_us);
            meet();
            is_last = last;
            meet();
        }
    });
    while (!last) {
        last = over.load();
        meet();
        meet();
    }
    late.join();
}

void wait_for_threads(stopwatch &watch) {
    while (!over) {
        std::thread slow([] { usleep(wait_us); });
        watch.time([&slow] { slow.join(); });
    }
}

} // namespace

int main(int argc, char **argv) {
    using waits = void (*)(stopwatch &);
    struct kind {
        const char *name;
        waits wait;
        stopwatch watch{};
    };
    double seconds = argc > 1 ? atof(argv[1]) : 1;
    sem_init(&timed_semaphore, 0, 0);
    pthread_barrier_init(&timed_barrier, nullptr, 2);
    kind kinds[] = {{"timed_mutex", wait_for_mutex},         {"timed_rwlock", wait_for_rwlock},
                    {"timed_condition", wait_for_condition}, {"timed_semaphore", wait_for_semaphore},
                    {"timed_barrier", wait_for_barrier},     {"join", wait_for_threads}};
    puts("ready");
    fflush(stdout);
    if (getchar() == EOF)
        return 1;
    std::atomic<std::size_t> ended = 0;
    for (kind &each : kinds) {
        std::thread([&each, &ended] {
            each.wait(each.watch);
            ended++;
        }).detach();
    }
    usleep(static_cast<useconds_t>(seconds * 1e6));
    over = true;
    while (ended < std::size(kinds))
        usleep(1000);
    for (const kind &each : kinds)
        printf("%s %.4f\n", each.name, each.watch.seconds());
    puts("done");
    fflush(stdout);
    while (getchar() != EOF)
        ;
    _exit(0);
}
