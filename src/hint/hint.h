// SPDX-License-Identifier: MIT OR Apache-2.0
// The hint: is any critical section preempted? Asked by waiters only; it decides how they wait, never who owns.
#ifndef HF_HINT_HINT_H
#define HF_HINT_HINT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/cpu.h"
#include "base/current_cpu.h"
#include "hint/hint_page.h"
#include "thread/thread_record.h"

#ifdef __cplusplus
extern "C" {
#endif

// The page that this process listens to. Without a monitor it is a page of our own that says that one critical section
// is preempted, for ever: so waiters poll hot locks alone, and no caller has to ask whether there is a monitor.
extern const struct hf_hint_page *hf_hint __attribute__((visibility("hidden")));
extern const struct hf_hint_page hf_hint_of_nobody __attribute__((visibility("hidden")));

// The group that this process belongs to on that page.
extern uint32_t hf_own_group __attribute__((visibility("hidden")));

// What the page says of the CPU that the caller runs on. NULL where it has no room for that CPU.
static inline const struct hf_hint_cpu *hf_own_cpu(const struct hf_hint_page *page) {
    unsigned cpu = hf_current_cpu();
    return HF_LIKELY(cpu < HF_HINT_CPUS) ? &page->cpu[cpu] : NULL;
}

static inline const struct hf_hint_group *hf_own_group_on(const struct hf_hint_page *page) {
    return &page->group[hf_load_relaxed(&hf_own_group)];
}

static inline bool hf_is_left_alone_on(const struct hf_hint_page *page) {
    return hf_load_relaxed(&hf_own_group_on(page)->left_alone_until_ns) != 0;
}

// Do threads of this process, or of others of its group, switch inside critical sections all the time? Then the monitor
// does not look at them, and no hint about them is any good (monitor/bpf/switch_storm.bpf.h).
static inline bool hf_is_in_switch_storm(void) {
    return hf_is_left_alone_on(hf_load_relaxed(&hf_hint));
}

// Spinning pays while every lock holder and every next waiter is running (paper, section 3), and, beyond the paper,
// while nobody else wants the CPU that the waiter spins on, nor the CPU time that it takes (docs/flexguard.md).
static inline bool hf_spinning_pays(void) {
    if (HF_UNLIKELY(hf_cpu_time_is_limited()))
        return false;
    const struct hf_hint_page *page = hf_load_relaxed(&hf_hint);
    // Both loads at each question: the group may be moved to another scope at any time (scope.S1). One answer may be as
    // old as the time between the two.
    uint32_t scope = hf_load_relaxed(&hf_own_group_on(page)->reads) % HF_HINT_SCOPES;
    if (hf_load_relaxed(&page->scope[scope].preempted_critical_sections) != 0 || hf_is_left_alone_on(page))
        return false;
    const struct hf_hint_cpu *cpu = hf_own_cpu(page);
    return cpu && hf_load_relaxed(&cpu->runnable) <= 1;
}

// What else wants the CPU that the caller runs on.
enum hf_cpu_contention {
    HF_CPU_UNCONTENDED, // nobody, or it is not known
    HF_CPU_OWN,         // threads, not of other processes as far as is known
    HF_CPU_FOREIGN,     // other processes: time that the caller spends for nothing is lost to its own process
};

// Some turns of a scheduler: so long a CPU counts as one that other processes want, too.
enum { HF_SHARED_CPU_NS = 20 * 1000 * 1000 };

// `now_ns`: CLOCK_MONOTONIC.
static inline enum hf_cpu_contention hf_cpu_contention(uint64_t now_ns) {
    const struct hf_hint_cpu *cpu = hf_own_cpu(hf_load_relaxed(&hf_hint));
    if (!cpu || hf_load_relaxed(&cpu->runnable) <= 1)
        return HF_CPU_UNCONTENDED;
    return now_ns - hf_load_relaxed(&cpu->shared_ns) < HF_SHARED_CPU_NS ? HF_CPU_FOREIGN : HF_CPU_OWN;
}

// Starts listening to the page behind the descriptor (not closed here), as one of that group. False with errno when it
// can't be mapped, is of another version, or has no such group.
bool hf_hint_listen(int page_fd, uint32_t group);

// Starts listening to this page, which must stay mapped for good. NULL: to nobody. For tests, and for hf_hint_listen.
void hf_hint_listen_to(const struct hf_hint_page *page);

static inline bool hf_hint_has_monitor(void) {
    return hf_load_relaxed(&hf_load_relaxed(&hf_hint)->monitor_state) == HF_MONITOR_ALIVE;
}

#ifdef __cplusplus
}
#endif

#endif
