// SPDX-License-Identifier: MIT OR Apache-2.0
#include "monitor/wait_watch.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <cerrno>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "monitor/bpf_refusal.hpp"
#include "monitor/bpf_rights.hpp"
#include "monitor/own_pid_namespace.hpp"

#include "lock_waits.skel.h"

namespace holdfast {

struct wait_watch::loaded {
    struct freed {
        void operator()(lock_waits *one) const { lock_waits__destroy(one); }
        void operator()(ring_buffer *one) const { ring_buffer__free(one); }
    };
    std::unique_ptr<lock_waits, freed> skeleton;
    std::unique_ptr<ring_buffer, freed> events;
    const reader *told = nullptr;

    // Throws bpf_refusal.
    loaded(const plan &how, bool is_told_state, bool meets_sleepers) {
        constexpr const char *whole = "the watch over waits";
        bpf_log log;
        skeleton.reset(lock_waits__open());
        if (!skeleton)
            throw log.refusal(whole, errno);
        skeleton->rodata->is_told_state = is_told_state;
        skeleton->rodata->everybody = how.everybody;
        skeleton->rodata->locks_alone = how.locks_alone;
        skeleton->rodata->preemptions = how.preemptions;
        skeleton->rodata->all_of_slot = how.all_of_slot;
        see_own_pid_namespace(*skeleton->rodata);
        bpf_program__set_autoload(skeleton->progs.meet_sleepers, meets_sleepers);
        int error = lock_waits__load(skeleton.get());
        if (!error)
            error = lock_waits__attach(skeleton.get());
        if (error)
            throw log.refusal(whole, -error);
        events.reset(ring_buffer__new(bpf_map__fd(skeleton->maps.events), hand_on, this, nullptr));
        if (!events)
            throw log.refusal(whole, errno);
    }

    static int hand_on(void *self, void *data, std::size_t size) {
        const reader &told = *static_cast<loaded *>(self)->told;
        if (size >= sizeof(hf_wait_event_with_stack)) {
            const auto *both = static_cast<const hf_wait_event_with_stack *>(data);
            told(both->event, &both->stack);
        } else if (size >= sizeof(hf_wait_event)) {
            told(*static_cast<const hf_wait_event *>(data), nullptr);
        }
        return 0;
    }
};

// The tracepoint tells a thread's state on new kernels only.
wait_watch::wait_watch(const plan &how) {
    try {
        loaded_ = std::make_unique<loaded>(how, true, true);
        return;
    } catch (const bpf_refusal &) { // older kernels don't copy another process's memory
    }
    try {
        loaded_ = std::make_unique<loaded>(how, true, false);
    } catch (const bpf_refusal &first) {
        try {
            if (own_bpf_rights().suffice())
                loaded_ = std::make_unique<loaded>(how, false, false);
        } catch (const bpf_refusal &second) {
            throw wait_watch_unavailable(second.sentence(), second.log);
        }
        if (!loaded_)
            throw wait_watch_unavailable(first.sentence(), first.log);
    }
}

wait_watch::~wait_watch() = default;

bool wait_watch::follow(pid_t process) const {
    descriptor itself(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
    int key = itself.get();
    __u32 yes = 1;
    return itself && bpf_map_update_elem(bpf_map__fd(loaded_->skeleton->maps.recorded), &key, &yes, BPF_ANY) == 0;
}

void wait_watch::meet_sleepers(pid_t process) const {
    loaded_->skeleton->bss->process_met = static_cast<__u32>(process);
    const bpf_link *link = loaded_->skeleton->links.meet_sleepers;
    descriptor walk(link ? bpf_iter_create(bpf_link__fd(link)) : -1);
    char nothing[64];
    ssize_t more = walk ? 1 : 0;
    while (more > 0 || (more < 0 && (errno == EINTR || errno == EAGAIN)))
        more = ::read(walk.get(), nothing, sizeof(nothing));
}

older_waits wait_watch::sees_older() const {
    if (loaded_->skeleton->rodata->namespace_inode != 0)
        return older_waits::hidden_by_pid_namespace;
    return loaded_->skeleton->links.meet_sleepers ? older_waits::seen : older_waits::hidden_by_old_kernel;
}

void wait_watch::read(const reader &each) const {
    loaded_->told = &each;
    ring_buffer__consume(loaded_->events.get());
}

std::uint64_t wait_watch::lost_total() const {
    return loaded_->skeleton->bss->lost_total;
}

} // namespace holdfast
