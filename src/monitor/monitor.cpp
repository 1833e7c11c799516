// SPDX-License-Identifier: MIT OR Apache-2.0
#include "monitor/monitor.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <string>
#include <sys/mman.h>

extern "C" {
#include "monitor/followed_process.h"
}

#include "preemption_monitor.skel.h"

namespace holdfast {
namespace {

// What libbpf and the kernel's verifier say while loading; the last error of it goes into the exception.
std::string last_complaint;

int keep_complaint(enum libbpf_print_level level, const char *format, va_list arguments) {
    if (level == LIBBPF_WARN) {
        char line[512];
        vsnprintf(line, sizeof(line), format, arguments);
        last_complaint = line;
        while (!last_complaint.empty() && last_complaint.back() == '\n')
            last_complaint.pop_back();
    }
    return 0;
}

[[noreturn]] void unavailable(const std::string &what, int error) {
    std::string remedy;
    if (error == EPERM || error == EACCES)
        remedy = "run as root, or give the holdfast binary CAP_BPF and CAP_PERFMON";
    else if (error == ESRCH || error == ENOENT)
        remedy = "use a kernel built with CONFIG_DEBUG_INFO_BTF";
    else
        remedy = last_complaint.empty() ? "see 'holdfast doctor'" : "the kernel said: " + last_complaint;
    throw monitor_unavailable(what + ": " + std::strerror(error) + "; " + remedy);
}

int run_program(const bpf_program *program) {
    LIBBPF_OPTS(bpf_test_run_opts, options);
    int error = bpf_prog_test_run_opts(bpf_program__fd(program), &options);
    if (error)
        return -error;
    return options.retval ? EIO : 0;
}

} // namespace

struct monitor::loaded {
    preemption_monitor *skeleton = nullptr;
    const hf_hint_page *page = nullptr;
    int page_fd = -1;

    ~loaded() {
        if (page)
            munmap(const_cast<hf_hint_page *>(page), sizeof(*page));
        preemption_monitor__destroy(skeleton);
    }
};

monitor::monitor(sight seen) : loaded_(std::make_unique<loaded>()) {
    last_complaint.clear();
    libbpf_set_print(keep_complaint);

    auto &skeleton = loaded_->skeleton;
    skeleton = preemption_monitor__open();
    if (!skeleton)
        unavailable("the Preemption Monitor's BPF program can't be read", errno);
    skeleton->rodata->blind_to_others = seen == sight::from_followed;
    if (int error = preemption_monitor__load(skeleton))
        unavailable("the kernel refuses the Preemption Monitor", -error);

    loaded_->page_fd = bpf_map__fd(skeleton->maps.hint);
    if (bpf_map_freeze(loaded_->page_fd))
        unavailable("the hint page can't be frozen", errno);
    void *page = mmap(nullptr, sizeof(hf_hint_page), PROT_READ, MAP_SHARED, loaded_->page_fd, 0);
    if (page == MAP_FAILED)
        unavailable("the hint page can't be mapped", errno);
    loaded_->page = static_cast<const hf_hint_page *>(page);

    // Attached before it says that it is alive: a process must not trust a count that nobody keeps yet.
    if (int error = preemption_monitor__attach(skeleton))
        unavailable("the Preemption Monitor can't be attached to the scheduler's tracepoints", -error);
    if (int error = run_program(skeleton->progs.start))
        unavailable("the Preemption Monitor can't be started", error);
}

monitor::~monitor() {
    preemption_monitor__detach(loaded_->skeleton);
    run_program(loaded_->skeleton->progs.retire);
}

int monitor::follow(int pidfd, std::int64_t tls_offset) {
    int map = bpf_map__fd(loaded_->skeleton->maps.followed);
    hf_followed_process process{};
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
    bpf_map_delete_elem(bpf_map__fd(loaded_->skeleton->maps.followed), &pidfd);
}

const hf_hint_page &monitor::page() const {
    return *loaded_->page;
}

int monitor::page_fd() const {
    return loaded_->page_fd;
}

} // namespace holdfast
