// SPDX-License-Identifier: MIT OR Apache-2.0
// Counts by scope: programs that can't meet on a CPU do not hear of each other's holders, those that can always do, and
// nobody misses a holder of its own while it is moved (scope.S1).
//
// Shown able to fail: a group that is behind arrives all the same: AHolderIsHeardWhileItIsMoved,
// AHolderKeepsItsProgramInTheMachinesScope. `intruded_on` never set:
// AProcessThatComesToTheCpuOfOthersIsHeardThere. A mark cleared from another scope than it was counted in:
// MovesLeaveNothingInTheCounts. Circles that do not grow: ProcessesThatMeetThroughOthersShareAScope. Users not looked
// at: UsersCanBeKeptApart and others. Empty groups kept: AnEndedProcessIsInNobodysWay and others. An audit of the
// machine's count alone: AnAuditLooksAtEachScope. Groups left as they were by `reset`:
// ASuccessorBeginsWithTheMachinesScope.
#include <algorithm>
#include <atomic>
#include <poll.h>
#include <set>
#include <sys/mount.h>
#include <thread>
#include <vector>

#include "cli/common/many_descriptors.hpp"
#include "hint/hint.h"
#include "hint/registration.h"
#include "monitor/followed_child.hpp"
#include "monitor/registers.hpp"
#include "monitor/server/monitor_server.hpp"

namespace holdfast::test {
namespace {

cpu_set only(int cpu) {
    cpu_set cpus;
    cpus.set(static_cast<std::size_t>(cpu));
    return cpus;
}

bool run_on(const cpu_set &cpus) {
    std::uint64_t words[HF_HINT_CPUS / 64];
    to_words(cpus, words);
    return sched_setaffinity(0, sizeof(words), reinterpret_cast<cpu_set_t *>(words)) == 0;
}

// A registered process that does as it is told.
class program {
public:
    struct view {
        std::uint32_t scope;
        std::uint64_t count; // that its waiters ask
    };

    program(const monitor_server &serving, const cpu_set &cpus, uid_t user = 0) {
        EXPECT_EQ(pipe2(orders_, O_CLOEXEC), 0);
        EXPECT_EQ(pipe2(answers_, O_CLOEXEC), 0);
        pid_ = fork();
        if (pid_ == 0)
            live(serving, cpus, user);
        close(orders_[0]);
        close(answers_[1]);
        view registered = answer();
        EXPECT_NE(registered.scope, ~0u) << "it is registered";
    }
    ~program() { end(); }
    program(const program &) = delete;
    program &operator=(const program &) = delete;

    void end() {
        if (pid_ < 0)
            return;
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
        pid_ = -1;
        close(orders_[1]);
        close(answers_[0]);
    }

    // From when these return its thread is critical, or not, and on its way to sleep.
    void hold() const { tell({.what = order::hold, .cpus = {}}); }
    void let_go() const { tell({.what = order::let_go, .cpus = {}}); }
    void use(const cpu_set &cpus) const { tell({.what = order::use, .cpus = cpus}); }
    void have_a_thread_on(const cpu_set &cpus) const { tell({.what = order::have_thread, .cpus = cpus}); }
    view look() const { return tell({.what = order::look, .cpus = {}}); }
    std::uint32_t scope() const { return look().scope; }

    // Polls its count until it is asked for the lowest that it has seen.
    void watch() const { tell({.what = order::watch, .cpus = {}}); }
    std::uint64_t lowest_seen() const { return tell({.what = order::look, .cpus = {}}).count; }

private:
    struct order {
        enum kind { hold, let_go, use, have_thread, look, watch } what;
        cpu_set cpus;
    };

    view tell(const order &what) const {
        EXPECT_EQ(write(orders_[1], &what, sizeof(what)), static_cast<ssize_t>(sizeof(what)));
        return answer();
    }

    view answer() const {
        view said{.scope = ~0u, .count = ~std::uint64_t{0}};
        EXPECT_EQ(read(answers_[0], &said, sizeof(said)), static_cast<ssize_t>(sizeof(said)));
        return said;
    }

    static view view_now() {
        const hf_hint_page *page = hf_load_relaxed(&hf_hint);
        std::uint32_t scope = hf_load_relaxed(&page->group[hf_own_group].reads);
        return {.scope = scope, .count = hf_load_relaxed(&page->scope[scope].preempted_critical_sections)};
    }

    static view lowest_until_asked(int asked) {
        view lowest = view_now();
        for (pollfd more = {.fd = asked, .events = POLLIN, .revents = 0}; poll(&more, 1, 0) == 0;)
            lowest.count = std::min(lowest.count, view_now().count);
        return lowest;
    }

    [[noreturn]] void live(const monitor_server &serving, const cpu_set &cpus, uid_t user) const {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        setenv(HF_SOCKET_VARIABLE, serving.socket_name().c_str(), 1);
        close_all_but(std::min(orders_[0], answers_[1]), std::max(orders_[0], answers_[1]));
        bool well = run_on(cpus) && (user == 0 || become(user));
        view said = well && registers() ? view_now() : view{.scope = ~0u, .count = 0};
        for (;;) {
            if (write(answers_[1], &said, sizeof(said)) != sizeof(said))
                _exit(1);
            order next;
            if (read(orders_[0], &next, sizeof(next)) != sizeof(next))
                _exit(1);
            said = view_now();
            obey(next, said);
        }
    }

    // Copies of a monitor's descriptors would keep that one at work.
    static void close_all_but(int first, int second) {
        close_range(3, static_cast<unsigned>(first) - 1, 0);
        if (second > first + 1)
            close_range(static_cast<unsigned>(first) + 1, static_cast<unsigned>(second) - 1, 0);
        close_range(static_cast<unsigned>(second) + 1, ~0u, 0);
    }

    void obey(const order &next, view &said) const {
        switch (next.what) {
        case order::hold: hf_critical_enter(hf_self()); break;
        case order::let_go: hf_critical_leave(hf_self()); break;
        case order::use: run_on(next.cpus); break;
        case order::have_thread: have_thread(next.cpus); break;
        case order::look: break;
        case order::watch:
            [[maybe_unused]] ssize_t told = write(answers_[1], &said, sizeof(said));
            said = lowest_until_asked(orders_[0]);
            order asked;
            [[maybe_unused]] ssize_t got = read(orders_[0], &asked, sizeof(asked));
            break;
        }
    }

    static void have_thread(const cpu_set &cpus) {
        std::atomic<bool> there = false;
        std::thread([&] {
            run_on(cpus);
            there = true;
            for (;;)
                pause();
        }).detach();
        while (!there)
            usleep(1000);
    }

    pid_t pid_ = -1;
    int orders_[2] = {-1, -1}, answers_[2] = {-1, -1};
};

class scoped : public testing::Test {
protected:
    void SetUp() override {
        if (!all.test(0) || !all.test(1))
            GTEST_SKIP() << "needs CPUs 0 and 1";
        watcher = monitor_or_skip();
        serve(scoping::cpus);
    }

    void serve(scoping by) {
        serving.reset();
        serving = std::make_unique<monitor_server>(watcher.get(), listening_socket(), everybody_up_to(1000), by);
    }

    program started(const cpu_set &cpus, uid_t user = 0) const { return {*serving, cpus, user}; }

    std::uint64_t count_of(std::uint32_t scope) const {
        return hf_load_relaxed(&watcher->page().scope[scope].preempted_critical_sections);
    }

    // Waits until that scope has so many.
    void expect_count(std::uint32_t scope, std::uint64_t wanted) const {
        comes_true([&] { return count_of(scope) == wanted; });
        EXPECT_EQ(count_of(scope), wanted) << "in scope " << scope;
    }

    // Until it sleeps: one that was preempted on the way is counted too, but may still move.
    void put_to_sleep_holding(const program &holder) const {
        const std::uint64_t &sleeps = watcher->page().scope[HF_SCOPE_MACHINE].sleeps_total;
        std::uint64_t before = hf_load_relaxed(&sleeps);
        holder.hold();
        EXPECT_TRUE(comes_true([&] { return hf_load_relaxed(&sleeps) != before; }));
    }

    void expect_good_books() const {
        auto all_are_zero = [&] {
            return std::ranges::all_of(watcher->page().scope, [](const hf_hint_scope &each) {
                return hf_load_relaxed(&each.preempted_critical_sections) == 0;
            });
        };
        EXPECT_TRUE(comes_true(all_are_zero));
        EXPECT_TRUE(watcher->audit());
        EXPECT_EQ(watcher->page().repairs_total, 0u);
        EXPECT_EQ(watcher->page().uncounted_total, 0u);
    }

    const cpu_set all = online_cpus().value_or(cpu_set());
    const cpu_set rest = all & ~only(0); // of the machine, without CPU 0
    std::unique_ptr<monitor> watcher;
    std::unique_ptr<monitor_server> serving;
};

TEST_F(scoped, ProgramsOfOtherCpusHaveACountOfTheirOwn) {
    program a = started(only(0)), neighbour = started(only(0)), b = started(rest);
    EXPECT_NE(a.scope(), HF_SCOPE_MACHINE);
    EXPECT_NE(b.scope(), HF_SCOPE_MACHINE);
    EXPECT_NE(a.scope(), b.scope());
    EXPECT_EQ(a.scope(), neighbour.scope());
    put_to_sleep_holding(a);
    expect_count(neighbour.scope(), 1);
    expect_count(HF_SCOPE_MACHINE, 1);
    EXPECT_EQ(neighbour.look().count, 1u);
    EXPECT_EQ(b.look().count, 0u);
    put_to_sleep_holding(b);
    expect_count(HF_SCOPE_MACHINE, 2);
    EXPECT_EQ(neighbour.look().count, 1u);
    a.let_go();
    b.let_go();
    expect_good_books();
}

TEST_F(scoped, AProcessThatMayRunAnywhereListensToAll) {
    program everywhere = started(all), a = started(only(0));
    EXPECT_EQ(everywhere.scope(), HF_SCOPE_MACHINE);
    EXPECT_EQ(a.scope(), HF_SCOPE_MACHINE) << "it may meet the other one";
    put_to_sleep_holding(everywhere);
    expect_count(HF_SCOPE_MACHINE, 1);
    EXPECT_EQ(a.look().count, 1u);
}

TEST_F(scoped, ANewProcessMakesOthersHearOfEachOther) {
    program a = started(only(0)), b = started(rest);
    ASSERT_NE(a.scope(), b.scope());
    put_to_sleep_holding(a);
    expect_count(HF_SCOPE_MACHINE, 1);
    EXPECT_EQ(b.look().count, 0u);
    program everywhere = started(all);
    EXPECT_EQ(everywhere.look().count, 1u);
    EXPECT_EQ(b.look().count, 1u);
    EXPECT_EQ(b.scope(), HF_SCOPE_MACHINE);
    a.let_go();
    expect_good_books();
}

TEST_F(scoped, AnEndedProcessIsInNobodysWay) {
    program a = started(only(0)), b = started(rest), everywhere = started(all);
    EXPECT_EQ(a.scope(), HF_SCOPE_MACHINE);
    everywhere.end();
    serving->reconsider_scopes();
    EXPECT_NE(a.scope(), HF_SCOPE_MACHINE);
    EXPECT_NE(b.scope(), HF_SCOPE_MACHINE);
    EXPECT_NE(a.scope(), b.scope());
    std::uint32_t of_b = b.scope();
    put_to_sleep_holding(b);
    expect_count(of_b, 1);
    expect_count(HF_SCOPE_MACHINE, 1);
    EXPECT_EQ(a.look().count, 0u);
    b.let_go();
    expect_good_books();
}

// Its mark is in the machine's count alone, so there it has to be asked for.
TEST_F(scoped, AHolderKeepsItsProgramInTheMachinesScope) {
    program a = started(only(0)), b = started(rest), everywhere = started(all);
    put_to_sleep_holding(a);
    expect_count(HF_SCOPE_MACHINE, 1);
    everywhere.end();
    for (int looks = 0; looks < 3; looks++)
        serving->reconsider_scopes();
    std::uint32_t of_b = b.scope();
    EXPECT_NE(of_b, HF_SCOPE_MACHINE) << "it is not in others' way";
    EXPECT_EQ(watcher->page().group[1].reads, static_cast<std::uint32_t>(HF_SCOPE_MACHINE));
    a.let_go();
    expect_count(HF_SCOPE_MACHINE, 0);
    serving->reconsider_scopes();
    EXPECT_NE(a.scope(), HF_SCOPE_MACHINE);
    expect_good_books();
}

TEST_F(scoped, CpusMayChange) {
    program a = started(only(0)), b = started(rest);
    for (int round = 0; round < 3; round++) {
        EXPECT_NE(a.scope(), b.scope());
        a.use(all);
        serving->reconsider_scopes();
        EXPECT_EQ(a.scope(), HF_SCOPE_MACHINE);
        EXPECT_EQ(b.scope(), HF_SCOPE_MACHINE);
        a.use(only(0));
        serving->reconsider_scopes();
    }
    EXPECT_NE(a.scope(), HF_SCOPE_MACHINE);
    expect_good_books();
}

TEST_F(scoped, AThreadOnOtherCpusCounts) {
    program a = started(only(0)), b = started(rest);
    a.have_a_thread_on(only(1));
    serving->reconsider_scopes();
    EXPECT_EQ(a.scope(), b.scope());
    EXPECT_EQ(a.scope(), HF_SCOPE_MACHINE);
}

TEST_F(scoped, AProcessThatComesToTheCpuOfOthersIsHeardThere) {
    program a = started(only(0)), b = started(only(1));
    std::uint32_t of_a = a.scope(), of_b = b.scope();
    ASSERT_NE(of_a, of_b);
    a.use(only(1)); // and nobody has looked
    put_to_sleep_holding(a);
    expect_count(of_b, 1);
    expect_count(of_a, 1);
    expect_count(HF_SCOPE_MACHINE, 1);
    EXPECT_EQ(b.scope(), of_b);
    a.let_go();
    expect_good_books();
}

// A program whose holder stands still is moved to and fro, and asks all the time.
TEST_F(scoped, AHolderIsHeardWhileItIsMoved) {
    program holder = started(only(0)), waiter = started(only(0));
    program b = started(rest);
    ASSERT_EQ(holder.scope(), waiter.scope());
    ASSERT_NE(waiter.scope(), HF_SCOPE_MACHINE);
    put_to_sleep_holding(holder);
    expect_count(HF_SCOPE_MACHINE, 1);
    waiter.watch();
    for (int round = 0; round < 8; round++) {
        {
            program everywhere = started(all);
        }
        serving->reconsider_scopes();
    }
    EXPECT_EQ(waiter.lowest_seen(), 1u);
    holder.let_go();
    expect_good_books();
}

// Marks are made and cleared while groups are moved.
TEST_F(scoped, MovesLeaveNothingInTheCounts) {
    program b = started(rest);
    {
        std::vector<std::unique_ptr<program>> storm;
        for (int i = 0; i < 8; i++)
            storm.push_back(std::make_unique<program>(*serving, i % 2 ? only(0) : rest));
        for (int round = 0; round < 100; round++) {
            for (std::size_t i = 0; i < storm.size(); i++)
                storm[i]->hold();
            storm[round % 8]->use(round % 3 ? only(0) : round % 2 ? all : rest);
            serving->reconsider_scopes();
            for (std::size_t i = 0; i < storm.size(); i++)
                storm[i]->let_go();
        }
        expect_good_books();
        for (auto &each : storm)
            each->hold();
        expect_count(HF_SCOPE_MACHINE, 8);
        EXPECT_TRUE(watcher->audit());
        serving->reconsider_scopes();
    } // killed holding
    expect_good_books();
}

TEST_F(scoped, UsersCanBeKeptApart) {
    serve(scoping::users);
    program liar = started(all, 1000), other = started(all, 1001), others_other = started(only(0), 1001);
    program of_root = started(all);
    std::set<std::uint32_t> scopes{liar.scope(), other.scope(), of_root.scope()};
    EXPECT_EQ(scopes.size(), 3u);
    EXPECT_FALSE(scopes.contains(HF_SCOPE_MACHINE));
    EXPECT_EQ(other.scope(), others_other.scope());
    put_to_sleep_holding(liar);
    expect_count(HF_SCOPE_MACHINE, 1);
    serving->reconsider_scopes();
    EXPECT_EQ(other.look().count, 0u);
    EXPECT_EQ(of_root.look().count, 0u);
    put_to_sleep_holding(other);
    expect_count(HF_SCOPE_MACHINE, 2);
    EXPECT_EQ(others_other.look().count, 1u);
}

TEST_F(scoped, WithoutScopesLeftItIsTheMachines) {
    ASSERT_TRUE(cli::allow_many_descriptors());
    serve(scoping::users);
    constexpr uid_t users = HF_HINT_GROUPS + 10;
    std::vector<std::unique_ptr<program>> crowd;
    std::set<std::uint32_t> scopes;
    for (uid_t i = 0; i < users; i++) {
        crowd.push_back(std::make_unique<program>(*serving, all, 1000 + i));
        std::uint32_t scope = crowd.back()->scope();
        EXPECT_EQ(scope != HF_SCOPE_MACHINE, i + 1 < HF_HINT_SCOPES);
        scopes.insert(scope);
    }
    EXPECT_EQ(scopes.size(), static_cast<std::size_t>(HF_HINT_SCOPES));
    put_to_sleep_holding(*crowd.front());
    expect_count(HF_SCOPE_MACHINE, 1);
    EXPECT_EQ(crowd.back()->look().count, 1u) << "it hears of all";
    EXPECT_EQ(crowd[1]->look().count, 0u);
    serving->reconsider_scopes();
    EXPECT_EQ(crowd.back()->look().count, 1u);
    crowd.clear();
    serving->reconsider_scopes();
    EXPECT_NE(started(all, 999).scope(), HF_SCOPE_MACHINE) << "there are again";
    expect_good_books();
}

TEST_F(scoped, WithoutScopesAllListenToAll) {
    serve(scoping::machine);
    program a = started(only(0)), b = started(rest);
    serving->reconsider_scopes();
    EXPECT_EQ(a.scope(), HF_SCOPE_MACHINE);
    EXPECT_EQ(b.scope(), HF_SCOPE_MACHINE);
}

TEST_F(scoped, TellsOfEachScope) {
    program a = started(only(0)), neighbour = started(only(0)), b = started(rest);
    put_to_sleep_holding(a);
    expect_count(HF_SCOPE_MACHINE, 1);
    std::uint32_t of_b = b.scope(), of_a = neighbour.scope();
    auto told = std::make_unique<hf_monitor_status>(serving->status());
    EXPECT_EQ(told->scope[of_a].registered_processes, 2u);
    EXPECT_EQ(told->scope[of_b].registered_processes, 1u);
    EXPECT_EQ(told->scope[HF_SCOPE_MACHINE].registered_processes, 0u);
    EXPECT_EQ(cpus_of_words(told->scope[of_a].cpus), only(0));
    EXPECT_EQ(cpus_of_words(told->scope[of_b].cpus), rest);
    EXPECT_EQ(told->scope[of_a].preempted_critical_sections, 1u);
    EXPECT_EQ(told->scope[of_b].preempted_critical_sections, 0u);
    EXPECT_GT(told->scope[of_a].sleeps_total + told->scope[of_a].preemptions_total, 0u);
    EXPECT_EQ(told->scope[of_b].sleeps_total + told->scope[of_b].preemptions_total, 0u);
    EXPECT_EQ(told->preempted_critical_sections, 1u);
}

TEST_F(scoped, AnAuditLooksAtEachScope) {
    program a = started(only(0)), b = started(rest);
    std::uint32_t of_a = a.scope();
    put_to_sleep_holding(a);
    expect_count(of_a, 1);
    EXPECT_TRUE(watcher->audit());
    EXPECT_EQ(watcher->page().repairs_total, 0u);
    watcher->spoil_count(2, of_a);
    watcher->spoil_count(-1, HF_HINT_SCOPES - 1);
    EXPECT_TRUE(watcher->audit());
    EXPECT_EQ(watcher->page().repairs_total, 2u);
    expect_count(of_a, 1);
    expect_count(HF_HINT_SCOPES - 1, 0);
    expect_count(HF_SCOPE_MACHINE, 1);
}

TEST_F(scoped, ASuccessorBeginsWithTheMachinesScope) {
    ASSERT_EQ(unshare(CLONE_NEWNS), 0) << "needs root";
    ASSERT_EQ(mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
    char name[] = "/tmp/holdfast-scopes-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    ASSERT_EQ(mount("none", name, "bpf", 0, nullptr), 0);
    const monitor::pins pins{std::string(name) + "/holdfast"};
    serving.reset();
    watcher.reset();
    watcher = std::make_unique<monitor>(pins);
    serve(scoping::cpus);
    {
        program a = started(only(0)), b = started(rest);
        ASSERT_NE(a.scope(), b.scope());
        serving.reset();
        watcher.reset();
        watcher = std::make_unique<monitor>(pins);
        serve(scoping::cpus);
        EXPECT_TRUE(watcher->has_taken_over());
        EXPECT_EQ(a.scope(), HF_SCOPE_MACHINE);
        EXPECT_EQ(b.scope(), HF_SCOPE_MACHINE);
        serving->reconsider_scopes();
        EXPECT_NE(a.scope(), HF_SCOPE_MACHINE);
        EXPECT_NE(b.scope(), HF_SCOPE_MACHINE);
        EXPECT_NE(a.scope(), b.scope());
        program new_one = started(all);
        EXPECT_EQ(a.scope(), HF_SCOPE_MACHINE);
    }
    expect_good_books();
    watcher->unpin();
    serving.reset();
    watcher.reset();
    umount(name);
    rmdir(name);
}

TEST(cpus, AreWrittenAsLinuxDoes) {
    for (const char *list : {"", "0", "0-3", "1,3,5-7", "0-1023", "1023"})
        EXPECT_EQ(to_list(cpus_of_list(list).value()), list);
    for (const char *no_list : {"x", "3-", "3-1", "1024", "1;2", "-1", "1,,2"})
        EXPECT_FALSE(cpus_of_list(no_list)) << no_list;
    std::uint64_t words[HF_HINT_CPUS / 64];
    to_words(cpus_of_list("0,64-65,1023").value(), words);
    EXPECT_EQ(to_list(cpus_of_words(words)), "0,64-65,1023");
}

class meetings : public testing::Test {
protected:
    void add(const char *cpus, std::uint32_t user = 0) {
        groups[next++] = {.in_use = true, .cpus = cpus_of_list(cpus).value(), .user = user};
    }
    using circles = std::set<std::vector<std::uint32_t>>;
    circles met(scoping by = scoping::cpus) const {
        auto found = who_may_meet(groups, by);
        return {found.begin(), found.end()};
    }
    groups_of_processes groups{};
    std::size_t next = 1;
};

TEST_F(meetings, ProcessesThatMeetThroughOthersShareAScope) {
    add("0-1");
    add("4-5");
    add("8");
    add("1-4"); // between the first two
    add("9");
    add("0,16"); // on the edge of what is one by now
    add("16");
    EXPECT_EQ(met(), circles({{1, 2, 4, 6, 7}, {3}, {5}}));
    add("4");
    EXPECT_EQ(met(), circles({{1, 2, 4, 6, 7, 8}, {3}, {5}}));
}

TEST_F(meetings, NobodyMeetsAProcessWithoutCpus) {
    add("");
    add("0");
    EXPECT_EQ(met(), circles({{1}, {2}}));
}

TEST_F(meetings, UsersMeetTheirOwnOnly) {
    add("0-3", 1);
    add("0-3", 2);
    add("2", 1);
    EXPECT_EQ(met(), circles({{1, 2, 3}}));
    EXPECT_EQ(met(scoping::users), circles({{1, 3}, {2}}));
}

} // namespace
} // namespace holdfast::test
