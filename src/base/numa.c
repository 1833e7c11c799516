// SPDX-License-Identifier: MIT OR Apache-2.0
#include "base/numa.h"

#include <stdbool.h>
#include <stdio.h>

#include "base/system_call.h"

struct hf_numa hf_numa;

// A list of ranges like "0-3,8,10-11", read piece by piece: threads with the smallest of stacks come here.
struct list {
    int fd; // negative: there is none
    int used, bytes;
    char piece[128];
};

static struct list open_list(const char *path) {
    return (struct list){.fd = hf_sys_open(path, O_RDONLY | O_CLOEXEC)};
}

static void close_list(const struct list *list) {
    if (list->fd >= 0)
        hf_sys_close(list->fd);
}

// The next character, or '\0' at the end.
static char look(struct list *list) {
    if (list->fd >= 0 && list->used == list->bytes) {
        long bytes = hf_sys_read(list->fd, list->piece, sizeof(list->piece));
        list->bytes = bytes > 0 ? (int)bytes : 0;
        list->used = 0;
    }
    return list->used < list->bytes ? list->piece[list->used] : '\0';
}

static bool next_is_digit(struct list *list) {
    return look(list) >= '0' && look(list) <= '9';
}

static unsigned long read_number(struct list *list) {
    unsigned long number = 0;
    for (; next_is_digit(list); list->used++)
        number = number * 10 + (unsigned long)(look(list) - '0');
    return number;
}

// False at the list's end.
static bool next_range(struct list *list, unsigned long *from, unsigned long *to) {
    if (!next_is_digit(list))
        return false;
    *from = *to = read_number(list);
    if (look(list) == '-') {
        list->used++;
        *to = read_number(list);
    }
    list->used += look(list) == ',';
    return true;
}

static void read_cpus_of(unsigned long node, uint32_t number) {
    char path[64];
    snprintf(path, sizeof path, "/sys/devices/system/node/node%lu/cpulist", node);
    struct list cpus = open_list(path);
    for (unsigned long cpu, last; next_range(&cpus, &cpu, &last);) {
        for (; cpu <= last && cpu < HF_NUMA_CPUS_MAX; cpu++)
            hf_store_relaxed(&hf_numa.node_of_cpu[cpu], (uint8_t)(number % HF_NUMA_NODES_MAX));
    }
    close_list(&cpus);
}

// Nodes without CPUs (memory alone) get no number. Returns how many have one.
static uint32_t read_nodes(void) {
    struct list nodes = open_list("/sys/devices/system/node/has_cpu");
    uint32_t count = 0;
    for (unsigned long node, last; next_range(&nodes, &node, &last);) {
        for (; node <= last && node < HF_NUMA_CPUS_MAX; node++)
            read_cpus_of(node, count++);
    }
    close_list(&nodes);
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
