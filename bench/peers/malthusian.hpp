// SPDX-License-Identifier: MIT OR Apache-2.0
// MCSCR, the Malthusian lock (Dice, EuroSys '17, "Malthusian Locks"): an MCS queue from which the owner sets waiters
// aside that are not needed to keep the lock busy. They come back, the newest first, when the queue is empty, and the
// eldest of them now and then, so that nobody waits for ever. `Turn` is how a waiter waits: parking_word
// or spinning_word.
//
// The list of those set aside belongs to the owner. M1: the lock becomes free only with that list empty, so nobody on
// it is forgotten.
#pragma once

#include "peers/waiter_queue.hpp"

namespace holdfast::bench {

constexpr unsigned turns_to_eldest = 1000; // hand-overs between two that the eldest of those set aside gets

template <class Turn>
struct malthusian_node {
    malthusian_node *next = nullptr;
    malthusian_node *newer = nullptr; // while set aside
    malthusian_node *older = nullptr;
    Turn turn;
};

// Waiters set aside, by when that happened.
template <class Node>
class waiters_aside {
public:
    bool empty() const { return !newest_; }

    void add(Node *node) {
        node->newer = nullptr;
        node->older = newest_;
        (newest_ ? newest_->newer : eldest_) = node;
        newest_ = node;
    }

    Node *take_newest() {
        Node *node = newest_;
        newest_ = node->older;
        (newest_ ? newest_->newer : eldest_) = nullptr;
        return node;
    }

    Node *take_eldest() {
        Node *node = eldest_;
        eldest_ = node->newer;
        (eldest_ ? eldest_->older : newest_) = nullptr;
        return node;
    }

private:
    Node *newest_;
    Node *eldest_;
};

template <class Turn>
class malthusian {
public:
    void lock() {
        auto *node = take_node<node_type>();
        if (join_queue(&tail_, node))
            node->turn.wait();
        owner_ = node;
    }

    bool try_lock() {
        node_type *node = join_empty_queue(&tail_);
        if (node)
            owner_ = node;
        return node;
    }

    void unlock() {
        node_type *node = owner_;
        node_type *next = choose_next(node);
        give_node(node);
        if (next)
            next->turn.grant();
    }

private:
    using node_type = malthusian_node<Turn>;

    // nullptr: the lock is free now.
    node_type *choose_next(node_type *node) {
        if (!aside_.empty() && ++turns_ % turns_to_eldest == 0)
            return put_behind(node, aside_.take_eldest());
        node_type *after = successor_of(node);
        if (!after && !aside_.empty())
            return put_behind(node, aside_.take_newest());
        if (!after) { // M1
            if (replace_tail<node_type>(&tail_, node, nullptr))
                return nullptr;
            after = wait_for_successor(node);
        }
        node_type *beyond = successor_of(after);
        if (!beyond)
            return after;
        aside_.add(after); // one is enough to follow at once
        return beyond;
    }

    // Makes a waiter that was set aside the first behind the owner.
    node_type *put_behind(node_type *node, node_type *returning) {
        node_type *after = successor_of(node);
        if (!after) {
            hf_store_relaxed(&returning->next, static_cast<node_type *>(nullptr));
            if (replace_tail(&tail_, node, returning))
                return returning;
            after = wait_for_successor(node);
        }
        hf_store_relaxed(&returning->next, after);
        return returning;
    }

    node_type *tail_;
    node_type *owner_;
    waiters_aside<node_type> aside_;
    unsigned turns_;
};

} // namespace holdfast::bench
