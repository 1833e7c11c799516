// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/oversub/scheduler_keeper.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <pthread.h>
#include <sys/resource.h>

#include "base/signals_blocked.hpp"

namespace holdfast::cli {
namespace {

constexpr std::chrono::milliseconds look_every{250};

std::unique_ptr<scheduler> load_scheduler(const scheduled_threads &whose) {
    using reach = scheduler::reach;
    using spinners = scheduler::spinners;
    using holders = scheduler::holders;
    return std::make_unique<scheduler>(whose.all ? reach::whole_machine : reach::asking_threads,
                                       whose.detect_spinning ? spinners::are_detected : spinners::run_on,
                                       whose.holders_as_others ? holders::are_as_others : holders::go_on);
}

void add(hf_scheduler_totals &sum, const hf_scheduler_totals &more) {
    sum.blocked += more.blocked;
    sum.left_asleep += more.left_asleep;
    sum.woken += more.woken;
    sum.interrupted += more.interrupted;
    sum.expired += more.expired;
    sum.longer += more.longer;
    sum.first += more.first;
}

// This thread alone: more threads than CPUs keep it from loading otherwise. Called when the kernel's own scheduler is
// in place: that one does not get to know a nice value that a thread is given under sched_ext (Linux 7.3), and to set
// the same again is no change.
void hurry_under_own_scheduler() {
    setpriority(PRIO_PROCESS, 0, -20);
}

void ask_for_threads_of(const std::filesystem::path &process) {
    std::error_code gone;
    for (const auto &thread : std::filesystem::directory_iterator(process / "task", gone))
        ask_for_scheduler(std::atoi(thread.path().filename().c_str()));
}

void ask_for_programs(const std::vector<std::string> &names) {
    std::error_code gone;
    for (const auto &process : std::filesystem::directory_iterator("/proc", gone)) {
        std::ifstream file(process.path() / "comm");
        std::string name;
        if (std::getline(file, name) && std::find(names.begin(), names.end(), name) != names.end())
            ask_for_threads_of(process.path());
    }
}

void ask_for_processes_in(const std::filesystem::path &cgroup) {
    std::ifstream file(cgroup / "cgroup.procs");
    for (std::string process; std::getline(file, process);)
        ask_for_threads_of(std::filesystem::path("/proc") / process);
}

void ask_for_cgroup(const std::filesystem::path &cgroup) {
    ask_for_processes_in(cgroup);
    std::error_code gone;
    for (const auto &below : std::filesystem::recursive_directory_iterator(cgroup, gone)) {
        if (below.is_directory(gone))
            ask_for_processes_in(below.path());
    }
}

} // namespace

scheduler_keeper::scheduler_keeper(scheduled_threads whose)
    : whose_(std::move(whose)), scheduler_(load_scheduler(whose_)) {
    ask_for_those_meant();
    signals_blocked for_the_other; // they are the main thread's
    looker_ = std::jthread([this](const std::stop_token &stop) { look(stop); });
}

void scheduler_keeper::look(const std::stop_token &stop) {
    while (!stop.stop_requested()) {
        std::this_thread::sleep_for(look_every);
        look_once();
        ask_for_those_meant();
    }
}

// A thread that has been asked for starts others that are scheduled, too: those that others start are found here.
void scheduler_keeper::ask_for_those_meant() const {
    if (!whose_.programs.empty())
        ask_for_programs(whose_.programs);
    if (!whose_.cgroup.empty())
        ask_for_cgroup(whose_.cgroup);
}

void scheduler_keeper::look_once() {
    std::lock_guard guard(mutex_);
    if (!scheduler_)
        return;
    std::string why = scheduler_->why_thrown_out();
    if (why.empty())
        return;
    add(of_those_before_, scheduler_->totals());
    spinning_before_ += scheduler_->spinning();
    bool again = scheduler_->wants_restart();
    scheduler_ = nullptr;
    why_gone_ = why;
    if (!again)
        return;
    hurry_under_own_scheduler();
    try {
        scheduler_ = load_scheduler(whose_);
        why_gone_.clear();
    } catch (const scheduler_unavailable &unavailable) {
        why_gone_ = unavailable.what();
    }
}

std::string scheduler_keeper::why_gone() const {
    std::lock_guard guard(mutex_);
    return why_gone_;
}

hf_scheduler_totals scheduler_keeper::totals() const {
    std::lock_guard guard(mutex_);
    hf_scheduler_totals sum = of_those_before_;
    if (scheduler_)
        add(sum, scheduler_->totals());
    return sum;
}

spin_totals scheduler_keeper::spinning() const {
    std::lock_guard guard(mutex_);
    spin_totals sum = spinning_before_;
    if (scheduler_)
        sum += scheduler_->spinning();
    return sum;
}

} // namespace holdfast::cli
