// SPDX-License-Identifier: MIT OR Apache-2.0
#include "workloads/objects.hpp"

#include <climits>

#include "base/atomic.h"
#include "base/cpu.h"
#include "holdfast/holdfast.h"
#include "thread/thread_record.h"

extern "C" {
#include "lock/flexguard/flexguard_lock.h"
#include "lock/posix/read_write_lock.h"
#include "park/futex.h"
#include "park/sleeper_counts.h"
}

namespace holdfast::sim {
namespace {

simulation &running() {
    return *simulation::running();
}

hf_flexguard_t *as_flexguard(const hf_lock_kind &kind, void *lock) {
    return kind.lock == find_lock("flexguard").lock ? static_cast<hf_flexguard_t *>(lock) : nullptr;
}

} // namespace

// ---- mutexes

mutex::mutex(const hf_lock_kind &kind) : kind_(kind), memory_(locks_at(1, kind.bytes)) {}

void mutex::got_it(picoseconds asked) {
    simulation &on = running();
    if (inside_++ != 0)
        on.stop("two threads were inside at once");
    on.trace_span("waits", asked);
    on.self().is_inside = true;
    got_ = on.now();
}

void mutex::gives_it_back() {
    simulation &on = running();
    on.trace_span("has it", got_);
    on.self().is_inside = false;
    --inside_;
}

void mutex::lock() {
    picoseconds asked = running().now();
    kind_.lock(memory_);
    got_it(asked);
}

void mutex::unlock() {
    gives_it_back();
    hf_permits_owed owed = std::exchange(permits_owed_, hf_permits_owed{0});
    kind_.unlock(memory_);
    if (owed)
        hf_permits_give_all(owed);
}

// ---- condition variables

void condition::wait(mutex &with) {
    if (is_glibc(with.kind_)) {
        std::uint32_t seen = hf_load_own(&signals_);
        hf_store_own(&waiters_, waiters_ + 1);
        with.unlock();
        while (hf_load_acquire(&signals_) == seen)
            hf_futex_wait(&signals_, seen, nullptr);
        picoseconds asked = running().now();
        glibc_lock_as_sleeper(with.memory_);
        with.got_it(asked);
        hf_store_own(&waiters_, waiters_ - 1);
        return;
    }
    hf_waiter self{};
    hf_condition_join(hf_waiter_begin(&self, &ours_, nullptr));
    with.unlock();
    picoseconds asleep = running().now();
    hf_condition_sleep(&self, nullptr);
    running().trace_span("waits for a condition", asleep);
    if (!self.moved) {
        with.lock();
        return;
    }
    picoseconds asked = running().now();
    auto *lock = static_cast<hf_flexguard_t *>(with.memory_);
    hf_flexguard_acquire_as_sleeper(&lock->word, &lock->queue_tail, &lock->releases, hf_self());
    hf_sleeper_goes(&lock->word);
    with.got_it(asked);
}

void condition::give_permit(mutex &with, hf_waiter *chosen) {
    hf_permits_owe(&with.permits_owed_, chosen);
}

void condition::signal(mutex &with) {
    if (is_glibc(with.kind_)) {
        if (hf_load_own(&waiters_) == 0)
            return;
        hf_fetch_add_acq_rel(&signals_, 1u);
        hf_futex_wake(&signals_, 1);
        return;
    }
    if (!hf_condition_may_have_waiters(&ours_))
        return;
    if (hf_waiter *chosen = hf_condition_choose_one(&ours_))
        hf_waiter_give_permit(chosen);
}

// As preload/cond.c: a crowd that mostly wakes in vain comes one after the other.
void condition::broadcast(mutex &with) {
    if (is_glibc(with.kind_)) {
        if (hf_load_own(&waiters_) == 0)
            return;
        hf_fetch_add_acq_rel(&signals_, 1u);
        hf_futex_wake(&signals_, INT_MAX);
        return;
    }
    if (!hf_condition_may_have_waiters(&ours_))
        return;
    hf_flexguard_t *lock = as_flexguard(with.kind_, with.memory_);
    bool moves = lock && hf_condition_wakes_in_vain(&ours_);
    hf_waiter *chosen = hf_condition_choose_all(&ours_);
    for (hf_waiter *next; chosen; chosen = next) {
        next = chosen->next_chosen;
        if (moves)
            hf_waiter_move_to(&lock->word, chosen);
        else
            give_permit(with, chosen);
    }
}

void cond_barrier::wait(const std::function<void()> &at_last) {
    mutex_.lock();
    std::uint64_t round = hf_load_own(&round_);
    hf_store_own(&arrived_, arrived_ + 1);
    if (arrived_ == threads_) {
        hf_store_own(&arrived_, 0u);
        hf_store_own(&round_, round + 1);
        at_last();
        all_here_.broadcast(mutex_);
    } else {
        while (hf_load_own(&round_) == round)
            all_here_.wait(mutex_);
    }
    mutex_.unlock();
}

// ---- reader-writer locks

namespace {

// nptl/pthread_rwlock_common.c, for PTHREAD_RWLOCK_PREFER_READER_NP, without deadlines: the word has the number of
// readers, whether a writer has or wants it, and whether it is the writers' phase. Readers of one phase and the first
// of the writers sleep on `phase`, other writers on `turn`.
class glibc_rwlock final : public reader_writer_lock {
    static constexpr std::uint32_t write_phase = 1, write_locked = 2, one_reader = 8;
    enum : std::uint32_t { phase_read, phase_write };

    void read_lock() override {
        std::uint32_t before = hf_fetch_add_acquire(&word_, one_reader);
        while (before & write_phase) {
            if (!(before & write_locked)) { // free, and still as the last writer left it
                if (hf_cas_acquire_or_load(&word_, &before, before ^ write_phase)) {
                    hf_store_release(&phase_, std::uint32_t(phase_read));
                    hf_futex_wake(&phase_, INT_MAX);
                    return;
                }
                continue;
            }
            while (hf_load_acquire(&phase_) == phase_write && (hf_load_relaxed(&word_) & write_phase))
                hf_futex_wait(&phase_, phase_write, nullptr);
            before = hf_load_acquire(&word_);
        }
    }

    void read_unlock() override {
        std::uint32_t before = hf_load_relaxed(&word_), after;
        do {
            after = before - one_reader;
            if (after / one_reader == 0 && (after & write_locked))
                after |= write_phase; // handed to the writer that waits
        } while (!hf_cas_release_or_load(&word_, &before, after));
        if ((after ^ before) & write_phase) {
            hf_store_release(&phase_, std::uint32_t(phase_write));
            hf_futex_wake(&phase_, INT_MAX);
        }
    }

    void write_lock() override {
        hf_fetch_add_relaxed(&writers_, 1u);
        for (;;) {
            std::uint32_t turn = hf_load_relaxed(&turn_);
            if (!(hf_fetch_or_acquire(&word_, write_locked) & write_locked))
                break;
            hf_futex_wait(&turn_, turn, nullptr);
        }
        hf_fetch_add_relaxed(&writers_, ~0u);
        for (std::uint32_t now = hf_load_acquire(&word_); !(now & write_phase); now = hf_load_acquire(&word_)) {
            if (now / one_reader == 0) {
                if (hf_cas_acquire(&word_, now, now | write_phase))
                    break;
                continue;
            }
            hf_store_release(&phase_, std::uint32_t(phase_read));
            hf_futex_wait(&phase_, phase_read, nullptr);
        }
        hf_store_own(&phase_, std::uint32_t(phase_write));
    }

    void write_unlock() override {
        std::uint32_t before = hf_load_relaxed(&word_), after;
        do
            after = (before & ~write_locked) & (before / one_reader ? ~write_phase : ~0u);
        while (!hf_cas_release_or_load(&word_, &before, after));
        if (!(after & write_phase)) {
            hf_store_release(&phase_, std::uint32_t(phase_read));
            hf_futex_wake(&phase_, INT_MAX);
        }
        if (hf_load_relaxed(&writers_)) {
            hf_fetch_add_release(&turn_, 1u);
            hf_futex_wake(&turn_, 1);
        }
    }

    alignas(HF_CACHE_LINE_BYTES) std::uint32_t word_ = 0;
    std::uint32_t phase_ = phase_read, turn_ = 0, writers_ = 0;
};

// As the interposer uses it.
class flexguard_rwlock final : public reader_writer_lock {
    void read_lock() override { hf_rw_read_acquire(&native_, hf_self(), nullptr); }
    void read_unlock() override { hf_rw_read_release(&native_, hf_self()); }
    void write_lock() override { hf_rw_write_acquire(&native_, hf_self(), nullptr); }
    void write_unlock() override { hf_rw_write_release(&native_, hf_self()); }

    alignas(HF_CACHE_LINE_BYTES) hf_rw_lock native_{};
};

class mutex_for_both final : public reader_writer_lock {
public:
    explicit mutex_for_both(const hf_lock_kind &kind) : kind_(kind), memory_(locks_at(1, kind.bytes)) {}

private:
    void read_lock() override { kind_.lock(memory_); }
    void read_unlock() override { kind_.unlock(memory_); }
    void write_lock() override { kind_.lock(memory_); }
    void write_unlock() override { kind_.unlock(memory_); }

    const hf_lock_kind &kind_;
    void *memory_;
};

} // namespace

reader_writer_lock &make_reader_writer_lock(const hf_lock_kind &kind) {
    if (is_glibc(kind))
        return placed<glibc_rwlock>();
    if (kind.lock == find_lock("flexguard").lock)
        return placed<flexguard_rwlock>();
    return placed<mutex_for_both>(kind);
}

} // namespace holdfast::sim
