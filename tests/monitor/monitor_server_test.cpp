// SPDX-License-Identifier: MIT OR Apache-2.0
// Registration, from both sides: good requests, bad ones, none at all.
#include <cstdlib>
#include <functional>
#include <sys/socket.h>
#include <thread>

#include "base/clock.h"
#include "hint/freshness.h"
#include "hint/hint.h"
#include "hint/registration.h"
#include "monitor/followed_child.hpp"
#include "monitor/registers.hpp"
#include "monitor/server/monitor_server.hpp"
#include "observe/observation.h"

namespace holdfast::test {
namespace {

class server : public testing::Test {
protected:
    std::unique_ptr<monitor> watcher = monitor_or_skip();
    monitor_server serving{watcher.get(), listening_socket(), household_of(getuid())};

    enum class counting { no, yes };

    // Runs in a child that is told of the server as programs are.
    static bool in_child(const monitor_server &met, const std::function<bool()> &body, counting counts = counting::no) {
        bool informs = met.status().reply.status == HF_REPLY_DONE;
        pid_t pid = fork();
        if (pid == 0) {
            setenv(HF_SOCKET_VARIABLE, met.socket_name().c_str(), 1);
            if (counts == counting::yes)
                setenv(HF_STATS_VARIABLE, met.socket_name().c_str(), 1);
            if (informs)
                registers();
            else
                hf_register();
            _exit(body() ? 0 : 1);
        }
        int status = -1;
        waitpid(pid, &status, 0);
        return status == 0;
    }

    // A child that registers as programs do, and stays until it is killed here.
    pid_t registered_child(const std::function<void()> &then = [] {}) const {
        pid_t child = fork();
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            setenv(HF_SOCKET_VARIABLE, serving.socket_name().c_str(), 1);
            registers();
            then();
            for (;;)
                pause();
        }
        return child;
    }
    static void end(pid_t child) {
        kill(child, SIGKILL);
        waitpid(child, nullptr, 0);
    }

    int connected() const { return connected_to(serving); }
    static int connected_to(const monitor_server &met) {
        sockaddr_un address{};
        socklen_t length = hf_socket_address(met.socket_name().c_str(), &address);
        int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr *>(&address), length), 0);
        return fd;
    }

    static hf_request request_of(std::uint32_t version, std::uint32_t kind) {
        hf_request request{};
        request.version = version;
        request.kind = kind;
        return request;
    }

    // Sends the bytes and returns the status of the reply.
    hf_reply_status answer_to(const void *bytes, size_t length) const { return answer_of(serving, bytes, length); }
    static hf_reply_status answer_of(const monitor_server &asked, const void *bytes, size_t length) {
        int fd = connected_to(asked);
        EXPECT_EQ(send(fd, bytes, length, MSG_NOSIGNAL), static_cast<ssize_t>(length));
        hf_reply reply{};
        EXPECT_EQ(recv(fd, &reply, sizeof(reply), 0), static_cast<ssize_t>(sizeof(reply)));
        char more;
        EXPECT_EQ(recv(fd, &more, 1, 0), 0) << "and the connection is closed";
        close(fd);
        return static_cast<hf_reply_status>(reply.status);
    }
};

TEST_F(server, GivesAProcessThePage) {
    auto page_is_fresh = [] {
        return comes_true([] {
            hf_hint_look_again();
            return hf_hint_has_monitor() && hf_hint_is_fresh();
        });
    };
    // Where the machine lets a process lose its patience, it asks twice, and counts twice: another one then.
    EXPECT_TRUE(comes_true([&] {
        std::uint64_t before = serving.status().registrations_total;
        EXPECT_TRUE(in_child(serving, page_is_fresh));
        return serving.status().registrations_total == before + 1;
    }));
    EXPECT_EQ(serving.status().registered_processes, 0u) << "it has ended";
}

// Registers in a child, which says before that it will, and tells whether it had to wait and then met a monitor.
bool waits_and_meets(const monitor_server &met, int about_to) {
    pid_t pid = fork();
    if (pid == 0) {
        setenv(HF_SOCKET_VARIABLE, met.socket_name().c_str(), 1);
        std::uint64_t began_ns = hf_monotonic_ns();
        bool told = write(about_to, "", 1) == 1;
        hf_register();
        _exit(told && hf_hint_has_monitor() && hf_monotonic_ns() - began_ns > 5'000'000 ? 0 : 1);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    return status == 0;
}

// A machine that is busy enough lets a process lose its patience, hence some attempts. Shown able to fail: without the
// wait in meet_at_start.
TEST_F(server, IsWaitedForWhileItsMonitorIsLoaded) {
    bool met = false;
    for (int attempt = 0; attempt < 10 && !met; attempt++) {
        monitor_server soon(nullptr, listening_socket(), household_of(getuid()));
        soon.expect_monitor({});
        int about_to[2];
        ASSERT_EQ(pipe(about_to), 0);
        std::jthread loader([&] {
            char nothing;
            EXPECT_EQ(read(about_to[0], &nothing, 1), 1);
            usleep(20'000);
            soon.begin(watcher.get());
        });
        met = waits_and_meets(soon, about_to[1]);
        loader.join();
        EXPECT_EQ(soon.status().refusals_total, 0u);
        close(about_to[0]);
        close(about_to[1]);
    }
    EXPECT_TRUE(met);
}

// Shown able to fail: with a load at the first request, or at each one of a process that comes again; with processes
// told apart by their number alone.
TEST_F(server, LoadsItsMonitorWhenAProgramComesAgain) {
    int loads = 0, waits = 0;
    monitor_server soon(nullptr, listening_socket(), household_of(getuid()));
    soon.expect_monitor({.load = [&] { loads++; }, .wait = [&] { waits++; }});
    auto comes = [&](std::uint32_t program) {
        hf_request request = request_of(HF_REGISTRATION_VERSION, HF_REQUEST_REGISTER);
        request.program = program;
        return answer_of(soon, &request, sizeof(request));
    };
    for (std::uint32_t program : {1, 2, 3})
        EXPECT_EQ(comes(program), HF_REPLY_LATER);
    EXPECT_EQ(loads, 0) << "a shell's children, one after the other";
    EXPECT_EQ(waits, 0);
    for (std::uint32_t program : {2, 2, 1, 2})
        EXPECT_EQ(comes(program), HF_REPLY_LATER);
    EXPECT_EQ(loads, 1);
    EXPECT_EQ(waits, 3) << "each time since";
}

TEST_F(server, BlocksAClientThatCameBeforeItsMonitor) {
    monitor_server soon(nullptr, listening_socket(), household_of(getuid()));
    soon.expect_monitor({});
    EXPECT_TRUE(in_child(soon, [] { return !hf_hint_has_monitor() && !hf_spinning_pays(); }));
    EXPECT_EQ(soon.status().refusals_total, 0u);
}

TEST_F(server, FollowsARegisteredProcess) {
    pid_t holder = registered_child([] { hf_critical_enter(hf_self()); });
    EXPECT_EQ(count_becomes(*watcher, 1), 1u);
    end(holder);
    EXPECT_EQ(count_becomes(*watcher, 0), 0u);
}

// Shown able to fail: taken from the status.
TEST_F(server, CountsAnewThoughSomebodyHasJustAsked) {
    pid_t stays = registered_child();
    EXPECT_TRUE(comes_true([&] { return serving.status().registered_processes == 1; }));
    end(stays);
    EXPECT_EQ(serving.count_registered(), 0u);
}

TEST_F(server, WithoutAMonitorSaysSoAndKeepsStatistics) {
    monitor_server alone(nullptr, listening_socket(), household_of(getuid()));
    EXPECT_TRUE(in_child(
        alone,
        [] {
            for (int i = 0; i < 5; i++)
                hf_count(hf_self(), acquisitions);
            return !hf_hint_has_monitor() && !hf_spinning_pays();
        },
        counting::yes));
    EXPECT_EQ(alone.counters().acquisitions, 5u);
    EXPECT_EQ(alone.status().registrations_total, 0u);
    EXPECT_EQ(alone.status().reply.status, HF_REPLY_NO_MONITOR);
}

TEST_F(server, AddsUpTheThreadsOfAllProcesses) {
    for (int process = 0; process < 3; process++)
        EXPECT_TRUE(in_child(
            serving,
            [] {
                for (int thread = 0; thread < 10; thread++)
                    std::thread([] {
                        hf_count(hf_self(), acquisitions);
                        hf_count(hf_self(), blocked);
                    }).join();
                return true;
            },
            counting::yes));
    EXPECT_EQ(serving.counters().acquisitions, 30u);
    EXPECT_EQ(serving.counters().blocked, 30u);
}

// By fork, as programs that prefork: with --stats each notes for itself.
TEST_F(server, AddsUpForkedChildrenToo) {
    auto forks_twice = [] {
        hf_count(hf_self(), acquisitions);
        for (int i = 0; i < 2; i++) {
            pid_t child = fork();
            if (child == 0) {
                hf_count(hf_self(), acquisitions);
                _exit(0);
            }
            waitpid(child, nullptr, 0);
        }
        return true;
    };
    EXPECT_TRUE(in_child(serving, forks_twice, counting::yes));
    EXPECT_EQ(serving.counters().acquisitions, 3u);
    // One that has lost its patience has no memory for them: another one then.
    EXPECT_TRUE(comes_true([&] { return in_child(serving, [&] { return hf_statistics_are_on() && forks_twice(); }); }));
    EXPECT_EQ(serving.counters().acquisitions, 4u) << "without it they note nothing";
}

TEST_F(server, RefusesWhatItDoesNotUnderstand) {
    char nothing_sensible[200] = {1, 2, 3};
    EXPECT_EQ(answer_to(nothing_sensible, 1), HF_REPLY_MALFORMED);
    EXPECT_EQ(answer_to(nothing_sensible, sizeof(nothing_sensible)), HF_REPLY_MALFORMED);
    hf_request other_version = request_of(99, HF_REQUEST_REGISTER);
    EXPECT_EQ(answer_to(&other_version, sizeof(other_version)), HF_REPLY_OTHER_VERSION);
    for (std::uint32_t kind : {0u, 7u, ~0u}) {
        hf_request other_kind = request_of(HF_REGISTRATION_VERSION, kind);
        EXPECT_EQ(answer_to(&other_kind, sizeof(other_kind)), HF_REPLY_MALFORMED) << kind;
    }
    EXPECT_TRUE(in_child(serving, [] { return hf_hint_has_monitor(); })) << "and goes on serving";
}

TEST_F(server, AnswersDescendantsOfAnyUserAndRefusesStrangers) {
    auto answered_as_nobody = [] {
        EXPECT_TRUE(become(65534));
        hf_register();
        return hf_hint_has_monitor();
    };
    // A request that was given up counts as refused, too: once more where the machine kept one waiting.
    auto refused_in = [this](const std::function<void()> &what) {
        std::uint64_t before = serving.status().refusals_total;
        what();
        return serving.status().refusals_total - before;
    };
    EXPECT_TRUE(
        comes_true([&] { return refused_in([&] { EXPECT_TRUE(in_child(serving, answered_as_nobody)); }) == 0; }));
    // Its parent ends at once, so it is nobody's descendant any more.
    auto ask_as_stranger = [&] {
        int lives[2];
        ASSERT_EQ(pipe(lives), 0);
        in_child(serving, [&] {
            pid_t parent = getpid();
            if (fork() != 0)
                return true;
            while (getppid() == parent)
                usleep(1000);
            return answered_as_nobody();
        });
        close(lives[1]);
        char byte;
        EXPECT_EQ(read(lives[0], &byte, 1), 0) << "end of file: it has ended";
        close(lives[0]);
    };
    EXPECT_TRUE(comes_true([&] { return refused_in(ask_as_stranger) == 1; }));
}

TEST_F(server, DoesNotWaitForEverForASilentClient) {
    int silent[3] = {connected(), connected(), connected()};
    close(silent[0]);
    EXPECT_TRUE(in_child(serving, [] { return hf_hint_has_monitor() || true; }));
    sleep(3); // its patience with the silent ones ends
    EXPECT_TRUE(in_child(serving, [] { return hf_hint_has_monitor(); }));
    close(silent[1]);
    close(silent[2]);
}

TEST_F(server, AProcessThatNamesNoServerOrADeadOneRunsWithout) {
    std::string gone;
    {
        monitor_server short_lived(watcher.get(), listening_socket(), household_of(getuid()));
        gone = short_lived.socket_name();
    }
    for (const std::string &name : {gone, std::string("/no/such/socket"), std::string(300, 'x'), std::string()}) {
        setenv(HF_SOCKET_VARIABLE, name.c_str(), 1);
        hf_register();
        EXPECT_FALSE(hf_hint_has_monitor());
    }
    unsetenv(HF_SOCKET_VARIABLE);
}

TEST_F(server, AnyOffsetIsSafeToFollow) {
    for (std::int64_t offset : {INT64_MIN, INT64_MAX, std::int64_t(1), std::int64_t(-4096)}) {
        pid_t child = fork();
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            busy_forever();
        }
        int pidfd = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
        EXPECT_EQ(watcher->follow(pidfd, offset), 0);
        usleep(20 * 1000);
        kill(child, SIGKILL);
        waitpid(child, nullptr, 0);
        close(pidfd);
    }
    EXPECT_EQ(count_becomes(*watcher, 0), 0u);
}

} // namespace
} // namespace holdfast::test
