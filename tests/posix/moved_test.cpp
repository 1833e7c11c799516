// SPDX-License-Identifier: MIT OR Apache-2.0
// Objects that are moved in memory while nobody uses them (realloc, a vector of structs with a mutex each, memcpy):
// POSIX promises nothing, glibc's go on, and so programs do it. They were contended before and are after; what was
// there before is unmapped, or another object is made there.
//
// Shown able to fail: with slices_memory.c's take_over as it was, u-SCL's threads hang.
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "threads_and_processes.hpp"

namespace holdfast::test {
namespace {

struct objects {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    pthread_rwlock_t rwlock;
    pthread_spinlock_t spin;
    long permits, served;
};

void init(objects *o) {
    pthread_mutex_init(&o->mutex, nullptr);
    pthread_cond_init(&o->cond, nullptr);
    pthread_rwlock_init(&o->rwlock, nullptr);
    pthread_spin_init(&o->spin, PTHREAD_PROCESS_PRIVATE);
    o->permits = o->served = 0;
}

objects *place() {
    void *page = mmap(nullptr, sizeof(objects), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(page, MAP_FAILED);
    return static_cast<objects *>(page);
}

void use(objects *o, int rounds) {
    for (int round = 0; round < rounds; round++) {
        pthread_mutex_lock(&o->mutex);
        o->served++;
        if (round % 64 == 0)
            usleep(50);
        pthread_mutex_unlock(&o->mutex);
        if (round % 2 == 0)
            pthread_rwlock_rdlock(&o->rwlock);
        else
            pthread_rwlock_wrlock(&o->rwlock);
        if (round % 64 == 1)
            usleep(50);
        pthread_rwlock_unlock(&o->rwlock);
        pthread_spin_lock(&o->spin);
        pthread_spin_unlock(&o->spin);
    }
}

// One makes permits, one waits for them.
void hand_over(objects *o, int member, int rounds) {
    for (int round = 0; round < rounds; round++) {
        pthread_mutex_lock(&o->mutex);
        if (member == 0) {
            o->permits++;
            pthread_cond_signal(&o->cond);
        } else {
            while (o->permits == 0)
                pthread_cond_wait(&o->cond, &o->mutex);
            o->permits--;
        }
        pthread_mutex_unlock(&o->mutex);
    }
}

// Locks whose waiters do nothing but poll, in a queue, take a scheduler's turn for each section where CPUs are few.
bool waiters_only_poll() {
    for (const char *name : {"HOLDFAST_LOCK", "HOLDFAST_CONF"}) {
        const char *value = std::getenv(name);
        if (value && (std::strstr(value, "mcs") || std::strstr(value, "ticket")))
            return true;
    }
    return false;
}

constexpr int members = 4;
const int rounds = waiters_only_poll() ? 10 : 300;

// Contended, until all threads have gone.
void use_together(objects *o) {
    long before = o->served;
    {
        team all(members, [o](int) { use(o, rounds); });
    }
    EXPECT_EQ(o->served - before, members * rounds);
    team two(2, [o](int member) { hand_over(o, member, rounds); });
}

TEST(AMovedObject, GoesOnWhereItIs) {
    objects *o = place();
    init(o);
    use_together(o);
    for (int move = 0; move < 5; move++) {
        objects *to = place();
        std::memcpy(static_cast<void *>(to), o, sizeof(*o));
        munmap(o, sizeof(*o));
        o = to;
        use_together(o);
    }
}

TEST(AMovedObject, GoesOnBesideAnotherAtItsOldPlace) {
    objects *first = place(), *second = place();
    init(first);
    use_together(first);
    std::memcpy(static_cast<void *>(second), first, sizeof(*first));
    init(first);
    use_together(second);
    team both(2, [&](int member) { use_together(member ? first : second); });
}

// By threads that are there all the time, and have had its time before.
TEST(AMovedObject, GoesOnForThreadsThatKnowIt) {
    objects *o = place();
    init(o);
    std::atomic<int> arrived = 0, moves = 0;
    std::atomic<objects *> now = o;
    constexpr int all_moves = 10;
    team all(members, [&](int) {
        for (int move = 0; move < all_moves; move++) {
            use(now, rounds / 3);
            if (++arrived == members * (move + 1)) {
                objects *to = place();
                std::memcpy(static_cast<void *>(to), now, sizeof(*to));
                objects *from = now.exchange(to);
                if (move % 2)
                    init(from);
                else
                    munmap(from, sizeof(*from));
                moves++;
            }
            while (moves <= move)
                usleep(100);
        }
    });
}

} // namespace
} // namespace holdfast::test
