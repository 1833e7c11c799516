// SPDX-License-Identifier: MIT OR Apache-2.0
#include "base/numa.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/system_call.h"

struct hf_numa hf_numa;

enum { HF_LIST_BYTES = 4096 };

static bool read_list(const char *path, char *list) {
    int fd = hf_sys_open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    long bytes = hf_sys_read(fd, list, HF_LIST_BYTES - 1);
    hf_sys_close(fd);
    list[bytes > 0 ? bytes : 0] = '\0';
    return bytes > 0;
}

// The next range of a list like "0-3,8,10-11". False at the list's end.
static bool next_range(const char **list, unsigned long *from, unsigned long *to) {
    char *end;
    if (**list < '0' || **list > '9')
        return false;
    *from = *to = strtoul(*list, &end, 10);
    if (*end == '-')
        *to = strtoul(end + 1, &end, 10);
    *list = *end == ',' ? end + 1 : end;
    return true;
}

static void read_cpus_of(unsigned long node, uint32_t number) {
    char path[64], cpus[HF_LIST_BYTES];
    snprintf(path, sizeof path, "/sys/devices/system/node/node%lu/cpulist", node);
    if (!read_list(path, cpus))
        return;
    const char *rest = cpus;
    for (unsigned long cpu, last; next_range(&rest, &cpu, &last);) {
        for (; cpu <= last && cpu < HF_NUMA_CPUS_MAX; cpu++)
            hf_store_relaxed(&hf_numa.node_of_cpu[cpu], (uint8_t)(number % HF_NUMA_NODES_MAX));
    }
}

// Nodes without CPUs (memory alone) get no number. Returns how many have one.
static uint32_t read_nodes(void) {
    char nodes[HF_LIST_BYTES];
    uint32_t count = 0;
    if (!read_list("/sys/devices/system/node/has_cpu", nodes))
        return 1;
    const char *rest = nodes;
    for (unsigned long node, last; next_range(&rest, &node, &last);) {
        for (; node <= last; node++)
            read_cpus_of(node, count++);
    }
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
