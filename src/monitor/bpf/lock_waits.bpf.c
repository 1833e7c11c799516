// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Where threads wait in futexes, and where the threads are that wake them: for `holdfast record` and `holdfast top`,
// and loaded only while one of them asks.
//
//              switched out in a futex call that waits, and chosen      woken by a futex call on its word
//     no mark ---------------------------------------------------> begun -------------------------> released
//        ^       HF_WAIT_BEGINS                                       |       HF_WAIT_RELEASED        |
//        +------------------------------------------------------------+-------------------------------+
//               switched in: HF_WAIT_ENDS
//
// Not every wait is chosen: on each CPU the first so many of each short slot, the first for some words of each long
// one, those of threads of which few were chosen in a short slot, and of the rest one in THINNED_BY, by chance; of
// those of threads that wait seldom more, or all. How likely a wait is to be chosen depends on what was before it
// alone, never on how long it takes, and it stands for as many as it was chosen of: so sums are right on average. And
// they are near the truth: a thread whose waits take long waits seldom, so that each of these stands for itself or for
// few others, whoever else waits, and how often.
//
// Of a wait that is not chosen nobody hears who ended it. So each release tells since when its thread can have held the
// lock: what was before is some other thread's doing.
//
// Waits that are older than this program are found by a walk over all threads, once, and begin then.
#include "monitor/bpf/futex_call.bpf.h"
#include "monitor/bpf/wait_events.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

enum { EVENT_BYTES = 16 * 1024 * 1024 };
enum { SLOT_NS = 10 * 1000 * 1000, SLOT_OF_WORDS_NS = 100 * 1000 * 1000, THINNED_BY = 64 };
enum { WAITS_OF_THREAD = 2 }; // of a short slot: a short wait is not to crowd out the long one behind it
enum { THREADS_OF_SLOT = 8 }; // a thousand threads would cost more than they tell
enum { SELDOM_OF_SLOT = 8, SELDOM_AT_ONCE = 32 }; // of threads that wait seldom
enum { SLOT_OF_SLEEPS, SLOT_OF_LOCKS, SLOT_OF_SELDOM, SLOT_OF_THREADS, FIRST_SLOT_OF_WORDS, SLOTS_OF_WORDS = 16 };
enum { CHUNK_BYTES = 512 }; // what is read at once: all or nothing

struct wait_mark {
    struct hf_wait_event event;
    uint64_t preempted_ns; // 0: the thread has not lost its CPU
    uint64_t lock;         // that it slept for last, chosen or not; 0: none
    uint64_t back_ns;      // since when it sleeps for that no more; 0: it does
    uint64_t slot_ns;      // when its own short slot began
    uint32_t of_slot;      // its waits in that slot, chosen or not
    uint32_t of_last_slot; // in the one before
    uint32_t chosen;       // of its waits in that slot
    uint32_t is_open;      // 0: no mark
    uint32_t is_released;
};

// On a thread.
struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct wait_mark);
} marks SEC(".maps");

// On the leaders of processes that are recorded, unless everybody is.
struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, uint32_t);
} recorded SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, EVENT_BYTES);
} events SEC(".maps");

struct slot {
    uint64_t begun_ns;
    uint64_t chosen;
    uint64_t seen, seen_before; // in this slot, and in the one before: of waits of threads that wait seldom alone
};

// One for sleeps that are not for locks, and one for those that are: idle threads' are not to crowd out locks. One for
// each group of words: a lock that is waited for a thousand times a second is not to crowd out any other. One for
// threads that wait seldom, and so perhaps for long: of such waits by chance one in 64 would be far from the truth, so
// that others are not to crowd them out. And one for the first waits of any thread.
struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, FIRST_SLOT_OF_WORDS + SLOTS_OF_WORDS);
    __type(key, uint32_t);
    __type(value, struct slot);
} slots SEC(".maps");

const volatile bool everybody = false;    // else those with a mark, and what they fork
const volatile bool locks_alone = false;  // else all sleeps in futexes
const volatile bool preemptions = false;  // tells of threads that lost their CPU
const volatile uint32_t all_of_slot = 32; // so many of a slot are all chosen

uint32_t process_met; // of meet_sleepers: its number; 0: everybody

uint64_t lost_total; // events that found no room: their waits are not known

static bool is_recorded(struct task_struct *task) {
    if (everybody)
        return true;
    struct task_struct *leader = task->group_leader;
    return leader->bpf_storage && bpf_task_storage_get(&recorded, leader, 0, 0);
}

static struct slot *slot_now(uint32_t which, uint64_t now_ns, uint64_t length_ns) {
    struct slot *slot = bpf_map_lookup_elem(&slots, &which);
    if (slot && now_ns - slot->begun_ns >= length_ns) {
        slot->seen_before = now_ns - slot->begun_ns < 2 * length_ns ? slot->seen : 0;
        slot->begun_ns = now_ns;
        slot->chosen = slot->seen = 0;
    }
    return slot;
}

static bool has_room(uint32_t which, uint64_t now_ns, uint64_t length_ns, uint64_t room) {
    struct slot *slot = slot_now(which, now_ns, length_ns);
    if (!slot || slot->chosen >= room)
        return false;
    slot->chosen++;
    return true;
}

// A word may have the same address in each process of a program.
static uint32_t slot_of_word(const struct task_struct *task, const struct futex_wait *wait) {
    uint64_t mixed = (wait->address / 4 + task->tgid) * 0x9e3779b97f4a7c15ull; // Fibonacci hashing
    return FIRST_SLOT_OF_WORDS + (mixed >> 32) % SLOTS_OF_WORDS;
}

static void count_wait(struct wait_mark *mark, uint64_t now_ns) {
    uint64_t since_ns = now_ns - mark->slot_ns;
    if (since_ns >= SLOT_NS) {
        mark->of_last_slot = since_ns < 2 * SLOT_NS ? mark->of_slot : 0;
        mark->of_slot = 0;
        mark->chosen = 0;
        mark->slot_ns = now_ns;
    }
    mark->of_slot++;
}

// Of how many waits of threads that wait seldom one is chosen: of as many as there were room for in the slot before.
static uint32_t share_of_seldom(uint64_t now_ns) {
    struct slot *slot = slot_now(SLOT_OF_SELDOM, now_ns, SLOT_NS);
    if (!slot || slot->seen++ >= SELDOM_AT_ONCE)
        return THINNED_BY;
    uint32_t share = 1 + (uint32_t)slot->seen_before / (SELDOM_OF_SLOT + 1);
    return share < THINNED_BY ? share : THINNED_BY;
}

// How many waits this one stands for; 0: it is not chosen.
static uint32_t weight_now(const struct task_struct *task, struct wait_mark *mark, const struct futex_wait *wait,
                           uint64_t now_ns) {
    count_wait(mark, now_ns);
    bool is_seldom = mark->of_slot <= WAITS_OF_THREAD && mark->of_last_slot <= WAITS_OF_THREAD;
    uint32_t share = is_seldom ? share_of_seldom(now_ns) : THINNED_BY;
    if (share == 1)
        return 1;
    if (mark->chosen < WAITS_OF_THREAD && has_room(SLOT_OF_THREADS, now_ns, SLOT_NS, THREADS_OF_SLOT)) {
        mark->chosen++;
        return 1;
    }
    if (has_room(slot_of_word(task, wait), now_ns, SLOT_OF_WORDS_NS, 1) ||
        has_room(wait->for_lock ? SLOT_OF_LOCKS : SLOT_OF_SLEEPS, now_ns, SLOT_NS, all_of_slot))
        return 1;
    return bpf_get_prandom_u32() % share == 0 ? share : 0;
}

// Of a thread in a system call: all but the content.
static void begin_stack(struct task_struct *task, struct hf_stack *stack) {
    struct pt_regs *registers = (struct pt_regs *)bpf_task_pt_regs(task);
    stack->known = STACK_REGISTERS_KNOWN;
    READ_STACK_REGISTERS(stack->registers, registers);
    stack->instruction = stack->registers[INSTRUCTION_REGISTER];
    stack->from = stack->registers[STACK_REGISTER];
    stack->bytes = 0;
    stack->padding = 0;
}

static void read_stack_of_current(struct task_struct *task, struct hf_stack *stack) {
    begin_stack(task, stack);
#pragma unroll
    for (int at = 0; at < HF_STACK_BYTES; at += CHUNK_BYTES) {
        if (bpf_probe_read_user(stack->content + at, CHUNK_BYTES, (const void *)(stack->from + at)))
            return;
        stack->bytes = at + CHUNK_BYTES;
    }
}

// False: there was no room.
static bool tell_with_stack(struct task_struct *task, const struct hf_wait_event *event) {
    struct hf_wait_event_with_stack *told = bpf_ringbuf_reserve(&events, sizeof(*told), 0);
    if (!told) {
        __sync_fetch_and_add(&lost_total, 1);
        return false;
    }
    told->event = *event;
    read_stack_of_current(task, &told->stack);
    bpf_ringbuf_submit(told, BPF_RB_NO_WAKEUP);
    return true;
}

// What has ended and has no stack.
static void tell_span(const struct wait_mark *mark, uint32_t kind, uint64_t begun_ns, uint64_t at_ns) {
    struct hf_wait_event *told = bpf_ringbuf_reserve(&events, sizeof(*told), 0);
    if (!told) {
        __sync_fetch_and_add(&lost_total, 1);
        return;
    }
    *told = mark->event;
    told->kind = kind;
    told->begun_ns = begun_ns;
    told->at_ns = at_ns;
    bpf_ringbuf_submit(told, BPF_RB_NO_WAKEUP);
}

// at_ns 0: it is not known when.
static void tell_end(struct wait_mark *mark, uint64_t at_ns) {
    mark->is_open = 0;
    tell_span(mark, HF_WAIT_ENDS, mark->event.begun_ns, at_ns);
}

// A thread that leaves its CPU waits no more, even if the kernel hid the switch that ended its wait.
static void end_old_wait(struct task_struct *task) {
    struct wait_mark *mark = task->bpf_storage ? bpf_task_storage_get(&marks, task, 0, 0) : NULL;
    if (mark && mark->is_open)
        tell_end(mark, 0);
}

static void wait_begins(struct task_struct *task) {
    struct futex_wait wait = {};
    if (!sleeps_in_futex(task, &wait) || (locks_alone && !wait.for_lock))
        return;
    struct wait_mark *mark = bpf_task_storage_get(&marks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
    if (!mark) {
        __sync_fetch_and_add(&lost_total, 1);
        return;
    }
    uint64_t now_ns = bpf_ktime_get_ns();
    uint32_t weight = weight_now(task, mark, &wait, now_ns);
    if (wait.for_lock) {
        mark->lock = wait.address;
        mark->back_ns = 0;
    }
    struct bpf_pidns_info numbers = {};
    if (weight != 0)
        numbers_of_current(&numbers);
    if (numbers.tgid == 0)
        return;
    struct hf_wait_event begins = {.begun_ns = now_ns,
                                   .at_ns = now_ns,
                                   .address = wait.address,
                                   .process_started_ns = BPF_CORE_READ(task, group_leader, start_boottime),
                                   .kind = HF_WAIT_BEGINS,
                                   .process = numbers.tgid,
                                   .waiter = numbers.pid,
                                   .thread = numbers.pid,
                                   .weight = weight,
                                   .look = wait.look};
    mark->is_open = tell_with_stack(task, &begins);
    mark->is_released = 0;
    mark->event = begins;
}

static void wait_ends(struct task_struct *task) {
    struct wait_mark *mark = bpf_task_storage_get(&marks, task, 0, 0);
    if (!mark)
        return;
    bool slept_for_lock = mark->lock != 0 && mark->back_ns == 0;
    if (!slept_for_lock && !mark->is_open)
        return;
    uint64_t now_ns = bpf_ktime_get_ns();
    if (slept_for_lock)
        mark->back_ns = now_ns;
    if (mark->is_open)
        tell_end(mark, now_ns);
}

static void is_preempted(struct task_struct *task) {
    struct wait_mark *mark = bpf_task_storage_get(&marks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
    struct bpf_pidns_info numbers = {};
    numbers_of_current(&numbers);
    if (!mark || numbers.tgid == 0)
        return;
    if (!mark->is_open) { // between its last look at the clock and its sleep it is no holder
        mark->event.process = numbers.tgid;
        mark->event.waiter = mark->event.thread = numbers.pid;
        mark->event.process_started_ns = BPF_CORE_READ(task, group_leader, start_boottime);
        mark->preempted_ns = bpf_ktime_get_ns();
    }
}

static void is_back(struct task_struct *task) {
    struct wait_mark *mark = bpf_task_storage_get(&marks, task, 0, 0);
    if (!mark || mark->preempted_ns == 0)
        return;
    uint64_t begun_ns = mark->preempted_ns;
    mark->preempted_ns = 0;
    tell_span(mark, HF_THREAD_PREEMPTED, begun_ns, bpf_ktime_get_ns());
}

// Is the current thread in a call that wakes sleepers of that word?
static bool wakes_at(struct task_struct *task, uint64_t address) {
    struct pt_regs *registers = (struct pt_regs *)bpf_task_pt_regs(task);
    uint64_t number = SYSTEM_CALL_OF(registers);
    if ((number != NR_FUTEX && number != NR_FUTEX_WAKE) || FIRST_ARGUMENT_OF(registers) != address)
        return false;
    uint32_t command = SECOND_ARGUMENT_OF(registers) & COMMAND_MASK;
    return number == NR_FUTEX_WAKE || command == WAKE || command == WAKE_BITSET || command == UNLOCK_PI ||
           command == REQUEUE || command == CMP_REQUEUE || command == WAKE_OP || command == CMP_REQUEUE_PI;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(at_switch, bool preempt, struct task_struct *prev, struct task_struct *next) {
    uint32_t state = state_of(ctx, prev);
    end_old_wait(prev);
    if (!preempt && state & TASK_INTERRUPTIBLE && is_recorded(prev))
        wait_begins(prev);
    if (preemptions && (preempt || state == 0) && is_recorded(prev))
        is_preempted(prev);
    if (next->bpf_storage) {
        wait_ends(next);
        if (preemptions)
            is_back(next);
    }
    return 0;
}

// In the thread that wakes, or in an interrupt, which makes no futex call.
SEC("tp_btf/sched_waking")
int BPF_PROG(at_waking, struct task_struct *woken) {
    if (!woken->bpf_storage)
        return 0;
    struct wait_mark *mark = bpf_task_storage_get(&marks, woken, 0, 0);
    if (!mark || !mark->is_open || mark->is_released)
        return 0;
    struct task_struct *task = bpf_get_current_task_btf();
    if (task->mm != woken->mm || !wakes_at(task, mark->event.address))
        return 0;
    struct bpf_pidns_info numbers = {};
    numbers_of_current(&numbers);
    struct hf_wait_event release = mark->event;
    struct wait_mark *own = task->bpf_storage ? bpf_task_storage_get(&marks, task, 0, 0) : NULL;
    release.held_since_ns = own && own->lock == mark->event.address ? own->back_ns : 0;
    release.kind = HF_WAIT_RELEASED;
    release.at_ns = bpf_ktime_get_ns();
    release.thread = numbers.pid;
    mark->is_released = tell_with_stack(task, &release);
    return 0;
}

// The kernel may wake it meanwhile, and it may wait again, which is another wait.
static void read_stack_of_sleeper(struct task_struct *task, struct hf_stack *stack) {
    begin_stack(task, stack);
#pragma unroll
    for (int at = 0; at < HF_STACK_BYTES; at += CHUNK_BYTES) {
        if (bpf_copy_from_user_task(stack->content + at, CHUNK_BYTES, (const void *)(stack->from + at), task, 0))
            return;
        stack->bytes = at + CHUNK_BYTES;
    }
}

// Of a wait that is older than this program; Linux 5.18. Idle threads of the whole machine, which wait for conditions,
// would be too many.
SEC("iter.s/task")
int meet_sleepers(struct bpf_iter__task *at) {
    struct task_struct *task = at->task;
    struct futex_wait wait = {};
    if (!task || namespace_inode != 0 || !task->mm || !is_asleep(task) ||
        (process_met != 0 && task->tgid != process_met) || !sleeps_in_futex(task, &wait) ||
        ((process_met == 0 || locks_alone) && !wait.for_lock))
        return 0;
    struct wait_mark *mark = bpf_task_storage_get(&marks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
    if (!mark || mark->is_open)
        return 0;
    struct hf_wait_event_with_stack *told = bpf_ringbuf_reserve(&events, sizeof(*told), 0);
    if (!told) {
        __sync_fetch_and_add(&lost_total, 1);
        return 0;
    }
    uint64_t now_ns = bpf_ktime_get_ns();
    struct hf_wait_event begins = {.begun_ns = now_ns,
                                   .at_ns = now_ns,
                                   .address = wait.address,
                                   .process_started_ns = BPF_CORE_READ(task, group_leader, start_boottime),
                                   .kind = HF_WAIT_BEGINS,
                                   .process = task->tgid,
                                   .waiter = task->pid,
                                   .thread = task->pid,
                                   .weight = 1,
                                   .look = wait.look};
    told->event = begins;
    read_stack_of_sleeper(task, &told->stack);
    bpf_ringbuf_submit(told, BPF_RB_NO_WAKEUP);
    mark->event = begins;
    mark->is_released = 0;
    mark->is_open = 1;
    if (!is_asleep(task) && mark->is_open) // it has come back, perhaps before it had the mark
        tell_end(mark, now_ns);
    return 0;
}

// What a recorded process forks is recorded.
SEC("tp_btf/sched_process_fork")
int BPF_PROG(at_fork, struct task_struct *parent, struct task_struct *child) {
    if (everybody || child->pid != child->tgid || !is_recorded(parent))
        return 0;
    bpf_task_storage_get(&recorded, child, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
    return 0;
}
