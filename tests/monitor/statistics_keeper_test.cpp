// SPDX-License-Identifier: MIT OR Apache-2.0
// Which processes get memory for statistics, and may read whose. Needs no monitor in the kernel.
//
// Shown able to fail: may_read true for all (OthersAreRefused, ProcessesWithMoreRights…), or not asked in open_for (the
// same); may_read without is_still_itself (ProcessesWithMoreRights…); without fchmod (CanOnlyBeRead); without either
// fold in make_for (KeepsOneProgramsMemory…); without leaves_enough (LeavesDescriptors…); without F_SEAL_SHRINK
// (ItsProcessCannotShrinkIt); judged without close_ended (AUserGetsOnlySoMany); counters mapped from another offset
// (IsReadWhileItsProcessRuns…).
#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/descriptor_passing.h"
#include "hint/registration.h"
#include "holdfast/flexguard.h"
#include "monitor/client/statistics_reader.hpp"
#include "monitor/server/monitor_server.hpp"
#include "monitor/server/statistics_keeper.hpp"
#include "observe/observation.h"
#include "observe/rule_matches.h"
#include "patience.hpp"
#include "thread/thread_record.h"

extern "C" bool hf_registers_at_start;
bool hf_registers_at_start = false;

namespace holdfast {
namespace {

constexpr uid_t nobody = 65534;
constexpr int uses = 3 * HF_NOTED_PERIOD;

hf_flexguard_t lock = HF_FLEXGUARD_INIT;

bool become(uid_t user) {
    return setuid(user) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0;
}

// A child that runs the body, says that it has and whether it went well, and stays until it is killed here. Another one
// where it did not: programs have a tenth of a second's patience, and this machine may keep them waiting for longer.
class child {
public:
    explicit child(const std::function<bool()> &body) {
        EXPECT_TRUE(test::comes_true([&] {
            end();
            return start(body);
        }));
    }
    ~child() { end(); }
    child(const child &) = delete;
    child &operator=(const child &) = delete;
    pid_t pid() const { return pid_; }

private:
    bool start(const std::function<bool()> &body) {
        int ready[2];
        EXPECT_EQ(pipe(ready), 0);
        pid_ = fork();
        if (pid_ == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            char well = body();
            if (write(ready[1], &well, 1) != 1)
                _exit(1);
            for (;;)
                pause();
        }
        close(ready[1]);
        char well = 0;
        EXPECT_EQ(read(ready[0], &well, 1), 1);
        close(ready[0]);
        return well;
    }
    void end() {
        if (pid_ < 0)
            return;
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
        pid_ = -1;
    }

    pid_t pid_ = -1;
};

bool in_child(const std::function<bool()> &body) {
    pid_t pid = fork();
    if (pid == 0)
        _exit(body() ? 0 : 1);
    int status = -1;
    return waitpid(pid, &status, 0) == pid && status == 0;
}

peer this_process() {
    peer self;
    self.uid = getuid();
    self.pid = getpid();
    self.process = descriptor(static_cast<int>(syscall(SYS_pidfd_open, self.pid, 0)));
    return self;
}

class statistics : public testing::Test {
protected:
    monitor_server serving{nullptr, listening_socket(), everybody_up_to(8)};

    const std::string &socket() const { return serving.socket_name(); }

    // As a program does that starts, and takes a lock. False where it was not answered in time.
    bool registers_and_locks() const {
        setenv(HF_SOCKET_VARIABLE, socket().c_str(), 1);
        hf_register();
        if (!hf_statistics_are_on())
            return false;
        for (int i = 0; i < uses; i++) {
            hf_flexguard_lock(&lock);
            hf_flexguard_unlock(&lock);
        }
        return true;
    }

    int asked_for(hf_request_kind kind, pid_t process, std::uint32_t program) const {
        descriptor connection(hf_connect(socket().c_str(), 5000));
        hf_request request{};
        request.version = HF_REGISTRATION_VERSION;
        request.kind = kind;
        request.process = static_cast<std::uint32_t>(process);
        request.program = program;
        hf_reply reply{};
        int brought = -1;
        EXPECT_TRUE(hf_send_message(connection.get(), &request, sizeof(request), -1));
        EXPECT_TRUE(hf_receive_message(connection.get(), &reply, sizeof(reply), &brought));
        return brought;
    }

    std::size_t memories_of(pid_t process) const {
        auto opened = open_statistics(socket(), process);
        return opened.value ? opened.value->size() : 0;
    }

    testing::AssertionResult sees(pid_t process) const {
        auto seen = observed_processes(socket());
        auto opened = open_statistics(socket(), process);
        auto times = seen.value ? std::ranges::count(*seen.value, process) : 0;
        std::size_t memories = opened.value ? opened.value->size() : 0;
        return testing::AssertionResult(times == 1 && memories == 1)
               << times << " times among the processes " << seen.why_not << ", " << memories << " memories "
               << opened.why_not << ", " << serving.status().refusals_total
               << " refusals; it may have ended: " << std::strerror(kill(process, 0) == 0 ? 0 : errno);
    }
    bool is_refused(pid_t process) const {
        auto seen = observed_processes(socket());
        return seen.value && std::ranges::count(*seen.value, process) == 0 &&
               !open_statistics(socket(), process).why_not.empty();
    }
};

TEST_F(statistics, IsReadWhileItsProcessRunsAndLater) {
    std::optional<std::vector<statistics_reader>> readers;
    auto holder = std::make_unique<child>([&] { return registers_and_locks(); });
    EXPECT_TRUE(sees(holder->pid()));
    readers = std::move(open_statistics(socket(), holder->pid()).value);
    ASSERT_TRUE(readers && readers->size() == 1);
    pid_t pid = holder->pid();
    holder.reset();
    process_snapshot seen = readers->front().read();
    EXPECT_EQ(seen.process, pid);
    EXPECT_EQ(seen.threads.acquisitions, static_cast<std::uint64_t>(uses));
    ASSERT_EQ(seen.locks.size(), 1u);
    EXPECT_EQ(seen.locks[0].address, reinterpret_cast<std::uintptr_t>(&lock));
    EXPECT_LE(seen.locks[0].uncontended, static_cast<std::uint64_t>(uses));
    EXPECT_GT(seen.locks[0].uncontended, static_cast<std::uint64_t>(uses) - 2 * HF_NOTED_PERIOD);
    EXPECT_TRUE(is_refused(pid)) << "it has ended";
    EXPECT_EQ(serving.counters().acquisitions, static_cast<std::uint64_t>(uses));
}

// Shown able to fail: fold without add_rules_in; add_rules_in that adds what nobody watches.
TEST_F(statistics, SumsUpWhatWatchedRulesMatchedInAllProcesses) {
    auto matches = [&](unsigned times) {
        if (!registers_and_locks())
            return false;
        hf_note_rule(0, "mutex@watched");
        hf_note_rule(1, "mutex@another");
        for (unsigned i = 0; i < times; i++) {
            hf_note_rule_match(0);
            hf_note_rule_match(1);
        }
        return true;
    };
    using sums = std::map<std::string, std::uint64_t>;
    serving.watch_rules({"mutex@watched", "mutex@nowhere"});
    child lives([&] { return matches(1); });
    auto ends = std::make_unique<child>([&] { return matches(10); });
    EXPECT_EQ(serving.rule_matches(), (sums{{"mutex@watched", 11}, {"mutex@nowhere", 0}}));
    ends.reset();
    child later([&] { return matches(100); }); // the server lets go of those that have ended
    EXPECT_EQ(serving.rule_matches(), (sums{{"mutex@watched", 111}, {"mutex@nowhere", 0}}));
}

TEST_F(statistics, NeedsNoDescriptorInTheProcess) {
    child holder([&] {
        int lowest = dup(0);
        close(lowest);
        bool registered = registers_and_locks();
        int after = dup(0);
        close(after);
        return registered && after == lowest && hf_counters(hf_self())->next_look != 0;
    });
    EXPECT_TRUE(sees(holder.pid()));
}

TEST_F(statistics, OthersAreRefused) {
    if (getuid() != 0)
        GTEST_SKIP() << "needs root to become several users";
    child roots([&] { return registers_and_locks(); });
    child nobodys([&] { return become(nobody) && registers_and_locks(); });
    EXPECT_TRUE(sees(roots.pid()) && sees(nobodys.pid())) << "root reads all";
    EXPECT_TRUE(in_child([&] { return become(nobody) && sees(nobodys.pid()) && is_refused(roots.pid()); }));
    EXPECT_TRUE(in_child([&] { return become(nobody - 1) && is_refused(nobodys.pid()) && is_refused(roots.pid()); }));
}

TEST_F(statistics, ProcessesWithMoreRightsThanTheirUserAreRootsAlone) {
    if (getuid() != 0)
        GTEST_SKIP() << "needs root to become several users";
    child holder([&] { return become(nobody) && registers_and_locks() && prctl(PR_SET_DUMPABLE, 0) == 0; });
    EXPECT_TRUE(sees(holder.pid()));
    EXPECT_TRUE(in_child([&] { return become(nobody) && is_refused(holder.pid()); }));
}

TEST_F(statistics, CanOnlyBeRead) {
    child holder([&] { return registers_and_locks(); });
    descriptor memory(asked_for(HF_REQUEST_STATISTICS, holder.pid(), 0));
    ASSERT_TRUE(memory);
    EXPECT_EQ(mmap(nullptr, HF_STATISTICS_BYTES, PROT_WRITE, MAP_SHARED, memory.get(), 0), MAP_FAILED);
    EXPECT_LT(write(memory.get(), "x", 1), 0);
    EXPECT_NE(ftruncate(memory.get(), 0), 0);
    if (getuid() == 0) {
        EXPECT_TRUE(in_child([&] {
            std::string path = "/proc/self/fd/" + std::to_string(memory.get());
            return become(nobody) && open(path.c_str(), O_RDWR | O_CLOEXEC) < 0;
        }));
    }
}

TEST_F(statistics, ItsProcessCannotShrinkIt) {
    descriptor memory(asked_for(HF_REQUEST_OWN_STATISTICS, 0, 1));
    ASSERT_TRUE(memory);
    EXPECT_NE(ftruncate(memory.get(), 0), 0);
    EXPECT_NE(ftruncate(memory.get(), HF_STATISTICS_BYTES * 2), 0);
}

TEST_F(statistics, KeepsOneProgramsMemoryAndOfThatOnlySome) {
    for (std::uint32_t program = 1; program <= 6; program++)
        close(asked_for(HF_REQUEST_OWN_STATISTICS, 0, program));
    EXPECT_EQ(memories_of(getpid()), 1u);
    for (int copy = 0; copy < 6; copy++)
        close(asked_for(HF_REQUEST_OWN_STATISTICS, 0, 7));
    EXPECT_EQ(memories_of(getpid()), 4u);
}

TEST_F(statistics, AUserGetsOnlySoMany) {
    if (getuid() != 0)
        GTEST_SKIP() << "needs root to become another user";
    EXPECT_TRUE(in_child([&] {
        if (!become(nobody))
            return false;
        for (int i = 0; i < 8; i++)
            if (!in_child([&] {
                    int memory = asked_for(HF_REQUEST_OWN_STATISTICS, 0, 1);
                    bool got = memory >= 0;
                    close(memory);
                    return got;
                }))
                return false;
        std::vector<std::unique_ptr<child>> many;
        for (int i = 0; i < 8; i++)
            many.push_back(std::make_unique<child>([&] { return asked_for(HF_REQUEST_OWN_STATISTICS, 0, 1) >= 0; }));
        child refused([&] { return asked_for(HF_REQUEST_OWN_STATISTICS, 0, 1) < 0; });
        many.clear();
        child later([&] { return asked_for(HF_REQUEST_OWN_STATISTICS, 0, 1) >= 0; });
        return !testing::Test::HasFailure();
    }));
}

TEST_F(statistics, LeavesDescriptorsForRegistrations) {
    EXPECT_TRUE(in_child([] {
        rlimit few{.rlim_cur = 40, .rlim_max = 40};
        if (setrlimit(RLIMIT_NOFILE, &few) != 0)
            return false;
        std::vector<descriptor> taken;
        while (taken.empty() || taken.back().get() < 30)
            taken.emplace_back(dup(0));
        statistics_keeper keeper;
        descriptor left(dup(0));
        return keeper.make_for(this_process(), 1) < 0 && left;
    }));
}

std::uint64_t cpu_ns() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

// A request costs the server the same whether its user has a few memories or thousands: else a few users could keep all
// others from registering. By CPU time, which other processes on the machine change little. Shown able to fail: a
// close_ended that asks each owner's pidfd (a hundred times as much).
TEST_F(statistics, ARequestCostsNoMoreBesideThousandsOfMemories) {
    EXPECT_TRUE(in_child([] {
        constexpr pid_t many = 2000;
        constexpr int asked = 50;
        rlimit descriptors{.rlim_cur = 20'000, .rlim_max = 20'000};
        if (setrlimit(RLIMIT_NOFILE, &descriptors) != 0)
            return getuid() != 0; // only root may have so many
        statistics_keeper keeper;
        auto make = [&](pid_t number) {
            peer process = this_process();
            process.pid = number;
            return keeper.make_for(std::move(process), 1) >= 0;
        };
        auto cost = [&](pid_t first) {
            std::uint64_t began = cpu_ns();
            for (pid_t number = first; number < first + asked; number++) {
                EXPECT_TRUE(make(number));
                EXPECT_FALSE(keeper.open_for(this_process(), number, 1)) << "it has one";
            }
            return cpu_ns() - began;
        };
        std::uint64_t beside_few = cost(1);
        for (pid_t number = 1000; number < 1000 + many; number++)
            if (!make(number))
                return false;
        // The least of some: a host that takes the CPU away may be counted as the server's.
        std::uint64_t beside_many = cost(100);
        for (pid_t first = 200; first < 500; first += 100)
            beside_many = std::min(beside_many, cost(first));
        EXPECT_LT(beside_many, beside_few * 10);
        return !testing::Test::HasFailure();
    }));
}

} // namespace
} // namespace holdfast
