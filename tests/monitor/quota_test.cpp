// SPDX-License-Identifier: MIT OR Apache-2.0
// A lock holder that cgroups keep from the CPU because its quota is used up is counted as any preempted one.
//
// Shown able to fail: with `prev_state != 0` asked for in at_switch, so that only a process that sleeps is counted.
#include <cerrno>
#include <fstream>
#include <optional>
#include <string>
#include <sys/mount.h>
#include <sys/stat.h>

#include "monitor/followed_child.hpp"

namespace holdfast::test {
namespace {

// A cgroup of this test's own, whose threads together may run for one millisecond of each 100.
class throttling_cgroup {
public:
    // Nothing where the kernel offers none; `why` says so.
    static std::optional<throttling_cgroup> make(std::string &why) {
        if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
            why = "no mount namespace of our own";
            return std::nullopt;
        }
        char name[] = "/tmp/holdfast-quota-XXXXXX";
        if (!mkdtemp(name)) {
            why = "no directory to mount cgroups at";
            return std::nullopt;
        }
        throttling_cgroup made{name};
        bool v1 = mount("none", name, "cgroup", 0, "cpu") == 0 && made.limit("cpu.cfs_quota_us", "1000", name);
        if (v1)
            return made;
        umount(name);
        bool v2 = mount("none", name, "cgroup2", 0, nullptr) == 0;
        if (v2)
            write_to(std::string(name) + "/cgroup.subtree_control", "+cpu"); // or it is on already
        if (v2 && made.limit("cpu.max", "1000 100000", name))
            return made;
        made.remove();
        why = "the kernel has no cgroup controller for CPU time that we may use";
        return std::nullopt;
    }

    [[nodiscard]] bool take(pid_t process) const {
        return write_to(inside_ + "/cgroup.procs", std::to_string(process));
    }

    std::uint64_t times_throttled() const {
        std::ifstream stat(inside_ + "/cpu.stat");
        std::string field;
        for (std::uint64_t value = 0; stat >> field >> value;) {
            if (field == "nr_throttled")
                return value;
        }
        return 0;
    }

    // Its processes have ended.
    void remove() const {
        comes_true([this] { return rmdir(inside_.c_str()) == 0 || errno != EBUSY; });
        umount(mounted_at_.c_str());
        rmdir(mounted_at_.c_str());
    }

private:
    explicit throttling_cgroup(const char *mounted_at) : mounted_at_(mounted_at) {}

    bool limit(const char *file, const char *value, const std::string &at) {
        inside_ = at + "/holdfast-quota-test-" + std::to_string(getpid());
        if (mkdir(inside_.c_str(), 0755) == 0 && write_to(inside_ + "/" + file, value))
            return true;
        rmdir(inside_.c_str());
        return false;
    }

    static bool write_to(const std::string &path, const std::string &value) {
        std::ofstream file(path);
        return static_cast<bool>(file << value << std::flush);
    }

    std::string mounted_at_, inside_;
};

TEST(quota, AHolderThatIsThrottledIsCounted) {
    std::unique_ptr<monitor> watcher = monitor_or_skip();
    std::string why;
    std::optional<throttling_cgroup> cgroup = throttling_cgroup::make(why);
    if (!cgroup)
        GTEST_SKIP() << why;
    {
        followed_child holder(*watcher, [] {
            hf_critical_enter(hf_self());
            busy_forever();
        });
        ASSERT_TRUE(cgroup->take(holder.pid()));
        // It runs for some milliseconds of each 100, whatever else the machine does, and is not critical in a sleep.
        int looks = 0, counted = 0;
        EXPECT_TRUE(comes_true([&] { return cgroup->times_throttled() >= 3; }));
        for (; looks < 200; looks++) {
            counted += hf_load_relaxed(&watcher->page().scope[HF_SCOPE_MACHINE].preempted_critical_sections) == 1;
            usleep(5000);
        }
        EXPECT_GT(counted, looks / 2);
        EXPECT_GT(watcher->page().scope[HF_SCOPE_MACHINE].preemptions_total, 0u);
        EXPECT_EQ(watcher->page().scope[HF_SCOPE_MACHINE].sleeps_total, 0u);
    }
    EXPECT_EQ(count_becomes(*watcher, 0), 0u);
    EXPECT_TRUE(watcher->audit());
    EXPECT_EQ(watcher->page().repairs_total, 0u);
    cgroup->remove();
}

} // namespace
} // namespace holdfast::test
