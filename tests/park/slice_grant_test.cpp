// SPDX-License-Identifier: MIT OR Apache-2.0
// Longer time slices that a kernel grants (Linux 7.0 and later): which threads it hears, what becomes of a grant.
// Skipped where the kernel grants none; for the kernel of ./dev kernel (guest/bin/slice_extension_tests). The rules by
// which mutexes request are tested on a made-up kernel (posix/slice_request).
//
// Shown able to fail: threads that are made by a thread which is heard are not heard; one whose area is the program's
// takes itself for heard.
#include <atomic>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/auxv.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "base/clock.h"
#include "park/slice_request.h"

namespace {

class slice_grant : public testing::Test {
protected:
    void SetUp() override {
        if (hf_slice_extension_refusal() != 0)
            GTEST_SKIP() << "this kernel does not extend time slices";
    }
};

void be_busy_for(std::uint64_t ns) {
    for (std::uint64_t end = hf_monotonic_ns() + ns; hf_monotonic_ns() < end;)
        continue;
}

// Somebody else who wants the CPU, the only one of both.
class rival {
public:
    rival() {
        sched_getaffinity(0, sizeof(before_), &before_);
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(static_cast<unsigned>(sched_getcpu()), &one);
        sched_setaffinity(0, sizeof(one), &one);
        thread_ = std::thread([this] {
            while (!over_)
                continue;
        });
    }
    ~rival() {
        over_ = true;
        thread_.join();
        sched_setaffinity(0, sizeof(before_), &before_);
    }

private:
    cpu_set_t before_{};
    std::atomic<bool> over_ = false;
    std::thread thread_;
};

TEST_F(slice_grant, EachThreadIsHeard) {
    EXPECT_TRUE(hf_slice_requests_are_heard());
    std::thread([] {
        EXPECT_TRUE(hf_slice_requests_are_heard());
        std::thread([] { EXPECT_TRUE(hf_slice_requests_are_heard()); }).join();
    }).join();
}

TEST_F(slice_grant, AForkedChildIsHeard) {
    ASSERT_TRUE(hf_slice_requests_are_heard());
    pid_t child = fork();
    if (child == 0) {
        rival other;
        bool heard = hf_slice_requests_are_heard(), given_back = false;
        for (int thread = 0; thread < 2 && heard; thread++)
            std::thread([&] { heard = hf_slice_requests_are_heard(); }).join();
        while (heard && !given_back) {
            hf_slice_request();
            given_back = hf_slice_done();
        }
        _exit(heard ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

TEST_F(slice_grant, AProgramThatIsExecutedIsHeard) {
    ASSERT_TRUE(hf_slice_requests_are_heard());
    pid_t child = fork();
    if (child == 0) {
        execl("/proc/self/exe", "slice_grant_test", "--gtest_filter=slice_grant.EachThreadIsHeard", nullptr);
        _exit(1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

// Of 32 bytes, as glibc has had them, or as the kernel wants them for this.
TEST_F(slice_grant, AThreadWhoseAreaIsSomebodyElsesIsNot) {
    constexpr unsigned glibcs_bytes = 32, unregister = 1, feature_size = 27; // of linux/auxvec.h
    for (bool large : {false, true}) {
        std::thread([&] {
            static thread_local hf_rseq_area theirs;
            hf_rseq_area *glibcs = hf_rseq_area_of_glibc();
            if (!glibcs || glibcs->cpu_id >= HF_RSEQ_NO_CPU)
                return; // none of 32 bytes
            if (syscall(SYS_rseq, glibcs, glibcs_bytes, unregister, RSEQ_SIG) != 0)
                return;
            unsigned long bytes = large ? getauxval(feature_size) : glibcs_bytes;
            ASSERT_EQ(syscall(SYS_rseq, &theirs, bytes, 0, RSEQ_SIG), 0);
            EXPECT_FALSE(hf_slice_requests_are_heard());
            hf_slice_request();
            EXPECT_EQ(theirs.slice.request, 0);
            EXPECT_FALSE(hf_slice_done());
        }).join();
    }
}

TEST_F(slice_grant, IsGivenBackAtTheSectionsEnd) {
    ASSERT_TRUE(hf_slice_requests_are_heard());
    rival other;
    for (int given_back = 0; given_back < 20;) {
        hf_slice_request();
        given_back += hf_slice_done();
        EXPECT_EQ(hf_own_slice_requests.control->request, 0);
    }
}

TEST_F(slice_grant, ExpiresInALongSection) {
    ASSERT_TRUE(hf_slice_requests_are_heard());
    rival other;
    constexpr std::uint64_t longer_than_any_ns = 200000;
    for (int expired = 0; expired < 20;) {
        hf_slice_request();
        while (hf_load_relaxed(&hf_own_slice_requests.control->request) != 0)
            continue; // until it is granted, or the thread was switched out
        bool granted = hf_load_relaxed(&hf_own_slice_requests.control->granted) != 0;
        be_busy_for(longer_than_any_ns);
        expired += granted;
        EXPECT_FALSE(hf_slice_done()) << "nothing is left to be given back";
    }
}

} // namespace
