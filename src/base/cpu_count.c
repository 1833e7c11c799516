// SPDX-License-Identifier: MIT OR Apache-2.0
#include "base/cpu_count.h"

#include <sched.h>
#include <unistd.h>

#include "base/atomic.h"

static unsigned count(void) {
    cpu_set_t usable;
    if (sched_getaffinity(0, sizeof(usable), &usable) == 0)
        return (unsigned)CPU_COUNT(&usable);
    long online = sysconf(_SC_NPROCESSORS_ONLN); // more CPUs than a cpu_set_t has
    return online > 0 ? (unsigned)online : 1;
}

unsigned hf_cpus_usable(void) {
    static unsigned known;
    unsigned cpus = hf_load_relaxed(&known);
    if (cpus == 0) {
        cpus = count();
        hf_store_relaxed(&known, cpus); // threads that come here together may count twice
    }
    return cpus;
}
