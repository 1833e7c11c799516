// SPDX-License-Identifier: MIT OR Apache-2.0
#include "hint/freshness.h"

#include "base/clock.h"
#include "hint/hint.h"
#include "hint/registration.h"
#include "holdfast/holdfast.h"

// A page that was not kept up to date: its monitor may be dead, or be restarted (monitor/monitor.hpp: pins), or the
// machine stood still for a while.
static const struct hf_hint_page *doubted;

static bool beats(const struct hf_hint_page *page) {
    // The beat first: a clock read before it could be behind it by any time.
    uint64_t beat_ns = hf_load_acquire(&page->heartbeat_ns);
    return hf_monotonic_ns() < beat_ns + HF_HEARTBEAT_STALE_NS;
}

bool hf_hint_is_fresh(void) {
    const struct hf_hint_page *page = hf_load_relaxed(&hf_hint);
    bool alive = hf_load_relaxed(&page->monitor_state) == HF_MONITOR_ALIVE;
    if (alive && beats(page))
        return true;
    // In this order: a thread that finds it doubted, and good again, must not be undone by what follows here. Release:
    // pairs with the acquire in hf_hint_look_again.
    hf_hint_listen_to(NULL);
    if (page != &hf_hint_of_nobody)
        hf_store_release(&doubted, page);
    return false;
}

// In a storm of switches nobody spins, hence nobody else asks. Threads go to sleep all the time then, and the clock is
// too dear to be read each time.
static void ask_in_switch_storm(void) {
    enum { SLEEPS_APART = 64 };
    static __thread uint32_t sleeps __attribute__((tls_model("initial-exec")));
    if (++sleeps % SLEEPS_APART == 0)
        hf_hint_is_fresh();
}

void hf_hint_look_again(void) {
    if (HF_UNLIKELY(hf_load_relaxed(&hf_registration_is_owed)))
        hf_register_later();
    if (HF_UNLIKELY(hf_is_in_switch_storm()))
        ask_in_switch_storm();
    const struct hf_hint_page *page = hf_load_acquire(&doubted);
    if (HF_LIKELY(page == NULL))
        return;
    if (hf_load_relaxed(&page->monitor_state) != HF_MONITOR_ALIVE || !beats(page))
        return;
    hf_store_relaxed(&doubted, NULL);
    hf_hint_listen_to(page);
}

bool hf_monitor_present(void) {
    return hf_hint_has_monitor();
}

bool hf_registers_at_start __attribute__((weak)) = true;

// Here and not beside hf_register: a program that links a lock that asks for the hint links this file.
__attribute__((constructor)) static void register_at_start(void) {
    if (hf_registers_at_start)
        hf_register();
}
