// SPDX-License-Identifier: MIT OR Apache-2.0
// System calls as instructions: each argument reaches the kernel in its place, the result is -errno, errno stays.
//
// Shown able to fail: with the fourth and the fifth argument exchanged, or with 0 for the fourth, in the header of
// x86-64 PassesSixArguments and BlocksSignalsAsLibcSeesThem fail.
#include "base/system_call.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include <sys/mman.h>
#include <unistd.h>

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

} // namespace
