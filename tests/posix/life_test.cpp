// SPDX-License-Identifier: MIT OR Apache-2.0
// The rest of a process's life: locks before main, forks, exits, signals, symbol versions.
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <mutex>
#include <pthread.h>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

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

int wait_status(pid_t pid) {
    int status = -1;
    waitpid(pid, &status, 0);
    return status;
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
            alarm(20);
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

TEST(thread_exit, ManyThreadsOneAfterAnother) {
    std::mutex mutex;
    long count = 0;
    for (int i = 0; i < 10000; i++)
        std::thread([&] {
            std::lock_guard guard(mutex);
            count++;
        }).join();
    EXPECT_EQ(count, 10000);
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

// Old programs ask for functions by old versions: those that mean the same are interposed, those that mean other things
// not.
TEST(symbol_version, OldAndNewOnesLeadToTheSameLibrary) {
    const char *preload = std::getenv("LD_PRELOAD");
    const char *expected = preload && std::strstr(preload, "holdfast") ? "libholdfast-preload.so" : "libc.so.6";
    struct {
        const char *name, *version;
    } same[] = {{"pthread_mutex_lock", "GLIBC_2.2.5"},      {"pthread_mutex_unlock", "GLIBC_2.2.5"},
                {"pthread_mutex_trylock", "GLIBC_2.2.5"},   {"pthread_mutex_trylock", "GLIBC_2.34"},
                {"pthread_mutex_timedlock", "GLIBC_2.2.5"}, {"pthread_mutex_timedlock", "GLIBC_2.34"},
                {"pthread_mutex_clocklock", "GLIBC_2.30"},  {"pthread_mutex_clocklock", "GLIBC_2.34"},
                {"pthread_cond_wait", "GLIBC_2.3.2"},       {"pthread_cond_timedwait", "GLIBC_2.3.2"},
                {"pthread_cond_clockwait", "GLIBC_2.30"},   {"pthread_cond_clockwait", "GLIBC_2.34"}};
    for (auto [name, version] : same) {
        void *address = dlvsym(RTLD_DEFAULT, name, version);
        if (!address)
            continue; // this glibc does not have that version
        EXPECT_NE(library_of(address).find(expected), std::string::npos) << name << "@" << version;
    }
    for (const char *name : {"pthread_mutex_lock", "pthread_mutex_trylock", "pthread_cond_wait"})
        EXPECT_NE(library_of(dlsym(RTLD_DEFAULT, name)).find(expected), std::string::npos) << name;
    for (const char *name : {"pthread_cond_wait", "pthread_cond_timedwait"}) {
        void *before_2_3_2 = dlvsym(RTLD_DEFAULT, name, "GLIBC_2.2.5");
        EXPECT_EQ(library_of(before_2_3_2).find("holdfast"), std::string::npos) << "another layout";
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
