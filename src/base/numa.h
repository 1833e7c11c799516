// SPDX-License-Identifier: MIT OR Apache-2.0
// The machine's NUMA nodes, from /sys, for locks that keep a counter for each.
#ifndef HF_BASE_NUMA_H
#define HF_BASE_NUMA_H

#include <stdint.h>

#include "base/atomic.h"
#include "base/cpu.h"

#ifdef __cplusplus
extern "C" {
#endif

// More nodes than this are told apart by their number modulo this.
enum { HF_NUMA_NODES_MAX = 8 };
enum { HF_NUMA_CPUS_MAX = 4096 };

struct hf_numa {
    uint32_t nodes; // 0: not looked up yet; later it does not change
    uint8_t node_of_cpu[HF_NUMA_CPUS_MAX];
};
extern struct hf_numa hf_numa __attribute__((visibility("hidden")));

// Reads /sys. No cancellation point; errno stays as it was. 1 when there is nothing to read.
uint32_t hf_numa_look_up(void) __attribute__((cold, visibility("hidden")));

// How many nodes there are, from 1 to HF_NUMA_NODES_MAX. The same at each call.
static inline uint32_t hf_numa_nodes(void) {
    // Acquire: pairs with the release of the thread that has looked it up, after it has filled the table.
    uint32_t nodes = hf_load_acquire(&hf_numa.nodes);
    return HF_LIKELY(nodes != 0) ? nodes : hf_numa_look_up();
}

// Below hf_numa_nodes(). CPUs that the table does not have are on node 0.
static inline uint32_t hf_numa_node_of(uint32_t cpu) {
    return cpu < HF_NUMA_CPUS_MAX ? hf_load_relaxed(&hf_numa.node_of_cpu[cpu]) % hf_numa_nodes() : 0;
}

// For tests on machines with one node: CPUs are dealt over so many. Requires that no lock that asks for nodes has been
// used, or will be used again.
void hf_numa_pretend(uint32_t nodes);

#ifdef __cplusplus
}
#endif

#endif
