// SPDX-License-Identifier: MIT OR Apache-2.0
// MCSCR, the Malthusian lock (Dice, EuroSys '17, "Malthusian Locks"), spin-then-park: an MCS queue from which the owner
// sets waiters aside that are not needed to keep the lock busy. They come back, the newest first, when the queue is
// empty, and the eldest of them now and then, so that nobody waits for ever.
//
// The list of those set aside belongs to the owner. M1: the lock becomes free only with that list empty, so nobody on
// it is forgotten.
#include <cstdint>

#include "peers/parking.hpp"
#include "peers/peer.hpp"
#include "peers/waiter_queue.hpp"

namespace holdfast::bench {
namespace {

constexpr unsigned turns_to_eldest = 1000; // hand-overs between two that the eldest of those set aside gets

struct malthusian_node {
    malthusian_node *next = nullptr;
    malthusian_node *newer = nullptr; // while set aside
    malthusian_node *older = nullptr;
    parking_word turn;
};

// Waiters set aside, by when that happened.
class waiters_aside {
public:
    bool empty() const { return !newest_; }

    void add(malthusian_node *node) {
        node->newer = nullptr;
        node->older = newest_;
        (newest_ ? newest_->newer : eldest_) = node;
        newest_ = node;
    }

    malthusian_node *take_newest() {
        malthusian_node *node = newest_;
        newest_ = node->older;
        (newest_ ? newest_->newer : eldest_) = nullptr;
        return node;
    }

    malthusian_node *take_eldest() {
        malthusian_node *node = eldest_;
        eldest_ = node->newer;
        (eldest_ ? eldest_->older : newest_) = nullptr;
        return node;
    }

private:
    malthusian_node *newest_;
    malthusian_node *eldest_;
};

class malthusian {
public:
    void lock() {
        auto *node = take_node<malthusian_node>();
        if (join_queue(&tail_, node))
            node->turn.wait();
        owner_ = node;
    }

    bool try_lock() {
        malthusian_node *node = join_empty_queue(&tail_);
        if (node)
            owner_ = node;
        return node;
    }

    void unlock() {
        malthusian_node *node = owner_;
        malthusian_node *next = choose_next(node);
        give_node(node);
        if (next)
            next->turn.grant();
    }

private:
    // nullptr: the lock is free now.
    malthusian_node *choose_next(malthusian_node *node) {
        if (!aside_.empty() && ++turns_ % turns_to_eldest == 0)
            return put_behind(node, aside_.take_eldest());
        malthusian_node *after = successor_of(node);
        if (!after && !aside_.empty())
            return put_behind(node, aside_.take_newest());
        if (!after) { // M1
            if (replace_tail<malthusian_node>(&tail_, node, nullptr))
                return nullptr;
            after = wait_for_successor(node);
        }
        malthusian_node *beyond = successor_of(after);
        if (!beyond)
            return after;
        aside_.add(after); // one is enough to follow at once
        return beyond;
    }

    // Makes a waiter that was set aside the first behind the owner.
    malthusian_node *put_behind(malthusian_node *node, malthusian_node *returning) {
        malthusian_node *after = successor_of(node);
        if (!after) {
            hf_store_relaxed(&returning->next, static_cast<malthusian_node *>(nullptr));
            if (replace_tail(&tail_, node, returning))
                return returning;
            after = wait_for_successor(node);
        }
        hf_store_relaxed(&returning->next, after);
        return returning;
    }

    malthusian_node *tail_;
    malthusian_node *owner_;
    waiters_aside aside_;
    unsigned turns_;
};

} // namespace
} // namespace holdfast::bench

HF_PEER_IS(malthusian, holdfast::bench::malthusian)
