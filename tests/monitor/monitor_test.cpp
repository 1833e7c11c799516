// SPDX-License-Identifier: MIT OR Apache-2.0
// The monitor's page: nobody but the kernel writes it, and it tells when nobody keeps it up to date any more.
#include <bpf/bpf.h>
#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "base/descriptor_passing.h"
#include "hint/hint.h"
#include "monitor/followed_child.hpp"

namespace holdfast::test {
namespace {

class monitor_page : public testing::Test {
protected:
    std::unique_ptr<monitor> watcher = monitor_or_skip();
};

TEST_F(monitor_page, SaysThatTheMonitorIsAlive) {
    EXPECT_EQ(watcher->page().version, static_cast<uint32_t>(HF_HINT_VERSION));
    EXPECT_EQ(watcher->page().monitor_state, static_cast<uint32_t>(HF_MONITOR_ALIVE));
    EXPECT_EQ(watcher->page().preempted_critical_sections, 0u);
}

TEST_F(monitor_page, BeatsWithoutAnyProcessOfOurs) {
    std::uint64_t first = watcher->page().heartbeat_ns;
    usleep(4 * HF_HEARTBEAT_NS / 1000);
    EXPECT_GT(watcher->page().heartbeat_ns, first);
}

TEST_F(monitor_page, CannotBeMappedForWriting) {
    void *mapped = mmap(nullptr, sizeof(hf_hint_page), PROT_READ | PROT_WRITE, MAP_SHARED, watcher->page_fd(), 0);
    EXPECT_EQ(mapped, MAP_FAILED);
    EXPECT_EQ(errno, EPERM);
}

TEST_F(monitor_page, CannotBeMadeWritable) {
    void *mapped = mmap(nullptr, sizeof(hf_hint_page), PROT_READ, MAP_SHARED, watcher->page_fd(), 0);
    ASSERT_NE(mapped, MAP_FAILED);
    EXPECT_NE(mprotect(mapped, sizeof(hf_hint_page), PROT_READ | PROT_WRITE), 0);
    EXPECT_EQ(errno, EACCES);
    int memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
    ASSERT_GE(memory, 0);
    std::uint64_t one = 1;
    EXPECT_LT(pwrite(memory, &one, sizeof(one), reinterpret_cast<off_t>(mapped) + 64), 0);
    close(memory);
    munmap(mapped, sizeof(hf_hint_page));
}

TEST_F(monitor_page, CannotBeUpdatedBySystemCall) {
    static hf_hint_page forged;
    std::uint32_t zero = 0;
    EXPECT_NE(bpf_map_update_elem(watcher->page_fd(), &zero, &forged, BPF_ANY), 0);
    EXPECT_EQ(errno, EPERM);
}

TEST_F(monitor_page, FollowsTwoCopiesOfTheLibraryInAProcessAndNoMore) {
    followed_child child(*watcher, busy_forever);
    EXPECT_EQ(watcher->follow(child.pidfd(), hf_thread_record_tls_offset()), 0) << "the same again is no mistake";
    EXPECT_EQ(watcher->follow(child.pidfd(), 8), 0);
    EXPECT_EQ(watcher->follow(child.pidfd(), 16), EEXIST);
}

TEST_F(monitor_page, TellsWhenItsMonitorWasKilled) {
    int pair[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
    pid_t victim = fork();
    if (victim == 0) {
        monitor doomed;
        char byte = 0;
        hf_send_message(pair[1], &byte, 1, doomed.page_fd());
        busy_forever();
    }
    char byte;
    int page_fd;
    ASSERT_TRUE(hf_receive_message(pair[0], &byte, 1, &page_fd));
    ASSERT_TRUE(hf_hint_listen(page_fd));
    EXPECT_TRUE(hf_hint_is_fresh());
    EXPECT_TRUE(hf_hint_has_monitor());

    kill(victim, SIGKILL);
    waitpid(victim, nullptr, 0);
    usleep((HF_HEARTBEAT_STALE_NS + 4 * HF_HEARTBEAT_NS) / 1000);
    EXPECT_FALSE(hf_hint_is_fresh());
    EXPECT_FALSE(hf_hint_has_monitor()) << "and it is not listened to any more";
    EXPECT_FALSE(hf_spinning_pays());
    close(page_fd);
    close(pair[0]);
    close(pair[1]);
}

} // namespace
} // namespace holdfast::test
