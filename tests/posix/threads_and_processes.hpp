// SPDX-License-Identifier: MIT OR Apache-2.0
// Threads and processes that a case needs besides its own, and what they share. They synchronise by atomics and sleeps
// alone: nothing of it goes through the functions under test.
#pragma once

#include <atomic>
#include <chrono>
#include <csignal>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <list>
#include <new>
#include <pthread.h>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace holdfast::test {

// What nothing takes unless something is wrong, though the machine is busy, or all programs of it were stopped for a
// while.
constexpr int patience_s = 600;
constexpr long far_away_ms = patience_s * 1000L;

template <class Body>
void in_thread(Body body) {
    std::thread(body).join();
}

// Threads that are joined when the team ends; member i runs body(i).
class team {
public:
    team() = default;
    template <class Body>
    team(int size, Body body) {
        for (int member = 0; member < size; member++)
            threads_.emplace_back(body, member);
    }
    team(const team &) = delete;
    team &operator=(const team &) = delete;
    ~team() { join(); }

    template <class Body>
    void add(Body body) {
        threads_.emplace_back(body);
    }
    void join() {
        for (auto &thread : threads_)
            thread.join();
        threads_.clear();
    }
    pthread_t handle(std::size_t member) { return threads_[member].native_handle(); }

private:
    std::vector<std::thread> threads_;
};

// Long enough for a thread to have come where it waits. A case must hold also when it has not.
inline void a_short_while() {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

// Whether the condition comes true while patience lasts: what must happen but may take its time.
template <class Condition>
[[nodiscard]] bool eventually(Condition condition) {
    auto patience_ends = std::chrono::steady_clock::now() + std::chrono::seconds(patience_s);
    for (int turn = 0; !condition(); turn++) {
        if (std::chrono::steady_clock::now() > patience_ends)
            return false;
        if (turn < 20)
            sched_yield();
        else
            std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    return true;
}

// Of this process.
[[nodiscard]] inline bool is_asleep(pid_t thread) {
    std::string status;
    std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
    std::getline(file, status);
    std::size_t name_ends = status.rfind(')');
    return name_ends != std::string::npos && status.compare(name_ends, 3, ") S") == 0;
}

// A T, zeroed, in memory that children made by fork share.
template <class T>
class shared_with_children {
public:
    shared_with_children() {
        void *page = mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (page == MAP_FAILED)
            throw std::bad_alloc();
        object_ = new (page) T{};
    }
    shared_with_children(const shared_with_children &) = delete;
    shared_with_children &operator=(const shared_with_children &) = delete;
    ~shared_with_children() { munmap(object_, sizeof(T)); }

    T *operator->() const { return object_; }
    T &operator*() const { return *object_; }

private:
    T *object_;
};

// The status with which the child ends. One that waits for ever is killed: no alarm would end a child that waits with
// all signals blocked, as Holdfast's own code does.
inline int status_of(pid_t child) {
    int status = -1;
    if (child < 0) // could not be made
        return status;
    auto patience_ends = std::chrono::steady_clock::now() + std::chrono::seconds(patience_s);
    while (waitpid(child, &status, WNOHANG) == 0) {
        if (std::chrono::steady_clock::now() > patience_ends)
            ::kill(child, SIGKILL);
        std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    return status;
}

// Two threads, of which the caller is one, look at once. True when both have seen what they should.
template <class Look>
[[nodiscard]] bool both_see(Look look) {
    std::atomic<int> ready = 0, seen = 0;
    auto come = [&] {
        for (ready++; ready < 2;)
            std::this_thread::yield();
        seen += look();
    };
    std::thread another(come);
    come();
    another.join();
    return seen == 2;
}

// A child process that runs the body and succeeds when it returns true. A stuck one is ended by an alarm, or when it is
// waited for.
class child_process {
public:
    explicit child_process(const std::function<bool()> &body, pid_t (*how)() = fork) : pid_(how()) {
        if (pid_ == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            alarm(patience_s);
            _exit(body() ? 0 : 1);
        }
    }
    child_process(const child_process &) = delete;
    child_process &operator=(const child_process &) = delete;
    ~child_process() {
        if (pid_ > 0) {
            ::kill(pid_, SIGKILL);
            waitpid(pid_, nullptr, 0);
        }
    }

    [[nodiscard]] bool succeeds() {
        int status = wait();
        return WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    void kill() {
        ::kill(pid_, SIGKILL);
        wait();
    }

private:
    int wait() { return status_of(std::exchange(pid_, -1)); }

    pid_t pid_;
};

// Does the work in this process and in so many others at the same time, and says whether all of them succeed.
[[nodiscard]] inline bool succeeds_here_and_in(int others, const std::function<bool()> &work) {
    std::list<child_process> children;
    for (int child = 0; child < others; child++)
        children.emplace_back(work);
    bool all = work();
    for (child_process &child : children)
        all = child.succeeds() && all;
    return all;
}

// While it lives, SIGUSR1 runs a handler that only counts. Not SA_RESTART: a system call inside the function under
// test is interrupted, and the function has to hide that.
class counting_handler {
public:
    counting_handler() {
        count_ = 0;
        struct sigaction action {};
        action.sa_handler = [](int) { count_++; };
        sigaction(SIGUSR1, &action, &before_);
    }
    counting_handler(const counting_handler &) = delete;
    counting_handler &operator=(const counting_handler &) = delete;
    ~counting_handler() { sigaction(SIGUSR1, &before_, nullptr); }

    // The thread must live until this returns.
    void interrupt(pthread_t thread, int times = 10) {
        for (int i = 0; i < times; i++) {
            long before = count_;
            pthread_kill(thread, SIGUSR1);
            EXPECT_TRUE(eventually([&] { return count_ > before; })) << "the handler runs while the thread waits";
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }

private:
    static inline std::atomic<long> count_ = 0;
    struct sigaction before_ {};
};

} // namespace holdfast::test
