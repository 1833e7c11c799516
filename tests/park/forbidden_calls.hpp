// SPDX-License-Identifier: MIT OR Apache-2.0
// A sandbox that the calling process builds itself. Seccomp alone: nothing of it goes through the functions under test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <vector>

namespace holdfast::test {

// From now on these system calls have that end (SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_ERRNO | EPERM), and all others
// are allowed. False: the kernel refuses the filter.
inline bool forbid_calls(std::initializer_list<std::uint32_t> numbers, std::uint32_t end) {
    std::vector<sock_filter> code{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
    for (std::uint32_t number : numbers) {
        code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1));
        code.push_back(BPF_STMT(BPF_RET | BPF_K, end));
    }
    code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    sock_fprog filter{.len = static_cast<unsigned short>(code.size()), .filter = code.data()};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

} // namespace holdfast::test
