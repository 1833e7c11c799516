// SPDX-License-Identifier: MIT OR Apache-2.0
// Coroutines that can run and belong to one worker: it puts and gets, first in, first out, and others steal. After BWoS
// (Wang et al., OSDI '23): the owner works on a block, thieves take from the others, so that the owner's put and get
// need no atomic read-modify-write and no guard.
//
// Positions count up for ever; the entry of position p lies in slot p % capacity.
//
//             front            limit            shared           back
//   ... taken   |  the owner's   |     taken      |  anybody's     |  not put yet
//
// Of one position (each arrow by the thread named; "guard": only with the guard held):
//
//                   owner: put                 owner: claim (guard), a block's rest at a time
//      NOT_PUT ----------------> ANYBODY'S -----------------------------------> OWNER'S
//        |                          |  thief: steal (guard), the oldest           |   |
//        | owner: put, into the     v                                             |   | owner: get, no guard
//        | rest of its block     TAKEN <------------------------------------------+---+
//        +--> OWNER'S              ^      thief: recall (guard), the youngest; only when nothing is anybody's
//
// pool.B1  Each entry is taken once. What is anybody's is taken under the guard. What is the owner's is taken by the
//     owner, which first moves `front` past it and then finds it below `limit`; or by a thief, which first moves
//     `limit` below it and then finds `front` not past it. In the total order of these sequentially consistent
//     operations one of the two sees the other: the owner then goes on under the guard, the thief gives its recall up.
// pool.B2  An entry's slot is written again only when it has been taken. The owner puts below `room_end_` alone, which
//     it moves under the guard: a task that took from there has done so under the guard before, or is the owner.
// pool.B3  An entry that is here all the while that looks_empty() reads is seen (pool.P1, worker_sleep.hpp). What was
//     taken is counted before it is gone from here, and read before `back`: so a task that sees a count sees at least
//     as many put.
//
// In BWoS nobody can take what is in the owner's block. Here a thief can (recall), since a worker must not sleep while
// something is ready, even if that lies behind a coroutine that runs long. It costs the owner the order of a store and
// a load at each get.
// Model: verify/coro/queue.pml. Tests: tests/coro/worker_queue_test.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "holdfast/coro/detail/spin_guard.hpp"
#include "ready_queue.hpp"

namespace holdfast::coro {

class alignas(64) worker_queue {
public:
    using entry = ready_queue::entry;
    static constexpr std::size_t capacity = 256;
    static constexpr std::size_t block = 32; // `capacity` is a multiple of it

    // The owner's. Puts the first of `count`, as many as there is room for. How many.
    std::size_t put(const entry *ready, std::size_t count) noexcept {
        std::uint64_t back = back_.load(std::memory_order_relaxed);
        if (room_end_ - back < count)
            find_room();
        count = std::min<std::size_t>(count, room_end_ - back);
        std::int64_t guests = guests_.load(std::memory_order_relaxed);
        for (std::size_t i = 0; i < count; i++) {
            slots_[(back + i) % capacity] = ready[i];
            guests += !ready[i].rotated;
        }
        guests_.store(guests, std::memory_order_relaxed);
        // Releases the slots: pairs with steal(). Sequentially consistent, as are looks_empty() and all that says who
        // sleeps (pool.P1, worker_sleep.hpp).
        back_.store(back + count, std::memory_order_seq_cst);
        return count;
    }

    // The owner's. The oldest of its block. False when there is nothing.
    [[nodiscard]] bool get(entry &into) noexcept {
        std::uint64_t front = front_.load(std::memory_order_relaxed);
        if (front == back_.load(std::memory_order_relaxed))
            return false;
        if (front < limit_.load(std::memory_order_relaxed)) {
            front_.store(front + 1, std::memory_order_seq_cst); // pool.B1
            if (front < limit_.load(std::memory_order_seq_cst)) {
                into = taken_by_owner(front);
                return true;
            }
        }
        return get_guarded(front, into);
    }

    // Anybody else's. Half of what is anybody's, the oldest, or of what is the owner's, the youngest; at most
    // `count_max`. How many.
    std::size_t steal(entry *into, std::size_t count_max) noexcept {
        if (looks_empty())
            return 0;
        spin_lock held(guard_);
        std::uint64_t shared = shared_.load(std::memory_order_relaxed);
        // Acquires the slots: pairs with put().
        std::uint64_t back = back_.load(std::memory_order_acquire);
        if (shared >= back)
            return recall(into, count_max, shared, back);
        std::size_t count = std::min<std::size_t>(count_max, (back - shared + 1) / 2);
        copy_stolen(into, shared, count);
        shared_.store(shared + count, std::memory_order_relaxed);
        return count;
    }

    // For everybody (pool.B3).
    [[nodiscard]] bool looks_empty() const noexcept { return size() == 0; }
    // Advice. For the owner.
    [[nodiscard]] bool has_guests() const noexcept {
        return guests_.load(std::memory_order_relaxed) > guests_stolen_.load(std::memory_order_relaxed);
    }

private:
    static std::uint64_t end_of_block(std::uint64_t position) noexcept { return (position / block + 1) * block; }

    [[nodiscard]] std::uint64_t size() const noexcept {
        // Pair with taken_by_owner() and copy_stolen(): after a count, `back` is seen to be no less.
        std::uint64_t taken = got_.load(std::memory_order_acquire);
        taken += stolen_.load(std::memory_order_acquire);
        return back_.load(std::memory_order_seq_cst) - taken;
    }

    entry taken_by_owner(std::uint64_t position) noexcept {
        entry found = slots_[position % capacity];
        if (!found.rotated)
            guests_.store(guests_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
        got_.store(got_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
        return found;
    }

    // With the guard.
    void copy_stolen(entry *into, std::uint64_t from, std::size_t count) noexcept {
        std::int64_t guests = 0;
        for (std::size_t i = 0; i < count; i++) {
            into[i] = slots_[(from + i) % capacity];
            guests += !into[i].rotated;
        }
        guests_stolen_.store(guests_stolen_.load(std::memory_order_relaxed) + guests, std::memory_order_relaxed);
        stolen_.store(stolen_.load(std::memory_order_relaxed) + count, std::memory_order_release);
    }

    // With the guard, when nothing is anybody's: half of what the owner has in its block, from the end.
    std::size_t recall(entry *into, std::size_t count_max, std::uint64_t shared, std::uint64_t back) noexcept {
        std::uint64_t limit = limit_.load(std::memory_order_relaxed);
        std::uint64_t end = std::min(limit, back);
        std::uint64_t front = front_.load(std::memory_order_relaxed);
        if (front >= end)
            return 0;
        std::size_t count = std::min<std::size_t>(count_max, (end - front + 1) / 2);
        limit_.store(end - count, std::memory_order_seq_cst); // pool.B1
        if (front_.load(std::memory_order_seq_cst) > end - count) {
            limit_.store(limit, std::memory_order_seq_cst); // the owner was faster
            return 0;
        }
        copy_stolen(into, end - count, count);
        // What the owner puts now is anybody's, up to its next claim. (Where nothing lay between the two; else it is
        // already, and what lies there has been taken before.)
        if (limit == shared)
            shared_.store(end, std::memory_order_relaxed);
        return count;
    }

    // The owner's: nothing is left of its block, or a thief recalls from it.
    bool get_guarded(std::uint64_t front, entry &into) noexcept {
        spin_lock held(guard_);
        if (front >= limit_.load(std::memory_order_relaxed)) {
            front = shared_.load(std::memory_order_relaxed); // not past `back`, since the owner's block is at its end
            limit_.store(end_of_block(front), std::memory_order_relaxed);
            shared_.store(end_of_block(front), std::memory_order_relaxed);
        }
        if (front == back_.load(std::memory_order_relaxed)) {
            front_.store(front, std::memory_order_relaxed);
            return false;
        }
        front_.store(front + 1, std::memory_order_relaxed);
        into = taken_by_owner(front);
        return true;
    }

    // The owner's. pool.B2.
    void find_room() noexcept {
        spin_lock held(guard_);
        std::uint64_t front = front_.load(std::memory_order_relaxed);
        bool owns = front < limit_.load(std::memory_order_relaxed);
        room_end_ = (owns ? front : shared_.load(std::memory_order_relaxed)) + capacity;
    }

    // Written by the owner, `limit_` by a task that has the guard. Sleepers and thieves read them.
    std::atomic<std::uint64_t> front_ = 0, back_ = 0, limit_ = block, got_ = 0;
    std::atomic<std::int64_t> guests_ = 0;
    std::uint64_t room_end_ = capacity; // the owner's alone
    // Written by a task that has the guard.
    alignas(64) spin_guard guard_;
    std::atomic<std::uint64_t> shared_ = block, stolen_ = 0;
    std::atomic<std::int64_t> guests_stolen_ = 0;
    alignas(64) std::array<entry, capacity> slots_;
};

} // namespace holdfast::coro
