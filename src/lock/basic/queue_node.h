// SPDX-License-Identifier: MIT OR Apache-2.0
// Nodes for queue locks that need one for each lock held or waited for. Each thread keeps its spare ones; they stay
// with the thread record when the thread exits, so memory follows the most locks ever held at once and is never given
// back.
#ifndef HF_LOCK_BASIC_QUEUE_NODE_H
#define HF_LOCK_BASIC_QUEUE_NODE_H

#include "thread/thread_record.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hf_queue_node {
    struct hf_queue_node *next;
    uint32_t waiting;
} HF_CACHE_ALIGNED;

// Never fails: out of memory, the process is aborted with a message, since a queue lock can't do without.
struct hf_queue_node *hf_queue_node_take(void);

// May be called by another thread than took it.
void hf_queue_node_give(struct hf_queue_node *node);

#ifdef __cplusplus
}
#endif

#endif
