// SPDX-License-Identifier: MIT OR Apache-2.0
// What u-SCL takes of memory in a long life: for very many threads at one lock, one after another, and for very many
// locks. The figures are those of docs/uscl.md, "Memory".
//
// Shown able to fail: sum_up that forgets nobody, hf_share_give that keeps what it is given, put_back that gives no
// record back (AHundredThousandThreadsUseFewShares); slices of a cache line more, and hf_slices_give_back
// that makes none spare (AMillionLocksTakeTheMemoryThatIsDocumented).
#include <cstdio>
#include <gtest/gtest.h>
#include <memory>
#include <pthread.h>
#include <set>
#include <unistd.h>
#include <vector>

#include "effort.hpp"
#include "holdfast/uscl.h"
#include "lock/scl/contended_uscl.hpp"
#include "lock/scl/slices.h"

namespace holdfast::test {
namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int usual_batches = 160; // a thread takes some ten times as long there
constexpr bool memory_is_ours = false;
#else
constexpr int usual_batches = 1600;
constexpr bool memory_is_ours = true;
#endif
constexpr unsigned batch = 64; // threads that live at once

struct visited {
    hf_uscl_t lock = HF_USCL_INIT;
    // Under the lock.
    unsigned long visits = 0;
    std::set<const hf_share *> shares;
    std::set<const hf_thread_record *> records;
};

void *visit(void *argument) {
    auto &all = *static_cast<visited *>(argument);
    hf_uscl_lock(&all.lock);
    const hf_slices *slices = all.lock.slices;
    const hf_share *untimed = hf_load_relaxed(&slices->untimed_holder);
    all.visits++;
    all.shares.insert(untimed ? untimed : hf_load_relaxed(&slices->holder));
    all.records.insert(hf_self());
    hf_uscl_unlock(&all.lock);
    return nullptr;
}

// All of them wait for the lock together.
void visit_together(visited &all) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, std::size_t{256} * 1024);
    std::vector<pthread_t> threads(batch);
    hf_uscl_lock(&all.lock);
    for (auto &thread : threads)
        ASSERT_EQ(pthread_create(&thread, &attributes, visit, &all), 0);
    hf_uscl_unlock(&all.lock);
    for (auto &thread : threads)
        pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes);
}

// Shares, at 128 bytes each, are never given back to the system: so those that were ever used are the lock's memory.
TEST(uscl_memory, AHundredThousandThreadsUseFewShares) {
    const auto batches = static_cast<unsigned>(effort(usual_batches, 16)); // of which three would be too much memory
    visited all;
    hf_uscl_set_slice(&all.lock, 0);
    contend(all.lock);
    for (unsigned i = 0; i < batches; i++) {
        visit_together(all);
        // As many as live at once, this thread, and those of the batch before that nobody has forgotten yet.
        ASSERT_LE(all.shares.size(), batch * 2) << i;
        ASSERT_LE(all.records.size(), batch * 2) << i;
    }
    EXPECT_EQ(all.visits, batches * batch);
    EXPECT_FALSE(all.shares.contains(nullptr)) << "every section is counted";
    hf_uscl_destroy(&all.lock);
}

std::size_t mapped_bytes() {
    std::unique_ptr<std::FILE, int (*)(std::FILE *)> file(std::fopen("/proc/self/statm", "re"), std::fclose);
    unsigned long pages = 0;
    if (!file || std::fscanf(file.get(), "%lu", &pages) != 1)
        return 0;
    return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

// A lock that nobody has met at takes no more than itself. One that was contended: its slices, a row or half of one
// in the table by address, and its part of what is left of a chunk. What is given back is used again.
TEST(uscl_memory, AMillionLocksTakeTheMemoryThatIsDocumented) {
    if (!memory_is_ours)
        GTEST_SKIP() << "the sanitizer maps memory of its own for each page of ours";
    constexpr std::size_t locks = 1'000'000, slices_bytes = 192, row_bytes = 8, rest_bytes = 1;
    EXPECT_EQ(sizeof(hf_uscl_t), 16u);
    std::vector<hf_uscl_t> all(locks);
    std::size_t before = mapped_bytes();
    ASSERT_GT(before, 0u);
    for (auto &lock : all)
        ASSERT_NE(hf_slices_of(&lock.word, &lock.slices, hf_self()), nullptr);
    std::size_t took = mapped_bytes() - before;
    EXPECT_GE(took, locks * slices_bytes);
    EXPECT_LE(took, locks * (slices_bytes + row_bytes + rest_bytes));
    for (auto &lock : all)
        hf_uscl_destroy(&lock);
    for (auto &lock : all)
        ASSERT_NE(hf_slices_of(&lock.word, &lock.slices, hf_self()), nullptr);
    EXPECT_LE(mapped_bytes() - before, took + locks * rest_bytes);
    for (auto &lock : all)
        hf_uscl_destroy(&lock);
}

} // namespace
} // namespace holdfast::test
