// SPDX-License-Identifier: MIT OR Apache-2.0
// What the queue locks among the peers have in common: where their nodes come from, how a thread joins at the tail, and
// how the owner finds who came behind it (Mellor-Crummey and Scott, TOCS '91, section 2.4). A node is any struct with a
// member `next` of its own pointer type.
#pragma once

#include <new>
#include <type_traits>

#include "base/atomic.h"
#include "base/cpu.h"
#include "lock/basic/queue_node.h"

namespace holdfast::bench {

// Nodes are those of our own MCS lock: immortal, so a look at one that has been given back hits another lock's at
// worst.
template <class Node>
Node *take_node() {
    static_assert(sizeof(Node) <= sizeof(hf_queue_node) && std::is_trivially_destructible_v<Node>);
    return new (hf_queue_node_take()) Node;
}

// The node may be another thread's; nobody may use it any more.
template <class Node>
void give_node(Node *node) {
    hf_queue_node_give(new (node) hf_queue_node);
}

// Puts the node at the queue's end. nullptr: it is the first; else its predecessor, which knows of it now.
template <class Node>
Node *join_queue(Node **tail, Node *node) {
    // Release: a thread that finds the node through the tail finds it made. Acquire: what the last owner wrote.
    Node *before = hf_exchange_acq_rel(tail, node);
    if (before)
        hf_store_release(&before->next, node); // pairs with the acquire in successor_of
    return before;
}

template <class Node>
Node *successor_of(Node *node) {
    return hf_load_acquire(&node->next);
}

// Requires that somebody has taken the tail from the node; that one links itself in a moment.
template <class Node>
Node *wait_for_successor(Node *node) {
    Node *after = nullptr;
    while (!(after = successor_of(node)))
        hf_pause();
    return after;
}

// A new node that is the queue's only one; nullptr: there is somebody in it.
template <class Node>
Node *join_empty_queue(Node **tail) {
    Node *node = take_node<Node>(), *nobody = nullptr;
    if (__atomic_compare_exchange_n(tail, &nobody, node, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return node;
    give_node(node);
    return nullptr;
}

// The queue ends with `last` instead of `node`. False: somebody has joined behind `node`.
template <class Node>
bool replace_tail(Node **tail, Node *node, Node *last) {
    return hf_cas_release(tail, node, last);
}

} // namespace holdfast::bench
