// SPDX-License-Identifier: MIT OR Apache-2.0
// What a thread says that it reads: never less than it does.
//
// Shown able to fail: hf_reads_remove that always takes the last one (IsWhatIsHeld); a child that begins with an empty
// list (AreStillHeldInAForkedChild).
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "thread/thread_record.h"

namespace holdfast::test {
namespace {

constexpr int many = 3 * HF_READS_LISTED;

TEST(reads_held, IsWhatIsHeld) {
    hf_reads_held reads{};
    int locks[HF_READS_LISTED];
    for (int &lock : locks) {
        EXPECT_FALSE(hf_reads_include(&reads, &lock));
        hf_reads_add(&reads, &lock);
    }
    for (int &lock : locks) {
        EXPECT_TRUE(hf_reads_include(&reads, &lock));
        hf_reads_remove(&reads, &lock);
        EXPECT_FALSE(hf_reads_include(&reads, &lock));
    }
    hf_reads_add(&reads, &locks[0]);
    hf_reads_add(&reads, &locks[0]);
    hf_reads_remove(&reads, &locks[0]);
    EXPECT_TRUE(hf_reads_include(&reads, &locks[0])) << "held twice";
}

TEST(reads_held, MayBeAnyLockWhenThereAreTooMany) {
    hf_reads_held reads{};
    int locks[many], other;
    for (int &lock : locks)
        hf_reads_add(&reads, &lock);
    for (int &lock : locks) {
        EXPECT_TRUE(hf_reads_include(&reads, &lock));
        hf_reads_remove(&reads, &lock);
    }
    EXPECT_EQ(reads.listed, 0u);
    EXPECT_FALSE(hf_reads_include(&reads, &other));
    hf_reads_remove(&reads, &other); // of a lock that another thread has taken
    EXPECT_FALSE(hf_reads_include(&reads, &other));
}

// The child's thread has another record.
TEST(reads_held, AreStillHeldInAForkedChild) {
    int lock;
    hf_reads_add(hf_reads_of(hf_self()), &lock);
    pid_t child = fork();
    if (child == 0)
        _exit(hf_reads_include(hf_reads_of(hf_self()), &lock) ? 0 : 1);
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    hf_reads_remove(hf_reads_of(hf_self()), &lock);
}

TEST(reads_held, OfAThreadThatHasExitedIsForgotten) {
    hf_thread_record *record = nullptr;
    int lock;
    std::thread([&] {
        record = hf_self();
        hf_reads_add(hf_reads_of(record), &lock);
    }).join();
    EXPECT_FALSE(hf_reads_include(hf_reads_of(record), &lock));
}

} // namespace
} // namespace holdfast::test
