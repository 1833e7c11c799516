// SPDX-License-Identifier: MIT OR Apache-2.0
#include "monitor/monitor.hpp"

#include <atomic>
#include <bpf/bpf.h>
#include <cerrno>
#include <linux/membarrier.h>
#include <string>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/clock.h"
#include "monitor/loading.hpp"

namespace holdfast {

struct monitor::loaded {
    monitor_pins pins;
    loaded_monitor in_kernel;
    std::atomic<std::uint64_t> audits = 0;

    loaded(const std::string &directory, sight seen)
        : pins(directory), in_kernel(load_what_the_kernel_takes(pins, seen)) {}

    monitor_programs &programs() const { return *in_kernel.programs; }

    std::optional<hf_followed_process> followed(int pidfd) const {
        hf_followed_process process{};
        bool known = bpf_map_lookup_elem(programs().followed_map(), &pidfd, &process) == 0;
        return known ? std::optional(process) : std::nullopt;
    }
};

monitor::monitor(const pins &kept, sight seen) : loaded_(std::make_unique<loaded>(kept.directory, seen)) {}

monitor::~monitor() = default;

int monitor::follow(int pidfd, std::int64_t tls_offset, std::uint32_t group, std::uint32_t user) {
    int map = loaded_->programs().followed_map();
    hf_followed_process process{.tls_offset = {}, .group = group, .user = user, .since_ns = hf_monotonic_ns()};
    if (bpf_map_lookup_elem(map, &pidfd, &process) != 0 && errno != ENOENT)
        return errno;
    for (std::int64_t &known : process.tls_offset) {
        if (known == tls_offset)
            return 0;
        if (known == 0) {
            known = tls_offset;
            return bpf_map_update_elem(map, &pidfd, &process, BPF_ANY) == 0 ? 0 : errno;
        }
    }
    return EEXIST;
}

void monitor::forget(int pidfd) {
    bpf_map_delete_elem(loaded_->programs().followed_map(), &pidfd);
}

std::optional<std::uint32_t> monitor::group_of(int pidfd) const {
    auto process = loaded_->followed(pidfd);
    return process ? std::optional(process->group) : std::nullopt;
}

bool monitor::tell_absences(int pidfd, hf_process_absences &told) {
    auto process = loaded_->followed(pidfd);
    if (process && loaded_->programs().absences())
        loaded_->programs().absences()->tell(process->since_ns, told);
    return process.has_value();
}

void monitor::move_group(std::uint32_t group, std::uint32_t reads, std::uint32_t counts_in) {
    loaded_->programs().move_group(group, reads, counts_in);
}

void monitor::grant_cpu(std::uint32_t cpu, std::uint32_t scope) {
    loaded_->programs().grant_cpu(cpu, scope);
}

// A switch runs with preemption disabled, which is what this barrier waits for on every CPU.
bool monitor::wait_for_switches() {
    return syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) == 0;
}

namespace {

// All that the page can count.
std::vector<std::uint64_t> counts_of(const hf_hint_page &page) {
    std::vector<std::uint64_t> counts;
    for (const hf_hint_scope &each : page.scope)
        counts.push_back(hf_load_acquire(&each.preempted_critical_sections));
    return counts;
}

// What would show that a count has changed meanwhile: it counts up only with one of the totals.
struct snapshot {
    std::vector<std::uint64_t> counts;
    std::uint64_t ups;
    explicit snapshot(const hf_hint_page &page)
        : counts(counts_of(page)), ups(hf_load_acquire(&page.scope[HF_SCOPE_MACHINE].preemptions_total) +
                                       hf_load_acquire(&page.scope[HF_SCOPE_MACHINE].sleeps_total)) {}
    bool operator==(const snapshot &) const = default;
};

// By how much each scope's count should be more.
std::vector<std::int64_t> errors_in(const std::vector<std::uint64_t> &counts, const std::vector<std::uint64_t> &marks) {
    std::vector<std::int64_t> errors;
    for (std::size_t scope = 0; scope < counts.size(); scope++)
        errors.push_back(static_cast<std::int64_t>(marks[scope] - counts[scope]));
    return errors;
}

} // namespace

// Counts and marks do not change in one step, and a CPU may stand still in between for a whole walk: only what two
// quiet walks find alike is taken for the truth.
bool monitor::audit() {
    constexpr int tries = 20;
    const std::vector<std::int64_t> none(HF_HINT_SCOPES);
    std::vector<std::int64_t> found_before;
    for (int i = 0; i < tries; i++) {
        snapshot before(page());
        std::optional<census> found = take_census();
        if (!found)
            return false;
        if (snapshot(page()) != before)
            continue;
        std::vector<std::int64_t> errors = errors_in(before.counts, found->marks);
        if (errors == none || errors == found_before) {
            loaded_->audits++;
            for (std::uint32_t scope = 0; scope < errors.size(); scope++) {
                if (errors[scope] != 0)
                    loaded_->programs().correct(errors[scope], scope, 1);
            }
            return true;
        }
        found_before = errors;
        usleep(1000);
    }
    return false;
}

void monitor::spoil_count(std::int64_t by, std::uint32_t scope) {
    loaded_->programs().correct(by, scope, 0);
}

std::optional<census> monitor::take_census() const {
    return loaded_->programs().walk();
}

std::uint64_t monitor::audits_total() const {
    return loaded_->audits;
}

std::optional<std::uint64_t> monitor::followed_processes() const {
    std::optional<census> found = take_census();
    return found ? std::optional(found->followed_processes) : std::nullopt;
}

const std::vector<left_out_part> &monitor::left_out() const {
    return loaded_->in_kernel.left_out;
}

bool monitor::has_taken_over() const {
    return loaded_->programs().has_taken_over();
}

const std::string &monitor::why_no_pins() const {
    return loaded_->pins.why_none();
}

void monitor::unpin() {
    loaded_->programs().unpin();
}

const hf_hint_page &monitor::page() const {
    return loaded_->programs().page();
}

int monitor::page_fd() const {
    return loaded_->programs().page_fd();
}

} // namespace holdfast
