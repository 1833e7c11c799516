// SPDX-License-Identifier: MIT OR Apache-2.0
#include "monitor/futex_watch.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <cerrno>
#include <cstring>
#include <string>
#include <sys/stat.h>

#include "futex_sleeps.skel.h"

namespace holdfast {
namespace {

[[noreturn]] void unavailable(int error) {
    bool rights = error == EPERM || error == EACCES;
    throw futex_watch_unavailable(std::string("the kernel does not let us watch futexes: ") + std::strerror(error) +
                                  (rights ? "; run as root" : "; see 'holdfast doctor'"));
}

// The first pid namespace has this inode number (PROC_PID_INIT_INO in the kernel's sources).
constexpr ino_t first_pid_namespace = 0xEFFFFFFC;

} // namespace

struct futex_watch::loaded {
    futex_sleeps *skeleton = nullptr;
    ~loaded() { futex_sleeps__destroy(skeleton); }

    int map() const { return bpf_map__fd(skeleton->maps.totals); }

    void see_own_namespace() const {
        struct stat space {};
        if (stat("/proc/self/ns/pid", &space) != 0 || space.st_ino == first_pid_namespace)
            return;
        skeleton->rodata->namespace_device = space.st_dev;
        skeleton->rodata->namespace_inode = space.st_ino;
    }
};

futex_watch::futex_watch() : loaded_(std::make_unique<loaded>()) {
    libbpf_set_print(nullptr); // the exception says it
    loaded_->skeleton = futex_sleeps__open();
    if (!loaded_->skeleton)
        unavailable(errno);
    loaded_->see_own_namespace();
    if (int error = futex_sleeps__load(loaded_->skeleton))
        unavailable(-error);
    if (int error = futex_sleeps__attach(loaded_->skeleton))
        unavailable(-error);
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

void futex_watch::forget(const hf_futex_key &key) const {
    bpf_map_delete_elem(loaded_->map(), &key);
}

std::uint64_t futex_watch::uncounted_total() const {
    return loaded_->skeleton->bss->uncounted_total;
}

} // namespace holdfast
