// SPDX-License-Identifier: MIT OR Apache-2.0
#include "monitor/shared_counters.hpp"

#include <algorithm>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "thread/thread_record.h"

namespace holdfast {
namespace {

constexpr std::size_t bytes = HF_SHARED_SLABS * HF_SLAB_COUNTERS_BYTES;

constexpr std::ptrdiff_t views_of_a_process_max = 4;

bool add_thread(const hf_thread_counters &thread, lock_counters &sum) {
    sum.acquisitions += thread.acquisitions;
    sum.contended += thread.contended;
    sum.spun += thread.spun;
    sum.blocked += thread.blocked;
    sum.mode_switches += thread.mode_switches;
    return thread.acquisitions != 0 || thread.contended != 0;
}

} // namespace

counters_view::counters_view(int fd) {
    struct stat status {};
    // A file that is shorter, or can shrink, would fault while it is read. Sealing first: it fails for all but
    // memory, and a file system of the sender's is not asked anything.
    if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) != 0 || fstat(fd, &status) != 0 ||
        static_cast<std::size_t>(status.st_size) != bytes)
        return;
    void *memory = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (memory != MAP_FAILED)
        memory_ = static_cast<const char *>(memory);
}

counters_view::counters_view(counters_view &&other) noexcept : memory_(std::exchange(other.memory_, nullptr)) {}

counters_view &counters_view::operator=(counters_view &&other) noexcept {
    std::swap(memory_, other.memory_);
    return *this;
}

counters_view::~counters_view() {
    if (memory_)
        munmap(const_cast<char *>(memory_), bytes);
}

void counters_view::add_to(lock_counters &sum) const {
    // Slabs are filled in order and each from its start, so a slab that counts nothing ends the walk.
    for (std::size_t slab = 0; memory_ && slab < HF_SHARED_SLABS; slab++) {
        auto *counters = reinterpret_cast<const hf_thread_counters *>(memory_ + slab * HF_SLAB_COUNTERS_BYTES);
        bool any = false;
        for (int i = 0; i < HF_SLAB_RECORDS; i++)
            any |= add_thread(counters[i], sum);
        if (!any)
            return;
    }
}

// A build may start more processes than there is room for mappings.
void counters_collection::close_ended() {
    fold([](const counted_process &each) { return each.owner.has_ended(); });
}

// A process has few at a time, one for each library with locks. If it sends more, the oldest are those of programs that
// it ran before it called exec.
void counters_collection::add(counters_view counters, peer owner) {
    close_ended();
    auto of_owner = [&](const counted_process &each) { return each.owner.pid == owner.pid; };
    auto more = std::ranges::count_if(counted_, of_owner) + 1;
    fold([&](const counted_process &each) { return of_owner(each) && more-- > views_of_a_process_max; });
    counted_.push_back({.counters = std::move(counters), .owner = std::move(owner)});
}

// Those that will not change any more are added up, and let go.
void counters_collection::fold(const std::function<bool(const counted_process &)> &is_final) {
    std::erase_if(counted_, [&](const counted_process &each) {
        bool final = is_final(each);
        if (final)
            each.counters.add_to(of_ended_processes_);
        return final;
    });
}

lock_counters counters_collection::sum() const {
    lock_counters sum = of_ended_processes_;
    for (const auto &process : counted_)
        process.counters.add_to(sum);
    return sum;
}

} // namespace holdfast
