// SPDX-License-Identifier: MIT OR Apache-2.0
#include "base/numa.h"

#include <stdbool.h>
#include <stdio.h>

#include "base/file_reader.h"

struct hf_numa hf_numa;

// Of a list of ranges like "0-3,8,10-11". False at its end.
static bool next_range(struct hf_file_reader *list, unsigned long *from, unsigned long *to) {
    if (!hf_file_reader_is_at_digit(list))
        return false;
    *from = *to = hf_file_reader_number(list);
    if (hf_file_reader_look(list) == '-') {
        hf_file_reader_take(list);
        *to = hf_file_reader_number(list);
    }
    if (hf_file_reader_look(list) == ',')
        hf_file_reader_take(list);
    return true;
}

static void read_cpus_of(unsigned long node, uint32_t number) {
    char path[64];
    snprintf(path, sizeof path, "/sys/devices/system/node/node%lu/cpulist", node);
    struct hf_file_reader cpus = hf_file_reader_open(path);
    for (unsigned long cpu, last; next_range(&cpus, &cpu, &last);) {
        for (; cpu <= last && cpu < HF_NUMA_CPUS_MAX; cpu++)
            hf_store_relaxed(&hf_numa.node_of_cpu[cpu], (uint8_t)(number % HF_NUMA_NODES_MAX));
    }
    hf_file_reader_close(&cpus);
}

// Nodes without CPUs (memory alone) get no number. Returns how many have one.
static uint32_t read_nodes(void) {
    struct hf_file_reader nodes = hf_file_reader_open("/sys/devices/system/node/has_cpu");
    uint32_t count = 0;
    for (unsigned long node, last; next_range(&nodes, &node, &last);) {
        for (; node <= last && node < HF_NUMA_CPUS_MAX; node++)
            read_cpus_of(node, count++);
    }
    hf_file_reader_close(&nodes);
    return count == 0 ? 1 : count < HF_NUMA_NODES_MAX ? count : HF_NUMA_NODES_MAX;
}

uint32_t hf_numa_look_up(void) {
    uint32_t nodes = read_nodes();
    // Threads that come here together find the same; were a node added meanwhile, the first one decides for all.
    // Release: pairs with the acquire in hf_numa_nodes.
    hf_cas_release(&hf_numa.nodes, 0, nodes);
    return hf_load_acquire(&hf_numa.nodes);
}

void hf_numa_pretend(uint32_t nodes) {
    for (uint32_t cpu = 0; cpu < HF_NUMA_CPUS_MAX; cpu++)
        hf_store_relaxed(&hf_numa.node_of_cpu[cpu], (uint8_t)(cpu % nodes));
    hf_store_release(&hf_numa.nodes, nodes);
}
