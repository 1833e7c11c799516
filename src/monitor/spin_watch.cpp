// SPDX-License-Identifier: MIT OR Apache-2.0
#include "monitor/spin_watch.hpp"

#include <algorithm>
#include <atomic>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <cerrno>
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
#include "monitor/wait_loop.hpp"

#include "spin_samples.skel.h"

namespace holdfast {
namespace {

constexpr const char *detection = "busy-waiting detection";
constexpr int look_ms = 100; // for the end

// A clock of the thread's time that is inherited by what it starts, and first runs when that executes a program: the
// caller itself, and this command's other threads, are never sampled. The kernel drops it where a program gains rights.
descriptor inherited_clock() {
    perf_event_attr wanted{};
    wanted.type = PERF_TYPE_SOFTWARE;
    wanted.size = sizeof(wanted);
    wanted.config = PERF_COUNT_SW_CPU_CLOCK;
    wanted.sample_period = spin_watch::sample_ns;
    wanted.disabled = 1;
    wanted.inherit = 1;
    wanted.enable_on_exec = 1;
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
    descriptor clock;
    std::atomic<std::uint64_t> loops = 0;

    // Throws spin_watch_unavailable.
    loaded() {
        load();
        read_ring();
        set_clock();
    }
    ~loaded() = default;
    loaded(const loaded &) = delete;
    loaded &operator=(const loaded &) = delete;

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

    void set_clock() {
        clock = inherited_clock();
        int error = errno;
        if (!clock)
            throw spin_watch_unavailable(std::string("the kernel refuses the clock of busy-waiting detection "
                                                     "(perf_event_open): ") +
                                         std::strerror(error) + "; " + advice_on_clock(error));
        if (ioctl(clock.get(), PERF_EVENT_IOC_SET_BPF, bpf_program__fd(skeleton->progs.at_sample)) != 0)
            throw spin_watch_unavailable(std::string("the kernel runs no BPF program at the clock of busy-waiting "
                                                     "detection: ") +
                                         std::strerror(errno) + "; see 'holdfast doctor'");
    }

    static int answer(void *self, void *data, std::size_t) {
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
    reader_ = std::jthread([this](const std::stop_token &stop) {
        while (!stop.stop_requested())
            ring_buffer__poll(loaded_->seen.get(), look_ms);
    });
}

spin_watch::~spin_watch() {
    reader_ = {};
}

spin_totals spin_watch::totals() const {
    const auto *counts = loaded_->skeleton->bss->counts;
    return {.samples = counts[HF_SPIN_SAMPLES],
            .contested = counts[HF_SPIN_CONTESTED],
            .detections = counts[HF_SPIN_DETECTIONS],
            .yields = counts[HF_SPIN_YIELDS],
            .in_vain = counts[HF_SPIN_IN_VAIN],
            .unreachable = counts[HF_SPIN_UNREACHABLE],
            .loops = loaded_->loops};
}

} // namespace holdfast
