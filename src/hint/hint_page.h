// SPDX-License-Identifier: (MIT OR Apache-2.0) OR (GPL-2.0-only OR BSD-2-Clause)
// The contract between the Preemption Monitor (BPF, in the kernel) and the locks (user space): what a thread publishes
// about itself, and what the monitor publishes about all of them. Both sides include this header; it includes none,
// and its includer provides fixed-width integer types and bool.
#ifndef HF_HINT_HINT_PAGE_H
#define HF_HINT_HINT_PAGE_H

// Where a thread stands in the queue of the lock that it waits for.
//
//            enqueues               predecessor leaves
//     IDLE -------------> WAITING -------------------> HEAD
//      ^  \                  |                          |
//      |   \ nobody before   |                          |
//      |    +----------------|------------------------> |
//      +---------------------+--------------------------+
//           gets the lock, or leaves the queue to sleep
enum hf_queue_state {
    HF_QUEUE_IDLE = 0,
    HF_QUEUE_WAITING = 1,
    HF_QUEUE_HEAD = 2,
};

// What a thread says of itself, in its own memory: what the monitor reads when the thread is switched out. The thread
// is critical when it holds a lock, or may by the time the monitor looks (critical_depth > 0), or is the next to get
// one (queue_state == HF_QUEUE_HEAD).
struct hf_critical_words {
    uint32_t critical_depth;
    uint32_t queue_state;
    uint64_t lock; // address of the lock that it took, or tried to take, last; for statistics only
};

static inline bool hf_is_critical(const struct hf_critical_words *words) {
    return words->critical_depth > 0 || words->queue_state == HF_QUEUE_HEAD;
}

#define HF_HINT_VERSION 3
#define HF_HINT_CPUS 1024
#define HF_HINT_SCOPES 64  // a power of two
#define HF_HINT_GROUPS 256 // a power of two

enum hf_monitor_state {
    HF_MONITOR_ABSENT = 0,
    HF_MONITOR_ALIVE = 1,
    HF_MONITOR_RETIRED = 2, // it said goodbye; nothing on the page is kept up to date any more
};

// The monitor beats this often. A page whose last beat is older than HF_HEARTBEAT_STALE_NS belongs to a dead monitor.
#define HF_HEARTBEAT_NS 50000000ull
#define HF_HEARTBEAT_STALE_NS 1000000000ull

// A count of critical threads that are not running at this moment: of all of them in the first scope, and in another of
// those that can get into each other's way (monitor/server/scopes.hpp).
enum { HF_SCOPE_MACHINE = 0 };

// A line for each scope, so that scopes do not take it from each other.
struct hf_hint_scope {
    uint64_t preempted_critical_sections; // the hint

    // Totals since the monitor started.
    uint64_t preemptions_total; // critical threads switched out while they could have gone on
    uint64_t sleeps_total;      // critical threads switched out because they chose to sleep
    uint64_t reserved[5];
};

// Processes that are moved between scopes together. A process is told its group when it registers, and stays in it; so
// do the children that it forks. The first group's scope is HF_SCOPE_MACHINE for ever.
//
// scope.S1  What a group reads, all its threads' marks are in: `reads` is HF_SCOPE_MACHINE, which every mark is in, or
//     it is `counts_in`, and then no thread of the group has a mark from when that was another
//     (tests/monitor/scopes_test, verify/monitor/scope.pml).
enum { HF_GROUP_OF_ALL = 0 };

struct hf_hint_group {
    uint32_t reads;     // the scope that its waiters ask
    uint32_t counts_in; // the scope, besides HF_SCOPE_MACHINE, that its threads are counted in; by the monitor alone
    // CLOCK_MONOTONIC; not 0: its threads switch inside critical sections all the time, and are not counted until the
    // first switch of one of them after that (monitor/bpf/switch_storm.bpf.h).
    uint64_t left_alone_until_ns;
};

// One line for each CPU, so that a switch on one never takes the line from a waiter on another.
struct hf_hint_cpu {
    uint32_t
        runnable;   // threads that wanted this CPU at its last switch to a registered process, the running one included
    uint32_t scope; // whose programs alone may use this CPU, as was found last; HF_SCOPE_MACHINE: nobody's
    // CLOCK_MONOTONIC: when a registered process last got it from a thread of another process that could have gone on.
    uint64_t shared_ns;
    uint32_t critical_departures; // modulo 2^32, of threads that were counted; by the monitor alone
    uint32_t reserved[11];
};

// The page itself: written by the monitor alone (it is a frozen BPF map), mapped read-only by every registered process.
// Fields are grouped by how often they change, a cache line a group.
struct hf_hint_page {
    // Set up once.
    uint32_t version;
    uint32_t monitor_state;
    uint64_t heartbeat_ns; // CLOCK_MONOTONIC
    uint64_t reserved0[6];

    // Totals since the monitor started, of all scopes.
    uint64_t uncounted_total;       // critical threads that could not be marked (no memory), hence are not in the count
    uint64_t unseen_switches_total; // counted threads that got the CPU without the monitor seeing it
    uint64_t repairs_total;         // times that a count was found wrong and set right
    uint64_t switch_storms_total;   // times that a group was left alone, a second each
    uint64_t unreadable_total;      // threads whose words could not be read at a switch, hence taken for not critical
    uint64_t reserved1[3];

    struct hf_hint_scope scope[HF_HINT_SCOPES];
    struct hf_hint_group group[HF_HINT_GROUPS]; // hardly ever changes
    struct hf_hint_cpu cpu[HF_HINT_CPUS];
};

#endif
