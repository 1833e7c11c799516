// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/doctor/capability.hpp"

#include <cerrno>
#include <fmt/core.h>
#include <fstream>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "monitor/bpf_refusal.hpp"
#include "monitor/bpf_rights.hpp"
#include "monitor/futex_watch.hpp"
#include "oversub/scheduler.hpp"
#include "park/slice_request.h"

namespace holdfast::cli {
namespace {

std::string first_line(const char *path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

capability btf() {
    int error = open_btf_error();
    return {.name = "btf",
            .title = "kernel type information (BTF)",
            .present = error == 0,
            .detail = error == 0        ? btf_path
                      : error == ENOENT ? fmt::format("{} does not exist", btf_path)
                                        : fmt::format("{} can't be read: {}", btf_path, error_text(error)),
            .remedy = error == 0 ? "" : advice_on_btf(error),
            .for_monitor = true};
}

capability bpf() {
    // An impossible command: a kernel with the system call says EINVAL, or EPERM to a process that may not use it.
    errno = 0;
    syscall(SYS_bpf, -1, nullptr, 0);
    bool present = errno != ENOSYS;
    std::string unprivileged = first_line("/proc/sys/kernel/unprivileged_bpf_disabled");
    return {.name = "bpf",
            .title = "BPF system call",
            .present = present,
            .detail = !present              ? "the kernel has none, or a filter hides it"
                      : unprivileged == "0" ? "present"
                                            : "present, for privileged users only",
            .remedy =
                present ? "" : "use a kernel built with CONFIG_BPF_SYSCALL, and a container that lets bpf(2) through",
            .for_monitor = true};
}

capability privileges() {
    bpf_rights own = own_bpf_rights();
    auto yes = [](bool has) { return has ? "yes" : "no"; };
    return {.name = "privileges",
            .title = "rights to load the monitor",
            .present = own.suffice(),
            .detail = fmt::format("uid {}; CAP_BPF {}, CAP_PERFMON {}, CAP_SYS_ADMIN {}{}", geteuid(), yes(own.bpf),
                                  yes(own.perfmon), yes(own.admin),
                                  own.in_user_namespace ? "; in a user namespace, where they do not count" : ""),
            .remedy = own.suffice()           ? ""
                      : own.in_user_namespace ? "run holdfast outside of the user namespace (a rootless container?)"
                      : geteuid() == 0        ? "let root's container or service have CAP_BPF and CAP_PERFMON"
                                              : "use sudo, or: setcap cap_bpf,cap_perfmon=ep on the holdfast binary",
            .for_monitor = true};
}

capability slice_extension() {
    int refusal = hf_slice_extension_refusal();
    bool present = refusal == 0;
    return {.name = "slice_extension",
            .title = "time-slice extension",
            .present = present,
            .detail = present ? "the kernel has it, for 'run --conf mutex:flexguard(slice-extension=yes)'"
                              : fmt::format("the kernel says: {}", error_text(refusal)),
            .remedy = present
                          ? ""
                          : "needs Linux 7.0 or later with CONFIG_RSEQ_SLICE_EXTENSION; the monitor does not need it"};
}

capability sched_ext() {
    std::string why_not = why_sched_ext_is_of_no_use(), scheduler = scheduler_in_place();
    return {.name = "sched_ext",
            .title = "extensible scheduler (sched_ext)",
            .present = why_not.empty(),
            .detail = !why_not.empty()    ? why_not
                      : scheduler.empty() ? "the kernel has it, for 'holdfast oversub': where there are more threads "
                                            "than CPUs, barriers and condition variables become quicker"
                                          : fmt::format("the scheduler in place is {}", scheduler),
            .remedy = why_not.empty() ? "" : "'holdfast oversub' alone needs it"};
}

// It is the BPF program of its own that 'top' loads.
capability futex_watching() {
    std::string why_not, log;
    try {
        futex_watch watch;
    } catch (const futex_watch_unavailable &unavailable) {
        why_not = unavailable.what();
        log = unavailable.log();
    }
    return {.name = "futex_watch",
            .title = "view of any program's waits ('top')",
            .present = why_not.empty(),
            .detail = why_not.empty() ? "it loads" : why_not,
            .remedy = why_not.empty() ? "" : "locks do not need it",
            .log = log};
}

capability rseq_area() {
    bool present = __rseq_size != 0;
    return {.name = "rseq",
            .title = "restartable sequences (a thread's CPU number)",
            .present = present,
            .detail = present ? "registered by glibc" : "not registered: waiters ask the kernel instead",
            .remedy = present ? "" : "use glibc 2.35 or later, without GLIBC_TUNABLES=glibc.pthread.rseq=0"};
}

} // namespace

std::vector<capability> find_capabilities() {
    return {btf(), bpf(), privileges(), rseq_area(), slice_extension(), sched_ext(), futex_watching()};
}

} // namespace holdfast::cli
