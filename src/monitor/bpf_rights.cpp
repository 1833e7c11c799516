// SPDX-License-Identifier: MIT OR Apache-2.0
#include "monitor/bpf_rights.hpp"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_BPF
#define CAP_BPF 39
#endif

namespace holdfast {
namespace {

bool has_effective(int capability) {
    __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    __user_cap_data_struct data[2] = {};
    if (syscall(SYS_capget, &header, data) != 0)
        return false;
    return data[capability / 32].effective >> (capability % 32) & 1;
}

// The first user namespace has this inode number (PROC_USER_INIT_INO in the kernel's sources).
bool is_in_user_namespace() {
    struct stat space {};
    return stat("/proc/self/ns/user", &space) == 0 && space.st_ino != 0xEFFFFFFD;
}

} // namespace

bpf_rights own_bpf_rights() {
    return {.bpf = has_effective(CAP_BPF),
            .perfmon = has_effective(CAP_PERFMON),
            .admin = has_effective(CAP_SYS_ADMIN),
            .in_user_namespace = is_in_user_namespace(),
            .filtered = prctl(PR_GET_SECCOMP, 0, 0, 0, 0) > 0};
}

} // namespace holdfast
