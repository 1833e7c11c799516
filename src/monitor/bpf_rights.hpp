// SPDX-License-Identifier: MIT OR Apache-2.0
// What this process may do with BPF, as far as the kernel tells without being asked to load anything.
#pragma once

namespace holdfast {

struct bpf_rights {
    bool bpf = false; // the effective capabilities CAP_BPF, CAP_PERFMON, CAP_SYS_ADMIN
    bool perfmon = false;
    bool admin = false;
    bool in_user_namespace = false; // where capabilities do not count for bpf(2)
    bool filtered = false;          // a filter looks at its system calls (seccomp)

    bool has_capabilities() const { return admin || (bpf && perfmon); }
    bool suffice() const { return has_capabilities() && !in_user_namespace; }
};

bpf_rights own_bpf_rights();

} // namespace holdfast
