// SPDX-License-Identifier: MIT OR Apache-2.0
#include "lock/basic/queue_node.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/system_call.h"

enum { HF_NODES_A_CHUNK = 4096 / sizeof(struct hf_queue_node) };

// Not malloc: an allocator may itself use the lock that needs the node.
static struct hf_queue_node *new_chunk(void) {
    struct hf_queue_node *chunk = hf_map_memory(HF_NODES_A_CHUNK * sizeof(*chunk));
    if (!chunk) {
        fprintf(stderr, "holdfast: no memory for a lock queue node: free some, or use a lock without nodes\n");
        abort();
    }
    for (int i = 0; i + 1 < HF_NODES_A_CHUNK; i++)
        chunk[i].next = &chunk[i + 1];
    return chunk;
}

struct hf_queue_node *hf_queue_node_take(void) {
    struct hf_thread_record *self = hf_self();
    struct hf_queue_node *node = self->spare_nodes;
    if (HF_UNLIKELY(node == NULL))
        node = new_chunk();
    self->spare_nodes = node->next;
    return node;
}

void hf_queue_node_give(struct hf_queue_node *node) {
    struct hf_thread_record *self = hf_self();
    node->next = self->spare_nodes;
    self->spare_nodes = node;
}
