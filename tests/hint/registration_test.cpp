// SPDX-License-Identifier: MIT OR Apache-2.0
// A process that registers, and who may be at the other end: another user, somebody who says nothing, or a server that
// hands out what it can take away again. Needs no monitor in the kernel.
//
// Shown able to fail: hf_trusts_listener true for all (AnotherUserIsToldNothing); the patience of before, 3 s
// (WaitsOnceAndNotForLong, WaitsForRoomNoLonger); a collector that is asked again though it was silent
// (ChildrenDoNotWaitForASilentCollector); hf_is_frozen_map true for all (MemoryIsNoHintPage); no look at the seals
// (StatisticsNeedMemoryThatIsSettled); hf_register that asks at once, or does not for a library that never asks again
// (OnOneCpu…).
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cpu_count.h"
#include "base/descriptor_passing.h"
#include "base/thread_cpus.hpp"
#include "hint/hint.h"
#include "hint/registration.h"
#include "observe/observation.h"

extern "C" bool hf_registers_at_start;
bool hf_registers_at_start = false;
bool hf_registers_later = false;

namespace {

constexpr uid_t nobody = 65534;
constexpr std::uint64_t ns_of_second = 1'000'000'000;

bool in_child(const std::function<bool()> &body) {
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        _exit(body() ? 0 : 1);
    }
    int status = -1;
    return waitpid(pid, &status, 0) == pid && status == 0;
}

class registration : public testing::Test {
protected:
    std::string name_ = "@holdfast-test-" + std::to_string(getpid());
    int listener_ = -1;

    registration() {
        setenv(HF_SOCKET_VARIABLE, name_.c_str(), 1);
        unsetenv(HF_STATS_VARIABLE);
    }
    ~registration() override { close(listener_); }

    bool listen_as(const std::string &name, int waiting_max) {
        sockaddr_un address{};
        socklen_t length = hf_socket_address(name.c_str(), &address);
        listener_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        return bind(listener_, reinterpret_cast<sockaddr *>(&address), length) == 0 &&
               listen(listener_, waiting_max) == 0;
    }

    // Answers the next so many requests with DONE and that descriptor, in a child.
    pid_t answer_with(int descriptor, int requests) const {
        pid_t pid = fork();
        if (pid != 0)
            return pid;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (; requests > 0; requests--) {
            int connection = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
            hf_request request{};
            hf_reply reply{};
            reply.version = HF_REGISTRATION_VERSION;
            if (!hf_receive_message(connection, &request, sizeof(request), nullptr) ||
                !hf_send_message(connection, &reply, sizeof(reply), descriptor))
                _exit(1);
            close(connection);
        }
        _exit(0);
    }

    static bool has_ended_well(pid_t server) {
        int status = -1;
        return waitpid(server, &status, 0) == server && status == 0;
    }
};

// Any user who finds the name of a socket in an environment may bind it when its owner has gone.
TEST_F(registration, AnotherUserIsToldNothing) {
    if (getuid() != 0)
        GTEST_SKIP() << "needs root to become another user";
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    pid_t stranger = fork();
    if (stranger == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (setuid(nobody) != 0 || !listen_as(name_, 8) || write(ready[1], "r", 1) != 1)
            _exit(2);
        int connection = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        char said[sizeof(hf_request)];
        _exit(recv(connection, said, sizeof(said), 0) == 0 ? 0 : 1);
    }
    char byte;
    ASSERT_EQ(read(ready[0], &byte, 1), 1);
    EXPECT_TRUE(in_child([] {
        hf_register();
        return !hf_hint_has_monitor();
    }));
    EXPECT_TRUE(has_ended_well(stranger)) << "it was told something";
    close(ready[0]);
    close(ready[1]);
}

// One of many tries: another process may have the CPU for as long.
bool is_quick(const std::function<void()> &what) {
    for (int tries = 0; tries < 30; tries++) {
        std::uint64_t began_ns = hf_monotonic_ns();
        what();
        if (hf_monotonic_ns() - began_ns < ns_of_second * 3 / 2)
            return true;
    }
    return false;
}

// By a server that is stopped: connections are made, and nobody answers. With statistics asked for elsewhere, too.
TEST_F(registration, WaitsOnceAndNotForLong) {
    ASSERT_TRUE(listen_as(name_, 8));
    EXPECT_TRUE(is_quick([] {
        EXPECT_TRUE(in_child([] {
            hf_register();
            return !hf_hint_has_monitor();
        }));
    }));
}

TEST_F(registration, WaitsForRoomNoLonger) {
    ASSERT_TRUE(listen_as(name_, 0));
    int taken = hf_connect(name_.c_str(), 1000);
    ASSERT_GE(taken, 0);
    EXPECT_TRUE(is_quick([] {
        EXPECT_TRUE(in_child([] {
            hf_register();
            return !hf_hint_has_monitor();
        }));
    }));
    close(taken);
}

// A process that waits for a sum gets more patience, once: forked children do not begin to wait again.
TEST_F(registration, ChildrenDoNotWaitForASilentCollector) {
    ASSERT_TRUE(listen_as(name_, 8));
    setenv(HF_STATS_VARIABLE, name_.c_str(), 1);
    EXPECT_TRUE(in_child([] {
        hf_register();
        bool well = true;
        return is_quick([&] { well = well && in_child([] { return true; }) && in_child([] { return true; }); }) && well;
    }));
    unsetenv(HF_STATS_VARIABLE);
}

TEST_F(registration, MemoryIsNoHintPage) {
    ASSERT_TRUE(listen_as(name_, 8));
    int memory = memfd_create("page", MFD_CLOEXEC);
    ASSERT_EQ(ftruncate(memory, sizeof(hf_hint_page)), 0);
    hf_hint_page page{};
    page.version = HF_HINT_VERSION;
    page.monitor_state = HF_MONITOR_ALIVE;
    ASSERT_EQ(pwrite(memory, &page, sizeof(page), 0), static_cast<ssize_t>(sizeof(page)));
    pid_t server = answer_with(memory, 2);
    EXPECT_TRUE(in_child([] {
        hf_register();
        return !hf_hint_has_monitor();
    }));
    EXPECT_TRUE(has_ended_well(server));
    close(memory);
}

// Whose threads may use one CPU only: it has statistics all the same.
TEST_F(registration, OnOneCpuAMonitorIsNotAskedForUntilThereIsUseForOne) {
    ASSERT_TRUE(listen_as(name_, 8));
    for (bool asks_later : {false, true}) {
        pid_t program = fork();
        if (program == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (!holdfast::stay_on({holdfast::usable_cpus().front()}))
                _exit(1);
            while (hf_cpus_usable() != 1)
                usleep(100);
            hf_registers_later = asks_later;
            hf_register();
            _exit(hf_registration_is_owed == asks_later ? 0 : 1);
        }
        hf_request request{};
        int connection = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        EXPECT_TRUE(hf_receive_message(connection, &request, sizeof(request), nullptr));
        EXPECT_EQ(request.kind, asks_later ? HF_REQUEST_OWN_STATISTICS : HF_REQUEST_REGISTER);
        close(connection);
        EXPECT_TRUE(has_ended_well(program));
    }
}

TEST_F(registration, StatisticsNeedMemoryThatIsSettled) {
    ASSERT_TRUE(listen_as(name_, 8));
    for (bool sealed : {false, true}) {
        int memory = memfd_create("statistics", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        hf_statistics_header header{};
        header.version = HF_STATISTICS_VERSION;
        ASSERT_EQ(ftruncate(memory, HF_STATISTICS_BYTES), 0);
        ASSERT_EQ(pwrite(memory, &header, sizeof(header), 0), static_cast<ssize_t>(sizeof(header)));
        unsigned seals = sealed ? F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL : 0;
        ASSERT_EQ(fcntl(memory, F_ADD_SEALS, seals), 0);
        pid_t server = answer_with(memory, 2);
        EXPECT_TRUE(in_child([sealed] {
            hf_register();
            return hf_statistics_are_on() == sealed;
        })) << "sealed: "
            << sealed;
        EXPECT_TRUE(has_ended_well(server));
        close(memory);
    }
}

} // namespace
