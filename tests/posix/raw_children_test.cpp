// SPDX-License-Identifier: MIT OR Apache-2.0
// Children that the program makes by the system call itself, past fork, vfork and pthread_create: no handler runs, the
// child keeps its maker's thread-local storage (no CLONE_SETTLS), and nothing of it is cleared at its end (no
// CLONE_CHILD_CLEARTID). As sandboxes, checkpointers and runtimes of other languages make them.
//
// Shown able to fail: with a hf_word_trylock_own that stores plainly counts are lost.
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <linux/sched.h>
#include <memory>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

#include "threads_and_processes.hpp"

namespace holdfast::test {
namespace {

enum class how { libcs_Fork, raw_clone };

pid_t make_child(how made) {
    return made == how::libcs_Fork ? _Fork() : static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
}

// The child ends with 0 if the body says so.
template <class Body>
pid_t begin_child(how made, Body body) {
    pid_t child = make_child(made);
    if (child == 0)
        _exit(body() ? 0 : 1);
    return child;
}

constexpr how ways[] = {how::libcs_Fork, how::raw_clone};

struct all_objects {
    pthread_mutex_t normal = PTHREAD_MUTEX_INITIALIZER, recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
                    errorcheck = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP,
                    adaptive = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
    pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
    pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
    pthread_spinlock_t spin;

    all_objects() { pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE); }
    std::vector<pthread_mutex_t *> mutexes() { return {&normal, &recursive, &errorcheck, &adaptive}; }

    // By who holds none.
    bool work() {
        timespec long_ago = {.tv_sec = 1, .tv_nsec = 0};
        for (pthread_mutex_t *mutex : mutexes()) {
            int locked = pthread_mutex_lock(mutex);
            int waited = pthread_cond_timedwait(&cond, mutex, &long_ago); // 0: woken by another thread
            if (pthread_mutex_unlock(mutex) != 0 || locked != 0 || (waited != ETIMEDOUT && waited != 0))
                return false;
        }
        return pthread_cond_broadcast(&cond) == 0 && pthread_rwlock_rdlock(&rwlock) == 0 &&
               pthread_rwlock_unlock(&rwlock) == 0 && pthread_rwlock_wrlock(&rwlock) == 0 &&
               pthread_rwlock_unlock(&rwlock) == 0 && pthread_spin_lock(&spin) == 0 && pthread_spin_unlock(&spin) == 0;
    }
};

// A mutex and so many condition variables, which are waited for until a time long ago.
struct many_conditions {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    std::vector<pthread_cond_t> conds = std::vector<pthread_cond_t>(512, pthread_cond_t(PTHREAD_COND_INITIALIZER));

    bool work() {
        timespec long_ago = {.tv_sec = 1, .tv_nsec = 0};
        bool all_ended = true;
        for (pthread_cond_t &cond : conds) {
            pthread_mutex_lock(&mutex);
            all_ended = pthread_cond_timedwait(&cond, &mutex, &long_ago) == ETIMEDOUT && all_ended;
            pthread_mutex_unlock(&mutex);
            all_ended = pthread_cond_signal(&cond) == 0 && all_ended;
        }
        return all_ended;
    }
};

// The child uses none of those objects that they use.
TEST(raw_fork, AChildHasLocksWhateverItsParentsThreadsWereAboutTo) {
    std::vector<many_conditions> theirs(3);
    auto own_conditions = std::make_unique<many_conditions>();
    auto own = std::make_unique<all_objects>();
    std::atomic<bool> stop = false;
    team others(3, [&](int member) {
        while (!stop)
            theirs[member].work();
    });
    for (int round = 0; round < 30; round++) {
        for (how made : ways) {
            pid_t child = begin_child(made, [&] { return own->work() && own_conditions->work(); });
            ASSERT_EQ(status_of(child), 0);
        }
    }
    stop = true;
}

// The child is the thread that has made it, by all that libc knows.
TEST(raw_fork, AChildHasWhatItsMakerHeld) {
    auto all = std::make_unique<all_objects>();
    for (pthread_mutex_t *mutex : all->mutexes())
        ASSERT_EQ(pthread_mutex_lock(mutex), 0);
    ASSERT_EQ(pthread_mutex_lock(&all->recursive), 0);
    ASSERT_EQ(pthread_rwlock_wrlock(&all->rwlock), 0);
    // Not errorcheck and recursive ones after _Fork, which gives libc's thread the child's number.
    pid_t child = begin_child(how::raw_clone, [&] {
        bool is_owner = pthread_mutex_unlock(&all->recursive) == 0;
        for (pthread_mutex_t *mutex : all->mutexes())
            is_owner = is_owner && pthread_mutex_unlock(mutex) == 0;
        return is_owner && pthread_rwlock_unlock(&all->rwlock) == 0 && all->work();
    });
    EXPECT_EQ(status_of(child), 0);
    child = begin_child(how::libcs_Fork, [&] {
        return pthread_mutex_unlock(&all->normal) == 0 && pthread_mutex_unlock(&all->adaptive) == 0 &&
               pthread_mutex_lock(&all->normal) == 0 && pthread_mutex_unlock(&all->normal) == 0;
    });
    EXPECT_EQ(status_of(child), 0);
}

// A child's own threads meet at locks that were free.
TEST(raw_fork, AChildsThreadsMeet) {
    static all_objects all;
    all.work();
    for (how made : ways) {
        pid_t child = begin_child(made, [] {
            long count = 0;
            {
                team own(3, [&](int) {
                    for (int turn = 0; turn < 300; turn++) {
                        pthread_mutex_lock(&all.normal);
                        pthread_rwlock_wrlock(&all.rwlock);
                        count++;
                        if (turn % 50 == 0)
                            sched_yield();
                        pthread_rwlock_unlock(&all.rwlock);
                        pthread_mutex_unlock(&all.normal);
                        all.work();
                    }
                });
            }
            return count == 900;
        });
        EXPECT_EQ(status_of(child), 0);
    }
}

// Two processes, one of them made so, meet at what is process-shared.
TEST(raw_fork, ParentAndChildMeetAtSharedObjects) {
    struct shared {
        pthread_mutex_t mutex;
        pthread_spinlock_t spin;
        long count;
    };
    for (how made : ways) {
        shared_with_children<shared> there;
        pthread_mutexattr_t attributes;
        pthread_mutexattr_init(&attributes);
        pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
        pthread_mutex_init(&there->mutex, &attributes);
        pthread_spin_init(&there->spin, PTHREAD_PROCESS_SHARED);
        auto count = [&] {
            for (int turn = 0; turn < 20000; turn++) {
                pthread_mutex_lock(&there->mutex);
                pthread_spin_lock(&there->spin);
                there->count++;
                pthread_spin_unlock(&there->spin);
                pthread_mutex_unlock(&there->mutex);
            }
            return true;
        };
        pid_t child = begin_child(made, count);
        count();
        EXPECT_EQ(status_of(child), 0);
        EXPECT_EQ(there->count, 40000);
    }
}

// A task with a stack of its own that has its maker's memory and thread-local storage. Ends by itself.
class task {
public:
    using body = void (*)(void *);

    task(int flags, body function, void *argument) : function_(function), argument_(argument) {
        id_ = clone(run, stack_.get() + stack_bytes, flags, this);
    }
    pid_t id() const { return id_; }

private:
    static constexpr std::size_t stack_bytes = 256 * 1024;
    static int run(void *self) {
        static_cast<task *>(self)->function_(static_cast<task *>(self)->argument_);
        syscall(SYS_exit, 0);
        return 0;
    }
    std::unique_ptr<char[]> stack_ = std::make_unique<char[]>(stack_bytes);
    body function_;
    void *argument_;
    pid_t id_ = -1;
};

struct counted {
    all_objects all;
    long by_mutex = 0, by_rwlock = 0;
    std::atomic<int> ended = 0;

    void run(int turns) {
        for (int turn = 0; turn < turns; turn++) {
            pthread_mutex_lock(&all.normal);
            by_mutex++;
            if (turn % 512 == 0)
                sched_yield();
            pthread_mutex_unlock(&all.normal);
            pthread_rwlock_wrlock(&all.rwlock);
            by_rwlock++;
            pthread_rwlock_unlock(&all.rwlock);
        }
        ended++;
    }
};
// Few where waiters poll in turn: on a busy machine each has to be given a CPU.
bool hands_over_in_turn() {
    for (const char *variable : {"HOLDFAST_LOCK", "HOLDFAST_CONF"}) {
        const char *value = std::getenv(variable);
        if (value && (std::strstr(value, "ticket") || std::strstr(value, "mcs") || std::strstr(value, "ttas")))
            return true;
    }
    return false;
}
const int turns = hands_over_in_turn() ? 400 : 30'000;
void run_turns(void *object) {
    static_cast<counted *>(object)->run(turns);
}

// Its maker waits meanwhile, and other threads use the same locks.
TEST(task_without_own_storage, LocksWhileItsMakerWaits) {
    for (int flags :
         {CLONE_VM | SIGCHLD, CLONE_VM | CLONE_VFORK | SIGCHLD, CLONE_VM | CLONE_FS | CLONE_FILES | SIGCHLD}) {
        auto both = std::make_unique<counted>();
        team others(2, [&](int) { both->run(turns); });
        task made(flags, run_turns, both.get());
        ASSERT_GT(made.id(), 0);
        EXPECT_EQ(status_of(made.id()), 0);
        others.join();
        EXPECT_EQ(both->by_mutex, 3 * turns);
        EXPECT_EQ(both->by_rwlock, 3 * turns);
        EXPECT_TRUE(both->all.work());
    }
}

// A thread of the process for the kernel, not for libc: its end is said by itself alone.
TEST(task_without_own_storage, IsAThreadWhoseEndNobodyIsTold) {
    auto both = std::make_unique<counted>();
    constexpr int as_thread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
    task made(as_thread, run_turns, both.get());
    ASSERT_GT(made.id(), 0);
    {
        team others(2, [&](int) { both->run(turns); });
    }
    EXPECT_TRUE(eventually([&] { return both->ended == 3; }));
    EXPECT_EQ(both->by_mutex, 3 * turns);
    EXPECT_EQ(both->by_rwlock, 3 * turns);
    EXPECT_TRUE(eventually([&] { return syscall(SYS_tgkill, getpid(), made.id(), 0) != 0; }));
    EXPECT_TRUE(both->all.work());
}

} // namespace
} // namespace holdfast::test
