// SPDX-License-Identifier: MIT OR Apache-2.0
// The monitor as a service for everybody: limits, visitors that mean no good, descriptors that run out, and processes
// that die by the hundred.
//
// Shown able to fail: a listening_socket that takes descriptors (TakesNoDescriptors); a server that does not look
// whether the asker has hung up (DoesNotFollowAProcessThatHasGivenUpAsking).
#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <random>
#include <sys/resource.h>
#include <sys/socket.h>
#include <utility>
#include <vector>

#include "base/descriptor_passing.h"
#include "base/thread_cpus.hpp"
#include "cli/common/many_descriptors.hpp"
#include "hint/hint.h"
#include "hint/registration.h"
#include "monitor/client/service_report.hpp"
#include "monitor/followed_child.hpp"
#include "monitor/server/monitor_server.hpp"

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83 // Linux 6.16
#endif

namespace holdfast::test {
namespace {

constexpr uid_t nobody = 65534;

class service : public testing::Test {
protected:
    static constexpr std::size_t processes_max = 3;

    void SetUp() override { ASSERT_TRUE(cli::allow_many_descriptors()); } // as 'holdfast monitor' does

    std::unique_ptr<monitor> watcher = monitor_or_skip();
    monitor_server serving{watcher.get(), listening_socket(), everybody_up_to(processes_max), scoping::cpus};

    static constexpr auto no_answer = static_cast<hf_reply_status>(~0u);

    // Again, if the machine kept us waiting for longer than the service has patience with silent visitors.
    hf_reply_status ask_to_register() const {
        hf_reply_status said = no_answer;
        comes_true([&] {
            said = reply_on(hf_connect(serving.socket_name().c_str(), patience_ms));
            return said != no_answer;
        });
        return said;
    }

    static hf_reply_status reply_on(int connection) {
        hf_request request{};
        request.version = HF_REGISTRATION_VERSION;
        request.kind = HF_REQUEST_REGISTER;
        request.tls_offset = hf_thread_record_tls_offset();
        hf_reply reply{};
        reply.status = no_answer;
        send(connection, &request, sizeof(request), MSG_NOSIGNAL);
        recv(connection, &reply, sizeof(reply), 0);
        close(connection);
        return static_cast<hf_reply_status>(reply.status);
    }

    // Also where others' visits have not come to their ends yet.
    bool is_registered_in_the_end() const {
        return comes_true([this] { return ask_to_register() == HF_REPLY_DONE; });
    }

    // Children that have run the body, which says whether they are as they should be, and then stay: asleep, or, from
    // when they are let go, busy.
    class crowd {
    public:
        crowd() {
            EXPECT_EQ(pipe(ready_), 0);
            EXPECT_EQ(pipe(go_), 0);
        }
        ~crowd() {
            kill_all();
            close(ready_[0]);
            close(ready_[1]);
            close(go_[0]);
            let_go();
        }
        crowd(const crowd &) = delete;
        crowd &operator=(const crowd &) = delete;

        void add(const std::function<bool()> &body) {
            pid_t pid = fork();
            if (pid == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                precedence::give_up();
                close(go_[1]);
                char well = body();
                if (write(ready_[1], &well, 1) != 1 || read(go_[0], &well, 1) != 0)
                    _exit(1);
                busy_forever();
            }
            members_.push_back(pid);
            char well = 0;
            EXPECT_EQ(read(ready_[0], &well, 1), 1);
            EXPECT_TRUE(well);
        }
        void let_go() {
            if (go_[1] >= 0)
                close(std::exchange(go_[1], -1));
        }
        void kill_all() {
            std::ranges::shuffle(members_, std::mt19937(1));
            for (pid_t pid : members_)
                kill(pid, SIGKILL);
            for (pid_t pid : members_)
                waitpid(pid, nullptr, 0);
            members_.clear();
        }

    private:
        int ready_[2] = {-1, -1}, go_[2] = {-1, -1};
        std::vector<pid_t> members_;
    };

    bool answers_in_time() const {
        return ask_service(serving.socket_name(), patience_ms).is == service_report::state::running;
    }
};

TEST_F(service, CountsProcessesOfAUserUpToTheLimit) {
    auto registers_as_nobody = [this] { return become(nobody) && ask_to_register() == HF_REPLY_DONE; };
    {
        crowd users;
        for (std::size_t i = 0; i < processes_max; i++)
            users.add(registers_as_nobody);
        EXPECT_EQ(watcher->followed_processes(), processes_max);
        users.add([this] { return become(nobody) && ask_to_register() == HF_REPLY_OVER_LIMIT; });
        users.add([this] { return become(nobody - 1) && ask_to_register() == HF_REPLY_DONE; });
        users.add([this] { return ask_to_register() == HF_REPLY_DONE; });
        EXPECT_EQ(serving.status().refusals_total, 1u);
    }
    crowd later;
    later.add(registers_as_nobody);
    EXPECT_EQ(watcher->followed_processes(), 1u) << "the others have ended";
}

// It connects as nobody, and is a program with other rights when it asks to be followed: somebody else may have said
// where its records are.
TEST_F(service, DoesNotFollowAProcessThatHasGainedRights) {
    crowd users;
    users.add([this] {
        if (!become(nobody))
            return false;
        int connection = hf_connect(serving.socket_name().c_str(), patience_ms);
        prctl(PR_SET_DUMPABLE, 0); // as exec of a set-user-ID program does
        return reply_on(connection) == HF_REPLY_FAILED;
    });
    EXPECT_EQ(watcher->followed_processes(), 0u);
}

// It may have called exec before it was its turn: its records are elsewhere then.
TEST_F(service, DoesNotFollowAProcessThatHasGivenUpAsking) {
    int gone[2];
    ASSERT_EQ(pipe(gone), 0);
    auto when_it_has_gone = [&](const peer &, hf_request_kind, std::size_t) {
        char byte;
        return read(gone[0], &byte, 1) == 1 ? HF_REPLY_DONE : HF_REPLY_FAILED;
    };
    monitor_server slow(watcher.get(), listening_socket(), when_it_has_gone);
    crowd askers;
    askers.add([&] {
        hf_request request{};
        request.version = HF_REGISTRATION_VERSION;
        request.kind = HF_REQUEST_REGISTER;
        request.tls_offset = hf_thread_record_tls_offset();
        int connection = hf_connect(slow.socket_name().c_str(), patience_ms);
        bool asked = hf_send_message(connection, &request, sizeof(request), -1);
        close(connection);
        return asked && write(gone[1], "", 1) == 1;
    });
    comes_true([&] { return slow.status().refusals_total > 0; });
    EXPECT_EQ(slow.status().refusals_total, 1u);
    EXPECT_EQ(slow.status().registrations_total, 0u);
    EXPECT_EQ(watcher->followed_processes(), 0u);
    close(gone[0]);
    close(gone[1]);
}

TEST_F(service, ForkedChildrenAreFollowedToo) {
    crowd family;
    family.add([this] {
        if (ask_to_register() != HF_REPLY_DONE)
            return false;
        pid_t parent = getpid(), child = fork();
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            while (getppid() == parent) // it may have been killed before we asked to be told
                pause();
            _exit(0);
        }
        return child > 0;
    });
    EXPECT_EQ(watcher->followed_processes(), 2u);
}

TEST_F(service, TenThousandConnections) {
    for (int i = 0; i < 10'000; i++)
        close(hf_connect(serving.socket_name().c_str(), patience_ms));
    EXPECT_TRUE(answers_in_time());
}

// As many silent visitors as a user may have, and more, while another user registers. Tried again where the machine,
// not the service, has kept that one waiting.
TEST_F(service, SilentVisitorsKeepNobodyElseWaiting) {
    auto time_beside_them = [this] {
        crowd users;
        std::vector<int> silent;
        users.add([&] {
            if (!become(nobody))
                return false;
            for (int i = 0; i < 500; i++)
                silent.push_back(hf_connect(serving.socket_name().c_str(), patience_ms));
            long told = 0;
            for (int turn = 0; turn < 20'000 && told < 300; turn++) {
                usleep(1000);
                told += std::ranges::count_if(silent, [](int fd) {
                    hf_reply reply{};
                    return recv(fd, &reply, sizeof(reply), MSG_DONTWAIT) == sizeof(reply) &&
                           reply.status == HF_REPLY_OVER_LIMIT;
                });
            }
            return told >= 300;
        });
        auto began = std::chrono::steady_clock::now();
        users.add([this] { return become(nobody - 1) && ask_to_register() == HF_REPLY_DONE; });
        EXPECT_TRUE(answers_in_time());
        auto took = std::chrono::steady_clock::now() - began;
        users.add([this] { return become(nobody) && is_registered_in_the_end(); });
        return took;
    };
    constexpr std::chrono::milliseconds long_for_two(900);
    constexpr int tries = 20;
    auto took = time_beside_them();
    for (int again = 1; again < tries && took >= long_for_two; again++)
        took = time_beside_them();
    EXPECT_LT(took, long_for_two) << "the silent ones' patience";
}

// To close a stranger's file may take as long as the stranger likes, and a process that lets go of it last closes it.
// So none gets in: neither with the request, nor behind it.
TEST_F(service, TakesNoDescriptors) {
    int option = 0;
    socklen_t length = sizeof(option);
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    int connection = hf_connect(serving.socket_name().c_str(), patience_ms);
    if (getsockopt(connection, SOL_SOCKET, SO_PASSRIGHTS, &option, &length) != 0 && errno == ENOPROTOOPT)
        GTEST_SKIP() << "before Linux 6.16 there is no way to refuse them";
    char byte = 0;
    EXPECT_FALSE(hf_send_message(connection, &byte, 1, ends[0]));
    EXPECT_EQ(errno, EPERM);
    EXPECT_TRUE(answers_in_time());
    EXPECT_EQ(reply_on(connection), HF_REPLY_DONE) << "without one it is served";
    close(ends[0]);
    close(ends[1]);
}

TEST_F(service, SurvivesTheEndOfItsDescriptors) {
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    crowd clients;
    int next = open("/dev/null", O_RDONLY | O_CLOEXEC);
    close(next);
    rlimit few = {.rlim_cur = static_cast<rlim_t>(next) + 4, .rlim_max = before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    clients.add([&] { // not limited any more: the server in its parent is
        setrlimit(RLIMIT_NOFILE, &before);
        std::vector<int> held;
        for (int i = 0; i < 200; i++)
            held.push_back(hf_connect(serving.socket_name().c_str(), patience_ms));
        for (int fd : held)
            close(fd);
        return is_registered_in_the_end();
    });
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_TRUE(answers_in_time());
}

TEST_F(service, IsReportedAsWhatItIs) {
    using enum service_report::state;
    EXPECT_EQ(ask_service("/no/such/socket").is, absent);
    EXPECT_EQ(ask_service("").is, absent);
    std::string gone = "/tmp/holdfast-service-test." + std::to_string(getpid());
    {
        listening_socket mute(gone, std::nullopt);
        rename(gone.c_str(), (gone + ".kept").c_str());
    }
    EXPECT_EQ(ask_service(gone + ".kept").is, dead);
    unlink((gone + ".kept").c_str());
    {
        monitor_server bare(nullptr, listening_socket(gone, std::nullopt), everybody_up_to(1));
        EXPECT_EQ(ask_service(gone, patience_ms).is, without_monitor);
    }
    EXPECT_EQ(ask_service(gone).is, absent) << "it has taken its socket away";
    {
        monitor_server for_root(watcher.get(), listening_socket(gone, gid_t{0}), everybody_up_to(1));
        EXPECT_EQ(ask_service(gone, patience_ms).is, running);
        crowd users;
        users.add([&] { return setgid(nobody) == 0 && become(nobody) && ask_service(gone).is == forbidden; });
    }
}

// The storm: processes with preempted holders, in two scopes where there are two CPUs, killed in any order.
TEST_F(service, KilledHoldersLeaveNothingInTheCount) {
    constexpr int processes = 1000;
    precedence over_holders;
    crowd holders;
    for (int i = 0; i < processes; i++)
        holders.add([this, i] {
            stay_on({i % 2});
            bool registered = ask_to_register() == HF_REPLY_DONE;
            hf_critical_enter(hf_self());
            return registered;
        });
    holders.let_go();
    auto most = [](std::uint64_t count) { return count > processes / 2; };
    EXPECT_TRUE(most(count_settles(*watcher, most))) << "they are preempted";
    EXPECT_GT(watcher->page().scope[HF_SCOPE_MACHINE].preempted_critical_sections, 0u);
    EXPECT_EQ(watcher->followed_processes(), static_cast<std::uint64_t>(processes));
    serving.reconsider_scopes();
    EXPECT_EQ(watcher->followed_processes(), static_cast<std::uint64_t>(processes));
    holders.kill_all();
    EXPECT_EQ(count_becomes(*watcher, 0), 0u);
    EXPECT_TRUE(watcher->audit());
    for (const hf_hint_scope &each : watcher->page().scope)
        EXPECT_EQ(each.preempted_critical_sections, 0u);
    EXPECT_EQ(watcher->page().repairs_total, 0u);
}

TEST_F(service, AnAuditFindsAWrongCountAndSetsItRight) {
    for (std::int64_t by : {3, -2}) {
        std::uint64_t repairs = watcher->page().repairs_total;
        EXPECT_TRUE(watcher->audit());
        EXPECT_EQ(watcher->page().repairs_total, repairs) << "nothing to repair";
        watcher->spoil_count(by);
        EXPECT_EQ(watcher->page().scope[HF_SCOPE_MACHINE].preempted_critical_sections, static_cast<std::uint64_t>(by));
        EXPECT_TRUE(watcher->audit());
        EXPECT_EQ(watcher->page().scope[HF_SCOPE_MACHINE].preempted_critical_sections, 0u);
        EXPECT_EQ(watcher->page().repairs_total, repairs + 1);
    }
    // With a thread that is rightly counted.
    followed_child holder(*watcher, [] {
        hf_critical_enter(hf_self());
        for (;;)
            pause();
    });
    EXPECT_EQ(count_becomes(*watcher, 1), 1u);
    watcher->spoil_count(5);
    EXPECT_TRUE(watcher->audit());
    EXPECT_EQ(watcher->page().scope[HF_SCOPE_MACHINE].preempted_critical_sections, 1u);
}

} // namespace
} // namespace holdfast::test
