// SPDX-License-Identifier: MIT OR Apache-2.0
// The rest of a process's life: locks before main and after it, forks, other programs, libraries that come and go, many
// threads, exits, signals, symbol versions.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <dlfcn.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <mutex>
#include <pthread.h>
#include <shared_mutex>
#include <spawn.h>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "first_versions.h"
#include "threads_and_processes.hpp"

namespace holdfast::test {
namespace {

// A constructor that locks, before the libraries' later ones have run.
std::mutex before_main;
long locked_before_main = 0;
__attribute__((constructor(101))) void lock_before_main() {
    std::lock_guard guard(before_main);
    locked_before_main++;
}

TEST(constructor, MayLock) {
    std::lock_guard guard(before_main);
    EXPECT_EQ(locked_before_main, 1);
}

// An object that locks when it is made and when it goes, and starts a thread that does so too.
struct locking_object {
    std::recursive_mutex mutex;
    pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
    long uses = 0;

    locking_object() {
        in_thread([this] { use(); });
    }
    ~locking_object() {
        use();
        in_thread([this] { use(); });
    }
    void use() {
        std::scoped_lock twice(mutex);
        std::lock_guard again(mutex);
        pthread_rwlock_wrlock(&rwlock);
        uses++;
        pthread_rwlock_unlock(&rwlock);
    }
};
locking_object static_object; // destroyed after all tests

TEST(static_object, MayLockInItsConstructorAndDestructor) {
    EXPECT_EQ(static_object.uses, 1);
    shared_with_children<int> reached;
    child_process child([&] {
        static int *there = &*reached;
        static locking_object own;
        struct last {
            ~last() {
                own.use(); // made before this one, so there still
                *there = 1;
            }
        };
        static last object;
        atexit([] { alarm(patience_s); });
        exit(0);
        return true;
    });
    EXPECT_TRUE(child.succeeds());
    EXPECT_EQ(*reached, 1);
}

// Three threads that nobody joins.
void begin_to_lock_for_ever(std::mutex &mutex) {
    for (int i = 0; i < 3; i++)
        std::thread([&mutex] {
            for (;;)
                std::lock_guard guard(mutex);
        }).detach();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TEST(exit_handler, MayLockWhileOtherThreadsGoOn) {
    static std::mutex mutex;
    static long handled = 0;
    for (int round = 0; round < 10; round++) {
        shared_with_children<long> result;
        static long *there;
        there = &*result;
        child_process child([&] {
            for (int handler = 0; handler < 3; handler++)
                atexit([] {
                    std::lock_guard guard(mutex);
                    *there = ++handled;
                });
            begin_to_lock_for_ever(mutex);
            exit(0);
            return true;
        });
        EXPECT_TRUE(child.succeeds());
        EXPECT_EQ(*result, 3);
    }
}

int wait_status(pid_t pid) {
    int status = -1;
    waitpid(pid, &status, 0);
    return status;
}

// Threads that lock all the time, while the process does something else.
class busy_team {
public:
    explicit busy_team(int size)
        : team_(size, [this](int) {
              while (!stop_) {
                  std::lock_guard guard(mutex_);
                  count_++;
              }
          }) {}
    ~busy_team() { stop_ = true; }

private:
    std::atomic<bool> stop_ = false;
    std::mutex mutex_;
    long count_ = 0;
    team team_;
};

// What runs as long as the child is without a memory of its own must not disturb the parent's locks.
TEST(vfork, AndExecuteAnotherProgramWhileThreadsLock) {
    busy_team busy(3);
    for (int round = 0; round < 30; round++) {
        pid_t child = vfork();
        if (child == 0) {
            execl("/bin/sh", "sh", "-c", "exit 42", nullptr);
            _exit(1);
        }
        ASSERT_GT(child, 0);
        int status = wait_status(child);
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 42) << status;
    }
}

TEST(posix_spawn, StartsAnotherProgramWhileThreadsLock) {
    busy_team busy(3);
    for (int round = 0; round < 30; round++) {
        pid_t child = -1;
        const char *const arguments[] = {"sh", "-c", "exit 42", nullptr};
        ASSERT_EQ(posix_spawn(&child, "/bin/sh", nullptr, nullptr, const_cast<char **>(arguments), environ), 0);
        int status = wait_status(child);
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 42) << status;
    }
}

TEST(exec, ReplacesAProcessWhoseThreadsLock) {
    for (int round = 0; round < 10; round++) {
        child_process child([] {
            static std::mutex mutex;
            begin_to_lock_for_ever(mutex);
            execl("/bin/true", "true", nullptr);
            return false;
        });
        EXPECT_TRUE(child.succeeds());
    }
}

// The library stands beside the test.
TEST(dynamic_library, MayLockInItsConstructorAndDestructor) {
    const std::string self = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    const std::string path = self + "/libposix_library_that_locks.so";
    long unloads = 0;
    busy_team busy(2);
    for (int round = 0; round < 50; round++) {
        void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        ASSERT_NE(library, nullptr) << dlerror();
        long (*lock)(long *) = nullptr;
        *reinterpret_cast<void **>(&lock) = dlsym(library, "lock_and_count_unloads_in");
        ASSERT_NE(lock, nullptr);
        EXPECT_EQ(lock(&unloads), 2);
        EXPECT_EQ(dlclose(library), 0);
    }
    EXPECT_EQ(unloads, 50);
}

// The parent has two threads, so that a lock with a queue does without it in the children; what the queue has left in
// the mutex must not be taken for anything else there, however many forks away. Shown able to fail: turns owed that are
// looked for in every mutex that is ours (a gate's bytes were taken for them after 16 forks).
TEST(fork, AMutexIsGivenBackByADescendantOfManyForks) {
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    std::function<bool(int)> fork_and_unlock = [&](int forks) {
        if (forks > 0) {
            child_process child([&] { return fork_and_unlock(forks - 1); });
            return child.succeeds();
        }
        return pthread_mutex_unlock(&mutex) == 0 && pthread_mutex_lock(&mutex) == 0 &&
               pthread_mutex_unlock(&mutex) == 0;
    };
    in_thread([] {
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
    });
    ASSERT_EQ(pthread_mutex_lock(&mutex), 0);
    for (int forks : {1, 2, 15, 16, 17})
        EXPECT_TRUE(fork_and_unlock(forks)) << forks;
    ASSERT_EQ(pthread_mutex_unlock(&mutex), 0);
}

// As malloc's users do it: the parent's other threads use the mutex all the time, fork happens with it held.
TEST(fork, AChildCanUseAMutexThatItsAtforkHandlersGuard) {
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_atfork([] { pthread_mutex_lock(&mutex); }, [] { pthread_mutex_unlock(&mutex); },
                   [] { pthread_mutex_unlock(&mutex); });
    std::atomic<bool> stop = false;
    std::vector<std::thread> team;
    for (int i = 0; i < 4; i++)
        team.emplace_back([&] {
            while (!stop) {
                pthread_mutex_lock(&mutex);
                pthread_mutex_unlock(&mutex);
            }
        });
    for (int round = 0; round < 30; round++) {
        pid_t child = fork();
        if (child == 0) {
            alarm(patience_s);
            long count = 0;
            std::vector<std::thread> own;
            for (int i = 0; i < 3; i++)
                own.emplace_back([&] {
                    for (int turn = 0; turn < 200; turn++) {
                        pthread_mutex_lock(&mutex);
                        count++;
                        pthread_mutex_unlock(&mutex);
                    }
                });
            for (auto &thread : own)
                thread.join();
            _exit(count == 600 ? 0 : 1);
        }
        EXPECT_EQ(wait_status(child), 0);
    }
    stop = true;
    for (auto &thread : team)
        thread.join();
}

// Nor are its handlers, Holdfast's among them, which ask the child's monitor for memory where there are statistics
// (posix/life/with-statistics). Shown able to fail: libc's recvmsg in base/descriptor_passing.c.
TEST(fork, IsNoCancellationPoint) {
    constexpr int went_on = 42;
    std::atomic<bool> asked = false;
    pid_t child = 0;
    std::thread cancelled([&] {
        int before = 0;
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
        while (!asked)
            sched_yield();
        pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &before);
        child = fork();
        if (child == 0)
            _exit(went_on);
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    });
    pthread_cancel(cancelled.native_handle());
    asked = true;
    cancelled.join();
    int status = status_of(child);
    EXPECT_TRUE(WIFEXITED(status)) << status;
    EXPECT_EQ(WEXITSTATUS(status), went_on);
}

TEST(thread_exit, ManyThreadsOneAfterAnother) {
    std::mutex mutex;
    std::shared_mutex shared;
    std::condition_variable cond;
    constexpr long threads = 100'000;
    long count = 0;
    team two(2, [&](int) { // at a time: what they wait for most is each other's end
        for (long i = 0; i < threads / 2; i++)
            in_thread([&] {
                std::lock_guard guard(mutex);
                std::shared_lock reading(shared);
                count++;
                cond.notify_one();
            });
    });
    two.join();
    EXPECT_EQ(count, threads);
}

// Here and below only a few of a crowd want the mutex at a time: hundreds that spin in a queue do not get through in
// a minute, where another test runs beside this one.
TEST(thread_exit, DetachedThreadsMayLockUntilTheirEnd) {
    static std::mutex mutex;
    static int count = 0;
    static std::atomic<int> gave_back = 0;
    for (int i = 0; i < 500; i++) {
        std::thread([] {
            {
                std::lock_guard guard(mutex);
                count++;
            }
            gave_back++;
        }).detach();
        EXPECT_TRUE(eventually([&] { return gave_back + 3 >= i; }));
    }
    EXPECT_TRUE(eventually([] { return gave_back == 500; }));
    std::lock_guard guard(mutex);
    EXPECT_EQ(count, 500);
}

// Small stacks: what the lock keeps there must be little.
TEST(threads, ThousandsAreAliveAtOnce) {
    constexpr std::size_t threads = 5000;
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
    static std::size_t count = 0;
    static std::atomic<std::size_t> arrived = 0;
    static std::atomic<bool> go = false;
    pthread_attr_t attributes;
    ASSERT_EQ(pthread_attr_init(&attributes), 0);
    // arm64's least is 128 KiB.
    ASSERT_EQ(pthread_attr_setstacksize(&attributes, std::max<std::size_t>(32 * 1024, PTHREAD_STACK_MIN)), 0);
    std::vector<pthread_t> alive;
    while (alive.size() < threads) {
        pthread_t thread;
        int told = pthread_create(
            &thread, &attributes,
            [](void *) -> void * {
                pthread_mutex_lock(&mutex);
                count++;
                pthread_mutex_unlock(&mutex);
                pthread_rwlock_rdlock(&rwlock);
                arrived++;
                go.wait(false);
                pthread_rwlock_unlock(&rwlock);
                return nullptr;
            },
            nullptr);
        ASSERT_EQ(told, 0) << "after " << alive.size();
        alive.push_back(thread);
        EXPECT_TRUE(eventually([&] { return arrived + 3 >= alive.size(); }));
    }
    EXPECT_TRUE(eventually([] { return arrived == threads; }));
    EXPECT_EQ(count, threads);
    EXPECT_EQ(pthread_rwlock_trywrlock(&rwlock), EBUSY) << "as many readers";
    go = true;
    go.notify_all();
    for (pthread_t thread : alive)
        EXPECT_EQ(pthread_join(thread, nullptr), 0);
    EXPECT_EQ(pthread_rwlock_trywrlock(&rwlock), 0);
    EXPECT_EQ(pthread_rwlock_unlock(&rwlock), 0);
    EXPECT_EQ(pthread_attr_destroy(&attributes), 0);
}

TEST(mutexes, AMillionAreUsed) {
    std::vector<pthread_mutex_t> mutexes(1'000'000, pthread_mutex_t(PTHREAD_MUTEX_INITIALIZER));
    std::vector<unsigned char> uses(mutexes.size(), 0);
    team two(2, [&](int) {
        for (std::size_t i = 0; i < mutexes.size(); i++) {
            pthread_mutex_lock(&mutexes[i]);
            uses[i]++;
            pthread_mutex_unlock(&mutexes[i]);
        }
    });
    two.join();
    EXPECT_EQ(std::count(uses.begin(), uses.end(), 2), 1'000'000);
}

TEST(mutexes, ThousandsAreHeldAtOnceAndGivenBackInAnyOrder) {
    std::vector<pthread_mutex_t> mutexes(20'000, pthread_mutex_t(PTHREAD_MUTEX_INITIALIZER));
    for (auto &mutex : mutexes)
        ASSERT_EQ(pthread_mutex_lock(&mutex), 0);
    in_thread([&] {
        for (auto &mutex : mutexes)
            ASSERT_EQ(pthread_mutex_trylock(&mutex), EBUSY);
    });
    for (std::size_t i = 0; i < mutexes.size(); i++)
        ASSERT_EQ(pthread_mutex_unlock(&mutexes[i * 7919 % mutexes.size()]), 0);
    in_thread([&] {
        for (auto &mutex : mutexes)
            ASSERT_EQ(pthread_mutex_trylock(&mutex), 0);
        for (auto &mutex : mutexes)
            ASSERT_EQ(pthread_mutex_unlock(&mutex), 0);
    });
}

TEST(thread_exit, ByPthreadExitRunsCleanupsThatLock) {
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static long count = 0;
    team all(4, [](int) {
        for (int round = 0; round < 50; round++) {
            pthread_t thread;
            EXPECT_EQ(pthread_create(
                          &thread, nullptr,
                          [](void *) -> void * {
                              struct cleanup {
                                  ~cleanup() {
                                      count++;
                                      pthread_mutex_unlock(&mutex);
                                  }
                              } held;
                              pthread_mutex_lock(&mutex);
                              pthread_exit(&count);
                          },
                          nullptr),
                      0);
            void *result = nullptr;
            EXPECT_EQ(pthread_join(thread, &result), 0);
            EXPECT_EQ(result, &count);
        }
    });
    all.join();
    EXPECT_EQ(count, 200);
}

// In a child that a thread has forked, which is the first there: GoogleTest's frames on the stack of the test's first
// thread would not let it exit.
TEST(thread_exit, OfTheFirstThreadLeavesTheOthersTheirLocks) {
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static std::atomic<bool> first_has_gone = false;
    struct unlock {
        ~unlock() {
            first_has_gone = true;
            pthread_mutex_unlock(&mutex);
        }
    };
    in_thread([] {
        child_process child([]() -> bool {
            pthread_mutex_lock(&mutex);
            std::thread([] {
                pthread_mutex_lock(&mutex);
                for (int i = 0; i < 100; i++)
                    in_thread([] {
                        pthread_mutex_unlock(&mutex);
                        pthread_mutex_lock(&mutex);
                    });
                _exit(first_has_gone ? 0 : 1);
            }).detach();
            unlock when_gone;
            pthread_exit(nullptr);
        });
        EXPECT_TRUE(child.succeeds());
    });
}

// Deferred cancellation comes between locks, never inside them.
TEST(cancellation, OfThreadsThatLockLeavesNothingLocked) {
    static std::mutex mutex;
    static std::shared_mutex shared;
    static long first = 0, second = 0;
    for (int round = 0; round < 40; round++) {
        team all(3, [](int) {
            for (;;) {
                {
                    std::lock_guard guard(mutex);
                    std::shared_lock reading(shared);
                    EXPECT_EQ(first++, second++);
                }
                pthread_testcancel();
            }
        });
        std::this_thread::sleep_for(std::chrono::milliseconds(round % 3));
        for (std::size_t member = 0; member < 3; member++)
            EXPECT_EQ(pthread_cancel(all.handle(member)), 0);
        all.join();
        EXPECT_TRUE(mutex.try_lock());
        EXPECT_TRUE(shared.try_lock());
        mutex.unlock();
        shared.unlock();
    }
}

std::mutex at_thread_exit;
long locked_at_thread_exit = 0;
struct locks_at_thread_exit {
    bool used = false;
    ~locks_at_thread_exit() {
        std::lock_guard guard(at_thread_exit);
        locked_at_thread_exit += used;
    }
};
thread_local locks_at_thread_exit thread_local_object;

TEST(thread_exit, DestructorsOfThreadLocalObjectsMayLock) {
    for (int i = 0; i < 200; i++)
        in_thread([] { thread_local_object.used = true; });
    EXPECT_EQ(locked_at_thread_exit, 200);
}

TEST(thread_exit, DestructorsOfThreadDataMayLock) {
    static std::mutex mutex;
    static long count = 0;
    pthread_key_t key;
    ASSERT_EQ(pthread_key_create(&key,
                                 [](void *) {
                                     std::lock_guard guard(mutex);
                                     count++;
                                 }),
              0);
    for (int i = 0; i < 200; i++)
        std::thread([key] {
            pthread_setspecific(key, &mutex);
            std::lock_guard guard(mutex);
        }).join();
    EXPECT_EQ(count, 200);
    pthread_key_delete(key);
}

TEST(signal_handler, MayLockWhileTheThreadWaitsForAnotherMutex) {
    static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER, inner = PTHREAD_MUTEX_INITIALIZER;
    static std::atomic<long> handled = 0;
    struct sigaction action {};
    action.sa_handler = [](int) {
        pthread_mutex_lock(&inner);
        handled++;
        pthread_mutex_unlock(&inner);
    };
    action.sa_flags = SA_RESTART;
    sigaction(SIGUSR1, &action, nullptr);
    std::atomic<bool> stop = false;
    std::vector<std::thread> team;
    for (int i = 0; i < 4; i++)
        team.emplace_back([&] {
            while (!stop) {
                pthread_mutex_lock(&outer);
                pthread_mutex_unlock(&outer);
            }
        });
    for (int i = 0; i < 1000; i++) {
        pthread_kill(team[static_cast<size_t>(i % 4)].native_handle(), SIGUSR1);
        usleep(100);
    }
    stop = true;
    for (auto &thread : team)
        thread.join();
    EXPECT_GT(handled, 0);
}

std::string library_of(void *address) {
    Dl_info info{};
    return address && dladdr(address, &info) ? info.dli_fname : "";
}

// Old programs ask for functions by old versions, each of which is interposed.
TEST(symbol_version, OldAndNewOnesLeadToTheSameLibrary) {
    const char *preload = std::getenv("LD_PRELOAD");
    const char *expected = preload && std::strstr(preload, "holdfast") ? "libholdfast-preload.so" : "libc.so.6";
    std::vector<std::string> interposed;
    for (const char *name :
         {"mutex_lock",         "mutex_trylock",      "mutex_timedlock",    "mutex_clocklock",  "mutex_unlock",
          "cond_wait",          "cond_timedwait",     "cond_clockwait",     "cond_signal",      "cond_broadcast",
          "rwlock_rdlock",      "rwlock_wrlock",      "rwlock_tryrdlock",   "rwlock_trywrlock", "rwlock_timedrdlock",
          "rwlock_timedwrlock", "rwlock_clockrdlock", "rwlock_clockwrlock", "rwlock_unlock",    "rwlock_destroy",
          "spin_lock",          "spin_trylock",       "spin_unlock",        "barrier_init",     "barrier_wait",
          "barrier_destroy"})
        interposed.push_back(std::string("pthread_") + name);
    for (const char *name : {"mtx_init", "mtx_lock", "mtx_trylock", "mtx_timedlock", "mtx_unlock", "mtx_destroy",
                             "cnd_wait", "cnd_timedwait", "cnd_signal", "cnd_broadcast"})
        interposed.emplace_back(name);
    for (const std::string &name : interposed) {
        for (const char *version : {FIRST_VERSION, FIRST_VERSION_OF_COND, "GLIBC_2.28", "GLIBC_2.30", "GLIBC_2.34"}) {
            void *address = dlvsym(RTLD_DEFAULT, name.c_str(), version);
            if (address) // not every glibc has every version
                EXPECT_NE(library_of(address).find(expected), std::string::npos) << name << "@" << version;
        }
        EXPECT_NE(library_of(dlsym(RTLD_DEFAULT, name.c_str())).find(expected), std::string::npos) << name;
    }
}

TEST(descriptors, NoneIsOpenThatTheProgramDidNotOpen) {
    std::vector<std::string> open_ones;
    DIR *directory = opendir("/proc/self/fd");
    ASSERT_NE(directory, nullptr);
    while (dirent *entry = readdir(directory)) {
        if (entry->d_name[0] == '.' || std::atoi(entry->d_name) == dirfd(directory))
            continue;
        char target[256] = {};
        std::string link = std::string("/proc/self/fd/") + entry->d_name;
        [[maybe_unused]] ssize_t length = readlink(link.c_str(), target, sizeof(target) - 1);
        open_ones.push_back(target);
    }
    closedir(directory);
    for (const auto &target : open_ones) {
        EXPECT_EQ(target.find("bpf"), std::string::npos) << target;
        EXPECT_EQ(target.find("holdfast-counters"), std::string::npos) << target;
    }
}

} // namespace
} // namespace holdfast::test
