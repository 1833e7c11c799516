// SPDX-License-Identifier: MIT OR Apache-2.0
// The monitor's page: nobody but the kernel writes it, and it tells when nobody keeps it up to date any more.
#include <bpf/bpf.h>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>

#include "base/descriptor_passing.h"
#include "hint/freshness.h"
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
    EXPECT_EQ(watcher->page().scope[HF_SCOPE_MACHINE].preempted_critical_sections, 0u);
}

TEST_F(monitor_page, BeatsWithoutAnyProcessOfOurs) {
    std::uint64_t first = watcher->page().heartbeat_ns;
    EXPECT_TRUE(comes_true([&] { return hf_load_relaxed(&watcher->page().heartbeat_ns) > first; }));
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
    // A machine that is busy may keep us, or the timer that beats, waiting for longer than a dead monitor takes.
    EXPECT_TRUE(comes_true([page_fd] { return hf_hint_listen(page_fd, HF_GROUP_OF_ALL) && hf_hint_is_fresh(); }));
    EXPECT_TRUE(hf_hint_has_monitor());

    kill(victim, SIGKILL);
    waitpid(victim, nullptr, 0);
    EXPECT_TRUE(comes_true([] { return !hf_hint_is_fresh(); }));
    EXPECT_FALSE(hf_hint_has_monitor()) << "and it is not listened to any more";
    EXPECT_FALSE(hf_spinning_pays());
    close(page_fd);
    close(pair[0]);
    close(pair[1]);
}

// A monitor that takes over from another one. Its pins are in a BPF file system that only this process sees.
class successor : public testing::Test {
protected:
    static void SetUpTestSuite() {
        ASSERT_EQ(unshare(CLONE_NEWNS), 0) << "needs root";
        ASSERT_EQ(mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
        char name[] = "/tmp/holdfast-pins-XXXXXX";
        ASSERT_NE(mkdtemp(name), nullptr);
        mounted_at = name;
        ASSERT_EQ(mount("none", mounted_at.c_str(), "bpf", 0, nullptr), 0);
    }
    static void TearDownTestSuite() {
        umount(mounted_at.c_str());
        rmdir(mounted_at.c_str());
    }
    void TearDown() override { hf_hint_listen_to(nullptr); }

    static inline std::string mounted_at;
    const monitor::pins pins{mounted_at + "/holdfast"};
    bool are_there() const { return std::filesystem::exists(pins.directory + "/hint"); }
};

TEST_F(successor, GoesOnWithThePageAndItsProcesses) {
    auto first = std::make_unique<monitor>(pins);
    EXPECT_FALSE(first->has_taken_over());
    EXPECT_EQ(first->why_no_pins(), "");
    followed_child holder(*first, [] {
        close_range(3, ~0u, 0); // its copies of the first monitor's descriptors would keep that one at work
        hf_critical_enter(hf_self());
        for (;;)
            pause();
    });
    EXPECT_EQ(count_becomes(*first, 1), 1u);
    ASSERT_TRUE(hf_hint_listen(first->page_fd(), HF_GROUP_OF_ALL));

    first.reset();
    EXPECT_FALSE(hf_hint_is_fresh());
    EXPECT_FALSE(hf_hint_has_monitor());
    hf_hint_look_again();
    EXPECT_FALSE(hf_hint_has_monitor()) << "nobody keeps the page";
    EXPECT_TRUE(are_there());

    monitor second(pins);
    EXPECT_TRUE(second.has_taken_over());
    EXPECT_TRUE(comes_true([] {
        hf_hint_look_again();
        return hf_hint_has_monitor();
    })) << "the page of before is kept again";
    EXPECT_EQ(second.followed_processes(), 1u);
    EXPECT_EQ(second.page().scope[HF_SCOPE_MACHINE].preempted_critical_sections, 0u)
        << "it has not seen the holder yet";
    holder.stop();
    holder.send(SIGCONT);
    EXPECT_EQ(count_becomes(second, 1), 1u);
    EXPECT_TRUE(comes_true([] {
        hf_hint_look_again();
        return hf_hint_has_monitor() && hf_hint_is_fresh();
    })) << "a beat may be late";
    EXPECT_TRUE(comes_true([] { return !hf_spinning_pays(); })) << "the holder may be on its CPU once more before";
    holder.end();
    EXPECT_EQ(count_becomes(second, 0), 0u);
    EXPECT_TRUE(second.audit());
    EXPECT_EQ(second.page().repairs_total, 0u);
    second.unpin();
    EXPECT_FALSE(are_there());
}

// In a BPF file system that is mounted for everybody, somebody may have been there first. Shown able to fail:
// why_pins_are_anybodys that says nothing.
TEST_F(successor, DoesNotUsePinsThatAreAnybodys) {
    std::filesystem::create_directories(pins.directory);
    ASSERT_EQ(chown(pins.directory.c_str(), 65534, 65534), 0);
    EXPECT_NE(monitor(pins).why_no_pins().find("another user"), std::string::npos);
    ASSERT_EQ(chown(pins.directory.c_str(), 0, 0), 0);
    ASSERT_EQ(chmod(pins.directory.c_str(), 0777), 0);
    EXPECT_NE(monitor(pins).why_no_pins().find("by others"), std::string::npos);
    ASSERT_EQ(chmod(pins.directory.c_str(), 0755), 0);
    ASSERT_EQ(chmod(mounted_at.c_str(), 0777), 0);
    EXPECT_NE(monitor(pins).why_no_pins().find("replaced"), std::string::npos);
    ASSERT_EQ(chmod(mounted_at.c_str(), 01777), 0);
    EXPECT_FALSE(are_there());
    monitor used(pins);
    EXPECT_EQ(used.why_no_pins(), "");
    used.unpin();
}

// Killed with a count that was not 0, which nobody can ever take back: threads that were counted have ended meanwhile.
TEST_F(successor, OfAKilledMonitorStartsWithoutItsCount) {
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    pid_t victim = fork();
    if (victim == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        monitor doomed(pins);
        followed_child holder(doomed, [] {
            close_range(3, ~0u, 0); // it may outlive the monitor, whose pins are locked by a descriptor
            hf_critical_enter(hf_self());
            for (;;)
                pause();
        });
        char is_one = count_becomes(doomed, 1) == 1;
        (void)!write(ready[1], &is_one, 1);
        for (;;)
            pause();
    }
    close(ready[1]);
    char was_one = 0;
    ASSERT_EQ(read(ready[0], &was_one, 1), 1);
    EXPECT_TRUE(was_one);
    kill(victim, SIGKILL);
    waitpid(victim, nullptr, 0);
    monitor next(pins);
    EXPECT_TRUE(next.has_taken_over());
    EXPECT_EQ(count_becomes(next, 0), 0u);
    EXPECT_TRUE(next.audit());
    EXPECT_EQ(next.page().repairs_total, 0u);
    next.unpin();
    close(ready[0]);
}

TEST_F(successor, OfAnotherVersionStartsAnew) {
    std::filesystem::create_directories(pins.directory);
    LIBBPF_OPTS(bpf_map_create_opts, options);
    options.map_flags = BPF_F_MMAPABLE;
    static hf_hint_page later;
    later.version = HF_HINT_VERSION + 1;
    for (std::uint32_t bytes : {64u, static_cast<std::uint32_t>(sizeof(later))}) {
        int other = bpf_map_create(BPF_MAP_TYPE_ARRAY, "hint", sizeof(std::uint32_t), bytes, 1, &options);
        std::uint32_t zero = 0;
        ASSERT_EQ(bpf_map_update_elem(other, &zero, &later, BPF_ANY), 0);
        ASSERT_EQ(bpf_obj_pin(other, (pins.directory + "/hint").c_str()), 0);
        close(other);
        monitor anew(pins);
        EXPECT_FALSE(anew.has_taken_over());
        EXPECT_EQ(anew.page().version, static_cast<std::uint32_t>(HF_HINT_VERSION));
        EXPECT_EQ(anew.page().monitor_state, static_cast<std::uint32_t>(HF_MONITOR_ALIVE));
        EXPECT_TRUE(are_there());
        anew.unpin();
    }
}

TEST_F(successor, WithoutABpfFileSystemThereAreNoPins) {
    monitor alone(monitor::pins{"/tmp/holdfast-no-such-directory-" + std::to_string(getpid()) + "/x"});
    EXPECT_NE(alone.why_no_pins(), "");
    EXPECT_FALSE(alone.has_taken_over());
    std::filesystem::remove_all("/tmp/holdfast-no-such-directory-" + std::to_string(getpid()));
}

} // namespace
} // namespace holdfast::test
