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
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "base/signals_blocked.hpp"
#include "monitor/bpf/wait_evidence.h"
#include "monitor/bpf_refusal.hpp"
#include "monitor/bpf_rights.hpp"
#include "monitor/sampling_pace.hpp"
#include "monitor/wait_loop.hpp"
#include "monitor/wait_loop_reader.hpp"

#include "spin_clock.skel.h"
#include "spin_samples.skel.h"

namespace holdfast {
namespace {

constexpr const char *detection = "busy-waiting detection";
constexpr std::chrono::milliseconds between_looks(100); // whether the programs are busy; at the clocks' pace
// Of the slow clock, for all threads: twice what the detector's loading takes.
constexpr std::uint64_t ticks_of_busy_programs = 50;

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
        return own_bpf_rights().has_capabilities()
                   ? "the rights are there, so a container's filter or a security module refuses perf_event_open(2): "
                     "let it through"
               : geteuid() == 0 ? "root lacks CAP_PERFMON here: let its container or service have it"
                                : "run as root, or with CAP_PERFMON";
    if (error == ENOSYS || error == ENOENT)
        return "use a kernel built with CONFIG_PERF_EVENTS, and a container that lets perf_event_open(2) through";
    return "see 'holdfast doctor --verbose'";
}

template <class skeleton>
struct destroyed_by {
    void (*destroy)(skeleton *);
    void operator()(skeleton *one) const { destroy(one); }
};

template <class skeleton>
using owned = std::unique_ptr<skeleton, destroyed_by<skeleton>>;

// Throws spin_watch_unavailable.
template <class skeleton>
owned<skeleton> load(skeleton *(*open_and_load)(), void (*destroy)(skeleton *)) {
    bpf_log log;
    owned<skeleton> loaded(open_and_load(), {destroy});
    if (!loaded)
        throw spin_watch_unavailable(log.refusal(detection, errno).sentence());
    return loaded;
}

} // namespace

struct spin_watch::clock {
    owned<spin_clock> skeleton = load(spin_clock__open_and_load, spin_clock__destroy);
    // From exec on: the caller itself, and this command's other threads, are never sampled by it.
    descriptor slow = set(HF_SLOW_TICK_NS, true);
    descriptor fast = set(HF_FAST_TICK_NS, false);

    std::uint64_t ticks() const { return std::atomic_ref(skeleton->bss->ticks).load(std::memory_order_relaxed); }

    // False: the kernel does not let one go on to the other.
    bool goes_on_to(const bpf_program *detector) {
        std::uint32_t only = 0, program = static_cast<std::uint32_t>(bpf_program__fd(detector));
        return bpf_map_update_elem(bpf_map__fd(skeleton->maps.detector), &only, &program, BPF_ANY) == 0;
    }

private:
    descriptor set(std::uint64_t tick_ns, bool from_exec_on) {
        descriptor made = inherited_clock(tick_ns, from_exec_on);
        int error = errno;
        if (!made)
            throw spin_watch_unavailable(std::string("the kernel refuses the clock of busy-waiting detection "
                                                     "(perf_event_open): ") +
                                         std::strerror(error) + "; " + advice_on_clock(error));
        if (ioctl(made.get(), PERF_EVENT_IOC_SET_BPF, bpf_program__fd(skeleton->progs.at_tick)) != 0)
            throw spin_watch_unavailable(std::string("the kernel runs no BPF program at the clock of busy-waiting "
                                                     "detection: ") +
                                         std::strerror(errno) + "; see 'holdfast doctor'");
        return made;
    }
};

struct spin_watch::detector {
    owned<spin_samples> skeleton = load(spin_samples__open_and_load, spin_samples__destroy);
    wait_loop_reader reader{bpf_map__fd(skeleton->maps.known), bpf_map__fd(skeleton->maps.seen)};
    sampling_pace pace;

    // Throws spin_watch_unavailable.
    explicit detector(clock &at) {
        if (!reader.is_there())
            throw spin_watch_unavailable(std::string("busy-waiting detection has no memory: ") + std::strerror(errno));
        if (!at.goes_on_to(skeleton->progs.at_sample))
            throw spin_watch_unavailable(std::string("the kernel lets no clock go on to busy-waiting detection: ") +
                                         std::strerror(errno) + "; see 'holdfast doctor'");
    }
    ~detector() = default;
    detector(const detector &) = delete;
    detector &operator=(const detector &) = delete;

    // Returns when to be called again, at the latest.
    std::chrono::milliseconds keep_pace(const descriptor &fast_clock) {
        bool was_fast = pace.is_fast();
        auto wait = pace.next(std::chrono::steady_clock::now(), skeleton->bss->suspected != 0,
                              skeleton->bss->counts[HF_SPIN_DETECTIONS]);
        if (pace.is_fast() != was_fast)
            ioctl(fast_clock.get(), pace.is_fast() ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE);
        if (pace.would_hear())
            skeleton->bss->suspected = 0;
        return wait;
    }
};

spin_watch::spin_watch(detector_comes when, refusal_handler refused) : refused_(std::move(refused)) {
    if (!ends_.is_there())
        throw spin_watch_unavailable(std::string("busy-waiting detection has no descriptor: ") + std::strerror(errno));
    if (auto reason = why_no_wait_loops())
        throw spin_watch_unavailable(*reason);
    clock_ = std::make_unique<clock>();
    if (when == detector_comes::first)
        detector_ = std::make_unique<detector>(*clock_);
    signals_blocked in_the_thread;
    reader_ = std::jthread([this] { follow(); });
}

// False: this object is being destroyed.
bool spin_watch::waits_for_busy_programs() {
    while (clock_->ticks() < ticks_of_busy_programs) {
        if (ends_.comes_within(between_looks))
            return false;
    }
    return true;
}

void spin_watch::follow() {
    if (!detector_ && !waits_for_busy_programs())
        return;
    try {
        if (!detector_)
            detector_ = std::make_unique<detector>(*clock_);
    } catch (const spin_watch_unavailable &unavailable) {
        refused_(unavailable.what());
        return;
    }
    auto wait = between_looks;
    do {
        detector_->reader.answer_all();
        wait = std::min(between_looks, detector_->keep_pace(clock_->fast));
    } while (!ends_.comes_within(wait, detector_->reader.fd()));
}

spin_watch::~spin_watch() {
    ends_.give();
}

spin_totals spin_watch::totals() const {
    return {detector_->skeleton->bss->counts, detector_->reader.loops()};
}

} // namespace holdfast
