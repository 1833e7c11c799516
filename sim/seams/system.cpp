// SPDX-License-Identifier: MIT OR Apache-2.0
// What the locks call of the layers below them, done by the simulated machine: in place of src/base and src/park where
// these ask the processor or the kernel.
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <pthread.h>

#include "base/clock.h"
#include "base/cpu_count.h"
#include "base/cpu_limit.h"
#include "base/current_cpu.h"
#include "base/numa.h"
#include "base/pause.h"
#include "base/poll.h"
#include "base/signal_mask.h"
#include "engine/simulation.hpp"
#include "hint/registration.h"
#include "park/deadline.h"
#include "park/futex.h"
#include "park/membarrier.h"
#include "park/timed_sleep.h"
#include "park/virtual_wait.h"
#include "park/yield.h"

namespace {

using holdfast::sim::simulation;

simulation *machine() {
    return simulation::running();
}

constexpr std::uint64_t ns_a_second = 1'000'000'000;

int read_clock(clockid_t, timespec *now) {
    std::uint64_t ns = machine()->clock_ns(false);
    *now = {static_cast<time_t>(ns / ns_a_second), static_cast<long>(ns % ns_a_second)};
    return 0;
}

} // namespace

extern "C" {

// ---- seams/base, seams/processor.h

void *hf_sim_load(const volatile void *word) {
    return machine() ? machine()->load(word) : const_cast<void *>(word);
}

void hf_sim_store(volatile void *word, std::size_t bytes) {
    if (machine())
        machine()->store(word, bytes);
}

void *hf_sim_modify(volatile void *word) {
    return machine() ? machine()->modify(word) : const_cast<void *>(word);
}

void hf_sim_fence(void) {
    if (machine())
        machine()->fence();
}

bool hf_sim_block_signals(bool blocked) {
    return machine() && machine()->block_signals(blocked);
}

void hf_sim_pause(void) {
    machine()->pause();
}

std::uint64_t hf_sim_ticks(void) {
    return machine()->clock_ns(true);
}

int hf_sim_polls_alike(int most) {
    return machine()->polls_alike(most);
}

// ---- src/base

int (*hf_read_clock)(clockid_t clock, timespec *now) = read_clock;

timespec hf_time_by_ticks(void) { // this kernel tells
    std::abort();
}

double hf_tick_ns(void) {
    return 1;
}

double hf_tick_ns_by_now(void) {
    return 1;
}

std::uint32_t hf_pauses_a_timed_pause = 1;

unsigned hf_cpus_usable(void) {
    return static_cast<unsigned>(machine()->of().cpus);
}

std::uint32_t hf_cpu_limit_millis = HF_NO_CPU_LIMIT;

unsigned hf_current_cpu(void) {
    return static_cast<unsigned>(machine()->current_cpu());
}

struct hf_numa hf_numa;

// A node for each socket.
std::uint32_t hf_numa_look_up(void) {
    auto cpus = static_cast<std::uint32_t>(machine()->of().cpus),
         sockets = static_cast<std::uint32_t>(machine()->of().sockets);
    for (std::uint32_t cpu = 0; cpu < cpus; cpu++)
        hf_numa.node_of_cpu[cpu] = static_cast<std::uint8_t>(cpu / (cpus / sockets));
    return hf_numa.nodes = sockets;
}

// ---- src/park

int hf_futex_wait_as(const std::uint32_t *word, std::uint32_t expected, const hf_deadline *deadline,
                     std::uint32_t kind) {
    std::uint64_t at_ns = deadline ? static_cast<std::uint64_t>(deadline->at.tv_sec) * ns_a_second +
                                         static_cast<std::uint64_t>(deadline->at.tv_nsec)
                                   : holdfast::sim::never;
    return machine()->sleep_on(word, expected, at_ns, kind);
}

int hf_futex_wait(const std::uint32_t *word, std::uint32_t expected, const hf_deadline *deadline) {
    return hf_futex_wait_as(word, expected, deadline, ~0u);
}

void hf_futex_wake_kind(const std::uint32_t *word, int count, std::uint32_t kind) {
    machine()->wake(word, count, kind);
}

// No memory goes.
bool hf_futex_is_there(const std::uint32_t *) {
    return true;
}

void hf_futex_wake(const std::uint32_t *word, int count) {
    machine()->wake(word, count, ~0u);
}

bool hf_futex_move(const std::uint32_t *from, const std::uint32_t *to) {
    machine()->move(from, to);
    return true;
}

void hf_timed_sleep(std::uint32_t ns) {
    machine()->sleep_for(ns);
}

void hf_yield(void) {
    machine()->yield();
}

bool hf_yield_is_forgone() {
    return false;
}

void hf_tell_scheduler_of_record(std::int64_t) {}

bool hf_heavy_fence_is_quick(void) {
    return true;
}

void hf_heavy_fence_forgo(void) {}

void hf_heavy_fence(void) {
    machine()->fence_all();
}

// ---- what a simulated process does without

bool hf_registers_at_start = false;

void hf_register(void) {}

bool hf_registration_is_owed = false;

void hf_register_later(void) {}

// libc would keep one list of these for its one thread.
void _pthread_cleanup_push(_pthread_cleanup_buffer *, void (*)(void *), void *) {}

void _pthread_cleanup_pop(_pthread_cleanup_buffer *, int) {}
}
