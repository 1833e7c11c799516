// SPDX-License-Identifier: MIT OR Apache-2.0
#include "monitor/futex_watch.hpp"

#include <algorithm>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <cerrno>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "monitor/bpf_refusal.hpp"
#include "monitor/bpf_rights.hpp"
#include "monitor/own_pid_namespace.hpp"

#include "futex_sleeps.skel.h"

namespace holdfast {
namespace {

constexpr std::size_t sleepers_at_once = 256;

} // namespace

struct futex_watch::loaded {
    futex_sleeps *skeleton = nullptr;

    // Throws bpf_refusal.
    explicit loaded(bool is_told_state) {
        constexpr const char *whole = "the watch over futexes";
        bpf_log log;
        skeleton = futex_sleeps__open();
        if (!skeleton)
            throw log.refusal(whole, errno);
        skeleton->rodata->is_told_state = is_told_state;
        see_own_pid_namespace(*skeleton->rodata);
        int error = futex_sleeps__load(skeleton);
        if (!error)
            error = futex_sleeps__attach(skeleton);
        if (error) {
            futex_sleeps__destroy(skeleton);
            throw log.refusal(whole, -error);
        }
    }
    ~loaded() { futex_sleeps__destroy(skeleton); }
    loaded(const loaded &) = delete;
    loaded &operator=(const loaded &) = delete;

    int map() const { return bpf_map__fd(skeleton->maps.totals); }
};

// The tracepoint tells a thread's state on new kernels only.
futex_watch::futex_watch() {
    try {
        loaded_ = std::make_unique<loaded>(true);
    } catch (const bpf_refusal &first) {
        try {
            if (own_bpf_rights().suffice())
                loaded_ = std::make_unique<loaded>(false);
        } catch (const bpf_refusal &second) {
            throw futex_watch_unavailable(second.sentence(), second.log);
        }
        if (!loaded_)
            throw futex_watch_unavailable(first.sentence(), first.log);
    }
}

futex_watch::~futex_watch() = default;

std::vector<futex_waits> futex_watch::read() const {
    std::vector<hf_futex_key> keys(HF_FUTEX_KEYS);
    std::vector<hf_futex_totals> totals(HF_FUTEX_KEYS);
    __u32 count = HF_FUTEX_KEYS;
    hf_futex_key next{};
    // ENOENT: that was the last.
    if (bpf_map_lookup_batch(loaded_->map(), nullptr, &next, keys.data(), totals.data(), &count, nullptr) != 0 &&
        errno != ENOENT)
        count = 0;
    std::vector<futex_waits> found;
    found.reserve(count);
    for (std::size_t i = 0; i < count; i++)
        found.push_back({.key = keys[i], .totals = totals[i]});
    return found;
}

std::vector<hf_futex_sleeper> futex_watch::sleepers() const {
    descriptor walk(bpf_iter_create(bpf_link__fd(loaded_->skeleton->links.sleepers)));
    std::vector<hf_futex_sleeper> found;
    std::size_t bytes = 0; // of them, the last one in part: the kernel does not mind where one ends
    for (ssize_t more = walk ? 1 : 0; more > 0 || (more < 0 && (errno == EINTR || errno == EAGAIN));) {
        found.resize(bytes / sizeof(hf_futex_sleeper) + sleepers_at_once);
        more = ::read(walk.get(), reinterpret_cast<char *>(found.data()) + bytes,
                      found.size() * sizeof(hf_futex_sleeper) - bytes);
        bytes += static_cast<std::size_t>(std::max<ssize_t>(more, 0));
    }
    found.resize(bytes / sizeof(hf_futex_sleeper));
    return found;
}

older_waits futex_watch::sees_older() const {
    return loaded_->skeleton->rodata->namespace_inode == 0 ? older_waits::seen : older_waits::hidden_by_pid_namespace;
}

void futex_watch::forget(const hf_futex_key &key) const {
    bpf_map_delete_elem(loaded_->map(), &key);
}

std::uint64_t futex_watch::uncounted_total() const {
    return loaded_->skeleton->bss->uncounted_total;
}

} // namespace holdfast
