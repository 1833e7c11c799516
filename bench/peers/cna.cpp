// SPDX-License-Identifier: MIT OR Apache-2.0
// CNA (Dice and Kogan, EuroSys '19, "Compact NUMA-Aware Locks"): an MCS queue whose owner hands over to the next
// waiter on its own NUMA node. Waiters that it skips go to a second queue; after a number of local hand-overs, or when
// nobody local is left, that queue goes to the front of the first.
//
// The second queue travels with the ownership, in the word that grants it:
//
//     0: waiting      1: granted, nobody was skipped      else: granted, and the address of the first who was skipped
//
// C1: only the owner knows of the second queue, and the lock becomes free only without one.
#include <cstdint>

#include "peers/numa_node.hpp"
#include "peers/peer.hpp"
#include "peers/waiter_queue.hpp"

namespace holdfast::bench {
namespace {

constexpr std::uint32_t local_turns_max = 256;

struct cna_node {
    cna_node *next = nullptr;
    std::uintptr_t grant = 0;
    cna_node *last_skipped = nullptr; // of the second queue, in its first node
    std::uint32_t numa = numa_node();

    cna_node *first_skipped() const { return grant > 1 ? reinterpret_cast<cna_node *>(grant) : nullptr; }
};

class cna {
public:
    void lock() {
        auto *node = take_node<cna_node>();
        if (!join_queue(&tail_, node)) {
            own_unskipped(node);
            return;
        }
        while (!hf_load_acquire(&node->grant)) // pairs with the release in unlock()
            hf_pause();
        owner_ = node;
    }

    bool try_lock() {
        cna_node *node = join_empty_queue(&tail_);
        if (node)
            own_unskipped(node);
        return node;
    }

    void unlock() {
        cna_node *node = owner_;
        cna_node *next = successor_of(node);
        std::uintptr_t grant = 1;
        if (!next && !(next = end_queue(node))) {
            give_node(node);
            return;
        }
        cna_node *skipped = node->first_skipped();
        if (next == skipped) {
            // The queue goes on with those who were skipped: end_queue() has put them into it.
        } else if (cna_node *local = stays_local() ? skip_to_local(node, next) : nullptr) {
            next = local;
            grant = node->grant;
        } else if (skipped) {
            hf_store_relaxed(&skipped->last_skipped->next, next);
            next = skipped;
        }
        give_node(node);
        hf_store_release(&next->grant, grant);
    }

private:
    void own_unskipped(cna_node *node) {
        node->grant = 1;
        owner_ = node;
    }

    // Nobody waits in the first queue. The first of the second one, which is the first queue now; nullptr: the lock is
    // free (C1). Or somebody has come meanwhile.
    cna_node *end_queue(cna_node *node) {
        cna_node *skipped = node->first_skipped();
        if (replace_tail(&tail_, node, skipped ? skipped->last_skipped : nullptr))
            return skipped;
        return wait_for_successor(node);
    }

    bool stays_local() { return ++local_turns_ % local_turns_max != 0; }

    // The first waiter on the owner's node, and all before it moved to the second queue. nullptr: there is none, and
    // nothing has changed.
    static cna_node *skip_to_local(cna_node *node, cna_node *first) {
        if (first->numa == node->numa)
            return first;
        cna_node *last = first;
        for (cna_node *one = successor_of(first); one; last = one, one = successor_of(one)) {
            if (one->numa != node->numa)
                continue;
            if (cna_node *skipped = node->first_skipped())
                hf_store_relaxed(&skipped->last_skipped->next, first);
            else
                node->grant = reinterpret_cast<std::uintptr_t>(first);
            hf_store_relaxed(&last->next, static_cast<cna_node *>(nullptr));
            node->first_skipped()->last_skipped = last;
            return one;
        }
        return nullptr;
    }

    cna_node *tail_;
    cna_node *owner_;
    std::uint32_t local_turns_;
};

} // namespace
} // namespace holdfast::bench

HF_PEER_IS(cna, holdfast::bench::cna)
