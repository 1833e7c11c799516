// SPDX-License-Identifier: MIT OR Apache-2.0
// ShflLock (Kashyap et al., SOSP '19, "Scalable and Practical Locking with Shuffling"): a lock word that anybody may
// take who finds it free, and a queue of waiters, only the head of which polls the word. While they wait, one of them,
// the shuffler, moves waiters on its NUMA node behind itself and wakes those that have parked. `Turn` is how a waiter
// waits: parking_word in the blocking variant, spinning_word in the other.
//
//     word:   FREE --- anybody, or the head alone once it has waited for long ---> HELD --- the owner ---> FREE
//
// S1: exclusion rests on the word alone. S2: the queue's links are changed by the shuffler only, of which there is one
// at a time (the role is handed on, last thing, or lost with its holder), and only between nodes that are linked and
// not the last. S3: a thread that leaves the head of the queue grants it to the next one: so nobody in the queue is
// forgotten.
#pragma once

#include <cstdint>

#include "peers/numa_node.hpp"
#include "peers/waiter_queue.hpp"

namespace holdfast::bench {

constexpr std::uint32_t batch_max = 1024;  // waiters on one node that are brought together before the role ends
constexpr int polls_until_first = 1 << 12; // of the head, before nobody takes the word past it any more

template <class Turn>
struct shuffle_node {
    shuffle_node *next = nullptr;
    Turn turn; // to be the head
    std::uint32_t numa = numa_node();
    std::uint32_t batch = 0; // how many of one node have been brought together up to here
    std::uint32_t shuffles = false;
};

template <class Turn>
class shuffle {
public:
    bool try_lock() { return hf_load_relaxed(&word_) == free && hf_cas_acquire(&word_, free, held); }

    void lock() {
        if (!hf_load_relaxed(&queue_goes_first_) && try_lock())
            return;
        node_type *node = take_node<node_type>();
        if (join_queue(&tail_, node))
            node->turn.wait([&] {
                if (hf_load_acquire(&node->shuffles))
                    shuffle_behind(node, [node] { return node->turn.is_granted(); });
            });
        take_as_head(node);
        leave(node);
        give_node(node);
    }

    void unlock() { hf_store_release(&word_, free); }

private:
    using node_type = shuffle_node<Turn>;
    enum : std::uint32_t { free, held };

    void take_as_head(node_type *node) {
        for (int polls = 0; !try_lock(); polls++) {
            if (polls == polls_until_first)
                hf_store_relaxed(&queue_goes_first_, std::uint32_t{true});
            if (node->batch == 0 || hf_load_acquire(&node->shuffles))
                shuffle_behind(node, [this] { return hf_load_relaxed(&word_) == free; });
            hf_pause();
        }
    }

    void leave(node_type *node) {
        hf_store_relaxed(&queue_goes_first_, std::uint32_t{false});
        node_type *after = successor_of(node);
        if (!after) {
            if (replace_tail<node_type>(&tail_, node, nullptr))
                return;
            after = wait_for_successor(node);
        }
        after->turn.grant(); // S3
    }

    // Brings waiters on this node's NUMA node up behind it, until it is `over`, and hands the role to the last of them.
    template <class Condition>
    void shuffle_behind(node_type *node, const Condition &over) {
        node_type *last = node, *before = node; // of the batch; and of those looked at
        hf_store_relaxed(&node->shuffles, std::uint32_t{false});
        if (node->batch == 0)
            node->batch = 1;
        std::uint32_t batch = node->batch;
        while (batch < batch_max && !over()) {
            node_type *one = successor_of(before);
            if (!one || one == hf_load_relaxed(&tail_))
                break;
            if (one->numa != node->numa) {
                before = one;
                continue;
            }
            if (before != last && !move_up(before, one, last))
                break;
            if (before == last)
                before = one;
            one->batch = ++batch;
            one->turn.wake_ahead();
            last = one;
        }
        if (last != node)
            hf_store_release(&last->shuffles, std::uint32_t{true}); // pairs with the acquires above
    }

    // From behind `before` to behind `last`. False: nobody is linked behind it yet (S2).
    static bool move_up(node_type *before, node_type *one, node_type *last) {
        node_type *after = successor_of(one);
        if (!after)
            return false;
        hf_store_release(&before->next, after);
        hf_store_relaxed(&one->next, hf_load_relaxed(&last->next));
        hf_store_release(&last->next, one);
        return true;
    }

    std::uint32_t word_;
    std::uint32_t queue_goes_first_; // nobody takes the word past the queue
    node_type *tail_;
};

} // namespace holdfast::bench
