// SPDX-License-Identifier: MIT OR Apache-2.0
#include "monitor/spin_watch.hpp"

#include <algorithm>
#include <atomic>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <linux/perf_event.h>
#include <span>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "base/signals_blocked.hpp"
#include "monitor/bpf/spin_samples.h"
#include "monitor/bpf_refusal.hpp"
#include "monitor/sampling_pace.hpp"
#include "monitor/wait_loop.hpp"

#include "spin_samples.skel.h"

namespace holdfast {
namespace {

constexpr const char *detection = "busy-waiting detection";
constexpr std::chrono::milliseconds longest_wait(100); // for the end

// A clock of the thread's time that is inherited by what it starts. The kernel drops it where a program gains rights.
descriptor inherited_clock(std::uint64_t tick_ns, bool from_exec_on) {
    perf_event_attr wanted{};
    wanted.type = PERF_TYPE_SOFTWARE;
    wanted.size = sizeof(wanted);
    wanted.config = PERF_COUNT_SW_CPU_CLOCK;
    wanted.sample_period = tick_ns;
    wanted.disabled = 1;
    wanted.inherit = 1;
    wanted.enable_on_exec = from_exec_on ? 1 : 0;
    wanted.exclude_kernel = 1;
    wanted.exclude_hv = 1;
    return descriptor(static_cast<int>(syscall(SYS_perf_event_open, &wanted, 0, -1, -1, PERF_FLAG_FD_CLOEXEC)));
}

std::string advice_on_clock(int error) {
    if (error == EACCES || error == EPERM)
        return "run as root, or with CAP_PERFMON, and let a container's filter pass perf_event_open(2)";
    if (error == ENOSYS || error == ENOENT)
        return "use a kernel built with CONFIG_PERF_EVENTS, and a container that lets perf_event_open(2) through";
    return "see 'holdfast doctor --verbose'";
}

} // namespace

struct spin_watch::loaded {
    struct freed {
        void operator()(spin_samples *one) const { spin_samples__destroy(one); }
        void operator()(ring_buffer *one) const { ring_buffer__free(one); }
    };
    // In the order in which they are made.
    std::unique_ptr<spin_samples, freed> skeleton;
    std::unique_ptr<ring_buffer, freed> seen;
    descriptor slow_clock, fast_clock;
    sampling_pace pace;
    std::atomic<std::uint64_t> loops = 0;

    // Throws spin_watch_unavailable.
    loaded() {
        load();
        read_ring();
        // From exec on: the caller itself, and this command's other threads, are never sampled by it.
        slow_clock = set_clock(HF_SLOW_TICK_NS, true);
        fast_clock = set_clock(HF_FAST_TICK_NS, false);
    }
    ~loaded() = default;
    loaded(const loaded &) = delete;
    loaded &operator=(const loaded &) = delete;

    std::uint64_t count(hf_spin_count what) const { return skeleton->bss->counts[what]; }

    // Returns when to be called again, at the latest.
    std::chrono::milliseconds keep_pace() {
        bool was_fast = pace.is_fast();
        auto wait =
            pace.next(std::chrono::steady_clock::now(), skeleton->bss->suspected != 0, count(HF_SPIN_DETECTIONS));
        if (pace.is_fast() != was_fast)
            ioctl(fast_clock.get(), pace.is_fast() ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE);
        if (pace.would_hear())
            skeleton->bss->suspected = 0;
        return wait;
    }

private:
    void load() {
        bpf_log log;
        skeleton.reset(spin_samples__open_and_load());
        if (!skeleton)
            throw spin_watch_unavailable(log.refusal(detection, errno).sentence());
    }

    void read_ring() {
        seen.reset(ring_buffer__new(bpf_map__fd(skeleton->maps.seen), answer, this, nullptr));
        if (!seen)
            throw spin_watch_unavailable(std::string("busy-waiting detection has no memory: ") + std::strerror(errno));
    }

    descriptor set_clock(std::uint64_t tick_ns, bool from_exec_on) {
        descriptor clock = inherited_clock(tick_ns, from_exec_on);
        int error = errno;
        if (!clock)
            throw spin_watch_unavailable(std::string("the kernel refuses the clock of busy-waiting detection "
                                                     "(perf_event_open): ") +
                                         std::strerror(error) + "; " + advice_on_clock(error));
        if (ioctl(clock.get(), PERF_EVENT_IOC_SET_BPF, bpf_program__fd(skeleton->progs.at_sample)) != 0)
            throw spin_watch_unavailable(std::string("the kernel runs no BPF program at the clock of busy-waiting "
                                                     "detection: ") +
                                         std::strerror(errno) + "; see 'holdfast doctor'");
        return clock;
    }

    static int answer(void *self, void *data, std::size_t size) {
        if (size < sizeof(hf_code_seen)) // keep_pace sees to it
            return 0;
        static_cast<loaded *>(self)->answer(*static_cast<const hf_code_seen *>(data));
        return 0;
    }

    // For each instruction of the loop, so that the next sample need not ask.
    void answer(const hf_code_seen &asked) {
        for (std::size_t offset : find_wait_loop(std::span(asked.code), HF_CODE_BEFORE)) {
            hf_code_known waits{.first_bytes = 0, .waits = 1, .reserved = 0};
            std::size_t bytes = std::min(sizeof(waits.first_bytes), HF_CODE_BYTES - offset);
            std::memcpy(&waits.first_bytes, asked.code + offset, bytes);
            hf_code_place place = asked.place;
            place.address += offset - HF_CODE_BEFORE;
            bpf_map_update_elem(bpf_map__fd(skeleton->maps.known), &place, &waits, BPF_ANY);
            loops++;
        }
    }
};

spin_watch::spin_watch() {
    if (auto reason = why_no_wait_loops())
        throw spin_watch_unavailable(*reason);
    loaded_ = std::make_unique<loaded>();
    signals_blocked in_the_thread;
    reader_ = std::jthread([this](const std::stop_token &stop) { follow(stop); });
}

void spin_watch::follow(const std::stop_token &stop) {
    auto wait = longest_wait;
    while (!stop.stop_requested()) {
        ring_buffer__poll(loaded_->seen.get(), static_cast<int>(wait.count()));
        wait = std::min(longest_wait, loaded_->keep_pace());
    }
}

spin_watch::~spin_watch() {
    reader_ = {};
}

spin_totals spin_watch::totals() const {
    return {.samples = loaded_->count(HF_SPIN_SAMPLES),
            .contested = loaded_->count(HF_SPIN_CONTESTED),
            .detections = loaded_->count(HF_SPIN_DETECTIONS),
            .yields = loaded_->count(HF_SPIN_YIELDS),
            .in_vain = loaded_->count(HF_SPIN_IN_VAIN),
            .unreachable = loaded_->count(HF_SPIN_UNREACHABLE),
            .loops = loaded_->loops};
}

} // namespace holdfast
