// SPDX-License-Identifier: MIT OR Apache-2.0
// Libraries that a program loads while it runs, and that reach glibc's functions past an interposer
// (preload/deepbind.c).
//
// Shown able to fail: dlopen called instead of jumped to (its caller's RUNPATH is not looked through); one of the other
// names not exported.
// New objects that stay Holdfast's: ALibraryThatIsBoundToGlibcSharesWhatIsMadeLater hangs. Condition variables that
// stay Holdfast's, waiters that are not woken when they do not, or a number left in one that has none:
// ALibraryThatIsBoundToGlibcSharesConditionVariables fails after a minute. Barriers with words of their own:
// ALibraryThatIsBoundToGlibcMeetsAtBarriers hangs.
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <mutex>
#include <pthread.h>
#include <sched.h>
#include <string>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <ucontext.h>
#include <unistd.h>
#include <vector>

#include "first_versions.h"

namespace {

constexpr const char *plugin = "libbinding_plugin.so"; // in this program's RUNPATH, and nowhere else

template <typename Function>
Function *find(void *library, const char *name) {
    Function *function = nullptr;
    *reinterpret_cast<void **>(&function) = dlsym(library, name);
    EXPECT_NE(function, nullptr) << name;
    return function;
}

TEST(binding, LibrariesAreLookedForWhereTheirLoaderSays) {
    void *library = dlopen(plugin, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    EXPECT_EQ(dlclose(library), 0);
    EXPECT_EQ(dlopen("libbinding_nowhere.so", RTLD_NOW), nullptr);
    EXPECT_NE(std::string(dlerror()).find("libbinding_nowhere.so"), std::string::npos);
    void *again = dlmopen(LM_ID_BASE, plugin, RTLD_NOW);
    ASSERT_NE(again, nullptr) << dlerror();
    EXPECT_EQ(dlclose(again), 0);
}

// A crowd that is woken in vain again and again, and goes: Holdfast remembers that.
void wake_in_vain(std::mutex &mutex, std::condition_variable &condition) {
    constexpr int rounds = 10;
    bool ends = false;
    int waiting = 0;
    std::vector<std::thread> crowd;
    for (int i = 0; i < 3; i++)
        crowd.emplace_back([&] {
            std::unique_lock<std::mutex> lock(mutex);
            while (!ends) {
                waiting++;
                condition.wait(lock);
            }
        });
    for (int round = 1; round <= rounds; round++) {
        std::unique_lock<std::mutex> lock(mutex);
        while (waiting < 3 * round) {
            lock.unlock();
            std::this_thread::yield();
            lock.lock();
        }
        ends = round == rounds;
        condition.notify_all();
    }
    for (std::thread &member : crowd)
        member.join();
}

// Two threads that wait for each other, in turns.
struct pair_in_turns {
    std::mutex mutex;
    std::condition_variable changed;
    std::atomic<int> turns = 0;
    bool ends = false;
    std::thread sides[2];

    pair_in_turns() {
        for (int side : {0, 1})
            sides[side] = std::thread([this, side] {
                std::unique_lock<std::mutex> lock(mutex);
                while (!ends) {
                    changed.wait(lock, [&] { return ends || turns % 2 == side; });
                    turns++;
                    changed.notify_one();
                }
            });
    }

    void await(int more) {
        for (int before = turns; turns < before + more;)
            usleep(200);
    }

    void end() {
        {
            std::lock_guard<std::mutex> guard(mutex);
            ends = true;
        }
        changed.notify_all();
        for (std::thread &side : sides)
            side.join();
    }
};

// In children, each of which goes over once, while nobody has yet in this process. Shown able to fail: all condition
// variables left at once, not one by one.
TEST(binding, ConditionVariablesGoOverWhileTheyAreUsed) {
    for (int child = 0; child < 12; child++) {
        pid_t pid = fork();
        if (pid == 0) {
            alarm(600);
            pair_in_turns pairs[2];
            for (pair_in_turns &pair : pairs)
                pair.await(20);
            if (!dlopen(plugin, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND))
                _exit(1);
            for (pair_in_turns &pair : pairs)
                pair.await(20);
            for (pair_in_turns &pair : pairs)
                pair.end();
            _exit(0);
        }
        int status = -1;
        waitpid(pid, &status, 0);
        ASSERT_EQ(status, 0) << "child " << child;
    }
}

// Used before such a library is loaded, which comes first to one; and one that a thread waits for then. (The first test
// that loads one so, since what a process has gone over to it keeps.)
TEST(binding, ALibraryThatIsBoundToGlibcSharesConditionVariables) {
    std::mutex mutex;
    std::condition_variable waited_for, used;
    int awaited = 0, seen_error = -1;
    wake_in_vain(mutex, used);
    bool begun = false;
    std::thread waiter([&] {
        std::unique_lock<std::mutex> lock(mutex);
        begun = true;
        waited_for.wait(lock, [&] { return awaited != 0; });
        awaited = 1;
        waited_for.notify_one();
    });
    auto waits = [&] {
        std::lock_guard<std::mutex> guard(mutex);
        return begun;
    };
    while (!waits())
        std::this_thread::yield();

    void *library = dlopen(plugin, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    ASSERT_NE(library, nullptr) << dlerror();
    auto *wait_for = find<int(int *, pthread_mutex_t *, pthread_cond_t *)>(library, "binding_plugin_wait_for");
    EXPECT_EQ(wait_for(&awaited, mutex.native_handle(), waited_for.native_handle()), 0) << "one side was not woken";
    waiter.join();

    int value = 0;
    std::thread comes_first([&] { seen_error = wait_for(&value, mutex.native_handle(), used.native_handle()); });
    std::unique_lock<std::mutex> lock(mutex);
    used.wait(lock, [&] { return value == -1; });
    value = 1;
    used.notify_all();
    lock.unlock();
    comes_first.join();
    EXPECT_EQ(seen_error, 0) << "it was not woken";
}

// One side takes the mutex by the functions that the program has, the other one by glibc's.
TEST(binding, ALibraryThatIsBoundToGlibcSharesMutexes) {
    void *library = dlopen(plugin, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    ASSERT_NE(library, nullptr) << dlerror();
    EXPECT_NE(std::string(find<const char *()>(library, "binding_plugin_finds_lock_in")()).find("libc.so"),
              std::string::npos)
        << "else this tests nothing";
    auto *count = find<void(pthread_mutex_t *, long *, int)>(library, "binding_plugin_count");
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    long value = 0;
    constexpr int times = 300'000;
    std::thread bound_to_glibc([&] { count(&mutex, &value, times); });
    for (int i = 0; i < times; i++) {
        pthread_mutex_lock(&mutex);
        ++value;
        pthread_mutex_unlock(&mutex);
    }
    bound_to_glibc.join();
    EXPECT_EQ(value, 2L * times);
    EXPECT_EQ(pthread_mutex_destroy(&mutex), 0);
}

#if defined(__x86_64__) // it has a trap flag
// The owner goes step by step through its unlock; before one of them the other thread falls asleep for the mutex, by
// glibc's functions.
struct {
    long count, stops_before;
    std::atomic<long> begins = -1, has_had_it = -1; // rounds, of the other
    std::atomic<pid_t> other = 0;
    bool has_stopped;
} steps;

bool other_sleeps_for_mutex() {
    char where[64] = {};
    int file = open(("/proc/self/task/" + std::to_string(steps.other) + "/wchan").c_str(), O_RDONLY | O_CLOEXEC);
    ssize_t bytes = read(file, where, sizeof(where) - 1);
    close(file);
    return bytes > 0 && std::strstr(where, "futex");
}

void step(int, siginfo_t *, void *context) {
    if (steps.count++ != steps.stops_before)
        return;
    static_cast<ucontext_t *>(context)->uc_mcontext.gregs[REG_EFL] &= ~0x100;
    steps.has_stopped = true;
    steps.begins = steps.stops_before;
    while (steps.has_had_it != steps.stops_before && !other_sleeps_for_mutex())
        sched_yield();
}

inline __attribute__((always_inline)) void begin_steps() {
    asm volatile("pushfq\n orq $0x100, (%%rsp)\n popfq" ::: "memory", "cc");
}
inline __attribute__((always_inline)) void end_steps() {
    asm volatile("pushfq\n andq $~0x100, (%%rsp)\n popfq" ::: "memory", "cc");
}

// True if it was woken; it is in any case.
bool other_gets_it(pthread_mutex_t *mutex) {
    auto patience_ends = std::chrono::steady_clock::now() + std::chrono::minutes(10);
    while (steps.has_had_it != steps.stops_before && std::chrono::steady_clock::now() < patience_ends)
        usleep(100);
    bool was_woken = steps.has_had_it == steps.stops_before;
    while (steps.has_had_it != steps.stops_before)
        syscall(SYS_futex, mutex, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    return was_woken;
}

// Shown able to fail: deepbind.c without hf_sleepers_may_be_uncounted, under FlexGuard.
TEST(binding, ASleeperThatNobodyCountsIsWokenWheneverItFellAsleep) {
    void *library = dlopen(plugin, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    ASSERT_NE(library, nullptr) << dlerror();
    auto *count = find<void(pthread_mutex_t *, long *, int)>(library, "binding_plugin_count");
    struct sigaction action {};
    action.sa_sigaction = step;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGTRAP, &action, nullptr);
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    long value = 0, rounds = 0;
    std::atomic<bool> ends = false;
    std::thread other([&] {
        steps.other = gettid();
        for (long round = 0; !ends; usleep(50)) {
            if (steps.begins != round)
                continue;
            count(&mutex, &value, 1);
            steps.has_had_it = round++;
        }
    });
    while (steps.other == 0)
        sched_yield();
    do {
        for (int i = 0; i < 1000; i++) { // without contention, so that an unlock may store plainly
            pthread_mutex_lock(&mutex);
            pthread_mutex_unlock(&mutex);
        }
        steps.count = 0;
        steps.stops_before = rounds;
        steps.has_stopped = false;
        pthread_mutex_lock(&mutex);
        begin_steps();
        pthread_mutex_unlock(&mutex);
        end_steps();
        if (steps.has_stopped)
            EXPECT_TRUE(other_gets_it(&mutex)) << "asleep before step " << rounds;
        rounds++;
    } while (steps.has_stopped && !HasFailure());
    EXPECT_GT(rounds, 10);
    ends = true;
    other.join();
}
#endif

// Made and used before such a library is loaded. Every second thread comes by glibc's functions, and is waited for by
// the one that destroys the barrier by the program's.
TEST(binding, ALibraryThatIsBoundToGlibcMeetsAtBarriers) {
    constexpr int rounds = 5000;
    pthread_barrier_t all, pairs;
    ASSERT_EQ(pthread_barrier_init(&all, nullptr, 4), 0);
    ASSERT_EQ(pthread_barrier_init(&pairs, nullptr, 2), 0);
    auto meet_here = [](pthread_barrier_t *barrier, int times) {
        int told = 0;
        for (int round = 0; round < times; round++)
            told += pthread_barrier_wait(barrier) == PTHREAD_BARRIER_SERIAL_THREAD;
        return told;
    };
    {
        std::thread other([&] { meet_here(&pairs, 3); });
        meet_here(&pairs, 3);
        other.join();
    }
    void *library = dlopen(plugin, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    ASSERT_NE(library, nullptr) << dlerror();
    auto *meet_there = find<int(pthread_barrier_t *, int)>(library, "binding_plugin_meet");
    for (pthread_barrier_t *barrier : {&all, &pairs}) {
        std::atomic<int> told = 0;
        std::vector<std::thread> members;
        for (int i = 0; i < (barrier == &all ? 4 : 2); i++)
            members.emplace_back([&, i] { told += i % 2 ? meet_here(barrier, rounds) : meet_there(barrier, rounds); });
        for (std::thread &member : members)
            member.join();
        EXPECT_EQ(told, rounds);
        EXPECT_EQ(pthread_barrier_destroy(barrier), 0);
    }
    for (int round = 0; round < 300; round++) {
        auto *own = new pthread_barrier_t;
        pthread_barrier_init(own, nullptr, 2);
        std::thread there([&, own] { meet_there(own, 1); });
        meet_here(own, 1);
        EXPECT_EQ(pthread_barrier_destroy(own), 0); // which waits until the other one is out
        std::memset(own, 0xff, sizeof(*own));
        there.join();
        delete own;
    }
}

// What is made after such a library was loaded: each side waits for the other, both ways.
TEST(binding, ALibraryThatIsBoundToGlibcSharesWhatIsMadeLater) {
    void *library = dlopen(plugin, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    ASSERT_NE(library, nullptr) << dlerror();
    auto *wait_for = find<int(int *, pthread_mutex_t *, pthread_cond_t *)>(library, "binding_plugin_wait_for");
    auto *hold =
        find<void(pthread_rwlock_t *, pthread_barrier_t *, pthread_barrier_t *)>(library, "binding_plugin_hold");
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t cond;
    ASSERT_EQ(pthread_cond_init(&cond, nullptr), 0);
    int value = 0, error = -1;
    std::thread waiter([&] { error = wait_for(&value, &mutex, &cond); });
    pthread_mutex_lock(&mutex);
    while (value == 0)
        pthread_cond_wait(&cond, &mutex);
    value = 1;
    pthread_cond_signal(&cond);
    pthread_mutex_unlock(&mutex);
    waiter.join();
    EXPECT_EQ(error, 0) << "it was not woken";
    EXPECT_EQ(pthread_cond_destroy(&cond), 0);

    pthread_rwlock_t rwlock;
    pthread_barrier_t begins, ends;
    ASSERT_EQ(pthread_rwlock_init(&rwlock, nullptr), 0);
    ASSERT_EQ(pthread_barrier_init(&begins, nullptr, 2), 0);
    ASSERT_EQ(pthread_barrier_init(&ends, nullptr, 2), 0);
    std::thread holder([&] { hold(&rwlock, &begins, &ends); });
    pthread_barrier_wait(&begins);
    EXPECT_EQ(pthread_rwlock_tryrdlock(&rwlock), EBUSY);
    pthread_barrier_wait(&ends);
    EXPECT_EQ(pthread_rwlock_rdlock(&rwlock), 0);
    holder.join();
    EXPECT_EQ(pthread_rwlock_unlock(&rwlock), 0);
    EXPECT_EQ(pthread_rwlock_destroy(&rwlock), 0);
    pthread_barrier_destroy(&begins);
    pthread_barrier_destroy(&ends);
}

std::string library_of(const char *function) {
    void *address = dlvsym(RTLD_DEFAULT, function, FIRST_VERSION);
    Dl_info where{};
    return address && dladdr(address, &where) ? where.dli_fname : std::string("nowhere: ") + function;
}

TEST(binding, OtherNamesLeadToTheSameLibrary) {
    for (const char *function : {"mutex_destroy", "mutex_init", "mutex_lock", "mutex_trylock", "mutex_unlock"}) {
        std::string name = std::string("pthread_") + function;
        EXPECT_EQ(library_of(("__" + name).c_str()), library_of(name.c_str()));
    }
}

} // namespace
