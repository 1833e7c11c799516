// SPDX-License-Identifier: MIT OR Apache-2.0
// System calls as instructions: each argument reaches the kernel in its place, the result is -errno, errno stays.
//
// Shown able to fail: with the fourth and the fifth argument exchanged, or with 0 for the fourth, in the header of
// x86-64 PassesSixArguments and BlocksSignalsAsLibcSeesThem fail.
#include "base/system_call.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <iterator>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/signal_mask.h"

namespace {

// mmap has six arguments, and each matters here.
TEST(SystemCall, PassesSixArguments) {
    const long page = sysconf(_SC_PAGESIZE);
    int fd = memfd_create("holdfast-test", MFD_CLOEXEC);
    ASSERT_GE(fd, 0);
    ASSERT_EQ(ftruncate(fd, 2 * page), 0);
    ASSERT_EQ(pwrite(fd, "second", 7, page), 7);
    void *reserved = hf_sys_mmap(nullptr, size_t(page), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_EQ(hf_mmap_error(reserved), 0);
    void *mapped = hf_sys_mmap(reserved, size_t(page), PROT_READ, MAP_SHARED | MAP_FIXED, fd, page);
    ASSERT_EQ(mapped, reserved);
    EXPECT_STREQ(static_cast<const char *>(mapped), "second");
    EXPECT_EQ(hf_sys_munmap(mapped, size_t(page)), 0);
    EXPECT_EQ(hf_sys_close(fd), 0);
}

TEST(SystemCall, SaysWhyItWasRefusedAndLeavesErrno) {
    errno = EXDEV;
    EXPECT_EQ(hf_sys_close(-1), -EBADF);
    EXPECT_EQ(hf_sys_open("/nonexistent/holdfast", O_RDONLY), -ENOENT);
    EXPECT_EQ(hf_mmap_error(hf_sys_mmap(nullptr, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)), EINVAL);
    EXPECT_EQ(errno, EXDEV);
}

TEST(SystemCall, KnowsItself) {
    EXPECT_EQ(hf_sys_getpid(), getpid());
    EXPECT_EQ(hf_sys_gettid(), gettid());
    EXPECT_EQ(hf_sys_tgkill(getpid(), gettid(), 0), 0);
}

TEST(SystemCall, BlocksSignalsAsLibcSeesThem) {
    const std::uint64_t alarm = std::uint64_t(1) << (SIGALRM - 1);
    std::uint64_t before = 0;
    ASSERT_EQ(hf_sys_rt_sigprocmask(SIG_BLOCK, &alarm, &before), 0);
    sigset_t now;
    pthread_sigmask(SIG_SETMASK, nullptr, &now);
    EXPECT_TRUE(sigismember(&now, SIGALRM));
    ASSERT_EQ(hf_sys_rt_sigprocmask(SIG_SETMASK, &before, nullptr), 0);
    pthread_sigmask(SIG_SETMASK, nullptr, &now);
    EXPECT_FALSE(sigismember(&now, SIGALRM));
}

// Of rt_sigprocmask, to whoever asks for what was before.
bool refuse_to_tell_the_mask() {
    sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigprocmask, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[2])), // the lower half of an address
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    sock_fprog program{.len = std::size(filter), .filter = filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// Shown able to fail: hf_unblock_signals that goes back to what hf_block_all_signals was refused.
TEST(SignalMask, StaysWhereTheKernelRefusesToBlock) {
    pid_t child = fork();
    if (child == 0) {
        sigset_t saved;
        std::memset(&saved, 0xff, sizeof(saved));
        if (!refuse_to_tell_the_mask())
            _exit(2);
        hf_block_all_signals(&saved);
        hf_unblock_signals(&saved);
        std::signal(SIGALRM, [](int) { _exit(0); });
        raise(SIGALRM);
        _exit(1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
}

} // namespace
