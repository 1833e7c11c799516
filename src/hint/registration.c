// SPDX-License-Identifier: MIT OR Apache-2.0
// The process's side of the registration.
#include "hint/registration.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/time.h>

#include "base/clock.h"
#include "base/cpu_count.h"
#include "base/descriptor_passing.h"
#include "base/system_call.h"
#include "hint/hint.h"
#include "hint/trust.h"
#include "observe/observation.h"
#include "park/masked_lock.h"
#include "park/timed_sleep.h"
#include "thread/thread_record.h"

socklen_t hf_socket_address(const char *name, struct sockaddr_un *address) {
    size_t length = strlen(name);
    if (length == 0 || length >= sizeof(address->sun_path))
        return 0;
    memset(address, 0, sizeof(*address));
    address->sun_family = AF_UNIX;
    memcpy(address->sun_path, name, length);
    if (name[0] == '@')
        address->sun_path[0] = '\0';
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + (name[0] != '@'));
}

int hf_connect(const char *name, int patience_ms) {
    struct sockaddr_un address;
    socklen_t length = hf_socket_address(name, &address);
    if (length == 0) {
        errno = ENAMETOOLONG;
        return -1;
    }
    int fd = hf_sys_socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        errno = -fd;
        return -1;
    }
    struct timeval patience = {.tv_sec = patience_ms / 1000, .tv_usec = patience_ms % 1000 * 1000};
    // Without a limit nobody goes there: a server that accepts nothing would keep a program from its main.
    long refused = hf_sys_setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    if (!refused)
        refused = hf_sys_setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    if (!refused)
        refused = hf_sys_connect(fd, &address, length);
    if (!refused)
        return fd;
    hf_sys_close(fd);
    errno = (int)-refused;
    return -1;
}

// In what a process's programs most likely differ, and its libraries do not. Scrambled: where our stack is is nobody's
// business.
static uint32_t number_of_program(void) {
    return (uint32_t)((getauxval(AT_RANDOM) * 0x9e3779b97f4a7c15u) >> 32);
}

// How a request went.
struct outcome {
    struct hf_reply reply; // HF_REPLY_FAILED also when there was none
    int descriptor;        // what a good reply brings, the caller's to close, or -1
    bool silent;           // trusted, and nothing came in time
    bool may_differ;       // another time, for what was in the way may be gone
};

// Signals that interrupt it cost no patience; a clock that stands still (a debugger's, a test's) makes no difference to
// the rest.
static bool comes_within(int fd, int patience_ms) {
    const uint64_t ends_ns = hf_monotonic_ns() + (uint64_t)patience_ms * 1000000u;
    struct pollfd answer = {.fd = fd, .events = POLLIN};
    for (;;) {
        struct timespec patience = {.tv_sec = patience_ms / 1000, .tv_nsec = patience_ms % 1000 * 1000000};
        long ready = hf_sys_ppoll(&answer, 1, &patience);
        if (ready != -EINTR)
            return ready > 0;
        uint64_t now_ns = hf_monotonic_ns();
        patience_ms = now_ns < ends_ns ? (int)((ends_ns - now_ns) / 1000000u) : 0;
    }
}

static void take_answer(int fd, struct outcome *outcome) {
    bool whole = hf_receive_message(fd, &outcome->reply, sizeof(outcome->reply), &outcome->descriptor);
    if (!whole || outcome->reply.version != HF_REGISTRATION_VERSION)
        outcome->reply.status = HF_REPLY_FAILED;
    if (outcome->reply.status != HF_REPLY_DONE && outcome->descriptor >= 0) {
        hf_sys_close(outcome->descriptor);
        outcome->descriptor = -1;
    }
}

// When, which says how long to wait, and whom to believe: later the service's place may be another (chroot), and who
// owns it nobody special.
struct moment {
    int patience_ms;
    bool is_start;
};

static struct outcome ask(const char *socket_name, enum hf_request_kind kind, struct moment now) {
    struct outcome outcome = {.reply = {.status = HF_REPLY_FAILED}, .descriptor = -1};
    const int most_ms = HF_REGISTRATION_PATIENCE_MS;
    int fd = hf_connect(socket_name, now.patience_ms < most_ms ? now.patience_ms : most_ms);
    if (fd < 0) {
        outcome.silent = errno == EAGAIN; // too many are before us
        // A service may be started. An abstract name was of a 'holdfast run', which does not come back.
        outcome.may_differ = outcome.silent || (socket_name[0] != '@' && (errno == ENOENT || errno == ECONNREFUSED));
        return outcome;
    }
    struct hf_request request = {.version = HF_REGISTRATION_VERSION,
                                 .kind = kind,
                                 .tls_offset = hf_thread_record_tls_offset(),
                                 .program = number_of_program()};
    if (hf_trusts_listener(fd, now.is_start ? socket_name : "") && hf_send_message(fd, &request, sizeof(request), -1)) {
        outcome.silent = !comes_within(fd, now.patience_ms);
        if (!outcome.silent)
            take_answer(fd, &outcome);
        outcome.may_differ =
            outcome.silent || outcome.reply.status == HF_REPLY_OVER_LIMIT || outcome.reply.status == HF_REPLY_LATER;
    }
    hf_sys_close(fd);
    return outcome;
}

static struct outcome meet_monitor(const char *socket_name, struct moment now) {
    struct outcome outcome = ask(socket_name, HF_REQUEST_REGISTER, now);
    if (outcome.descriptor >= 0) {
        if (hf_is_frozen_map(outcome.descriptor))
            hf_hint_listen(outcome.descriptor, outcome.reply.group);
        hf_sys_close(outcome.descriptor);
    }
    return outcome;
}

// Whether it was answered.
static bool begin_statistics(const char *socket_name, int patience_ms) {
    struct outcome outcome =
        ask(socket_name, HF_REQUEST_OWN_STATISTICS, (struct moment){patience_ms, .is_start = true});
    if (outcome.descriptor >= 0) {
        if (hf_is_memory_for_statistics(outcome.descriptor) && hf_statistics_begin(outcome.descriptor))
            hf_note_monitor(hf_hint_has_monitor() ? HF_MONITOR_MET_AT_START : HF_MONITOR_NOT_MET);
        hf_sys_close(outcome.descriptor);
    }
    return !outcome.silent;
}

// Nobody is waited for twice: not by this process, nor by its forked children.
static bool collector_is_silent;

// A forked child inherits the page and, in the kernel, the registration. It notes nothing, unless somebody waits for
// the sum of all processes.
static void begin_statistics_in_child(void) {
    int saved_errno = errno;
    const char *collector = secure_getenv(HF_STATS_VARIABLE);
    if (collector && !collector_is_silent && !hf_statistics_are_on())
        collector_is_silent = !begin_statistics(collector, HF_COLLECTOR_PATIENCE_MS);
    errno = saved_errno;
}

// With the collector, which somebody waits for, or else with the monitor, if that had an answer.
static void register_for_statistics(const char *collector, const char *monitor, bool answered) {
    if (hf_statistics_are_on() || collector_is_silent)
        return;
    if (collector)
        collector_is_silent = !begin_statistics(collector, HF_COLLECTOR_PATIENCE_MS);
    else if (answered)
        begin_statistics(monitor, HF_REGISTRATION_PATIENCE_MS);
}

bool hf_registers_later __attribute__((weak)) = false;
bool hf_registration_is_owed __attribute__((visibility("hidden")));

static struct {
    char monitor[sizeof(((struct sockaddr_un *)NULL)->sun_path)]; // the environment may be another by then
    uint64_t due_ns;                                              // UINT64_MAX: some thread tries
    uint64_t apart_ns;
} later;

static void owe_registration(const char *monitor, uint64_t first_ns) {
    size_t bytes = strlen(monitor) + 1;
    if (!hf_registers_later || bytes > sizeof(later.monitor))
        return;
    memcpy(later.monitor, monitor, bytes);
    later.apart_ns = first_ns;
    hf_store_relaxed(&later.due_ns, hf_monotonic_ns() + later.apart_ns);
    hf_store_relaxed(&hf_registration_is_owed, true);
}

// A thread that is about to try sees this, or is waited for, but not for ever: a forked child has no such thread.
void hf_register_never(void) {
    enum { SLEEP_NS = 1000 * 1000, SLEEPS_MAX = 4 * HF_LATER_PATIENCE_MS };
    hf_store_relaxed(&hf_registration_is_owed, false);
    hf_fence_seq_cst(); // pairs with the one in hf_register_later
    for (int sleeps = 0; sleeps < SLEEPS_MAX && hf_load_relaxed(&later.due_ns) == UINT64_MAX; sleeps++)
        hf_timed_sleep(SLEEP_NS);
}

static void try_to_register(void) {
    struct outcome met = meet_monitor(later.monitor, (struct moment){HF_LATER_PATIENCE_MS, .is_start = false});
    if (hf_hint_has_monitor())
        hf_note_monitor(HF_MONITOR_MET_LATER);
    if (!met.may_differ)
        hf_store_relaxed(&hf_registration_is_owed, false);
    if (met.reply.status == HF_REPLY_LATER)
        later.apart_ns = HF_LATER_SOON_NS;
    else
        later.apart_ns = later.apart_ns < HF_LATER_LONGEST_NS ? 2 * later.apart_ns : HF_LATER_LONGEST_NS;
}

// On one CPU no waiter spins, whatever a monitor says: the holder can't run meanwhile. And a monitor has its price,
// which those pay that switch often.
static bool is_worth_a_monitor(void) {
    return hf_cpus_usable() > 1;
}

void hf_register_later(void) {
    enum { SLEEPS_APART = 16 }; // the clock is too dear to be read each time
    static __thread uint32_t sleeps __attribute__((tls_model("initial-exec")));
    if (++sleeps % SLEEPS_APART != 0)
        return;
    uint64_t due_ns = hf_load_acquire(&later.due_ns); // pairs with the release of the thread that has tried before
    if (hf_monotonic_ns() < due_ns || !is_worth_a_monitor())
        return;
    int saved_errno = errno;
    sigset_t saved;
    hf_block_all_signals(&saved); // a handler that jumps away would leave a descriptor behind
    if (hf_cas_acquire(&later.due_ns, due_ns, UINT64_MAX)) {
        hf_fence_seq_cst(); // pairs with the one in hf_register_never
        if (hf_load_relaxed(&hf_registration_is_owed))
            try_to_register();
        hf_store_release(&later.due_ns, hf_monotonic_ns() + later.apart_ns);
    }
    hf_unblock_signals(&saved);
    errno = saved_errno;
}

// Without a monitor, for now: some thread asks when it has use for one. A library that does not ask later asks now.
static bool puts_registration_off(struct outcome *met) {
    if (!hf_registers_later || is_worth_a_monitor())
        return false;
    *met = (struct outcome){.reply = {.status = HF_REPLY_LATER}, .descriptor = -1, .may_differ = true};
    return true;
}

// A library that does not try again later waits for a monitor that is being loaded, as long as for one that is silent.
static struct outcome meet_at_start(const char *monitor, int patience_ms) {
    enum { APART_MS = 5 };
    struct outcome met = meet_monitor(monitor, (struct moment){patience_ms, .is_start = true});
    for (int waited_ms = 0; met.reply.status == HF_REPLY_LATER && !hf_registers_later && waited_ms < patience_ms;
         waited_ms += APART_MS) {
        hf_timed_sleep(APART_MS * 1000000ull);
        met = meet_monitor(monitor, (struct moment){patience_ms, .is_start = true});
    }
    return met;
}

// secure_getenv: a set-user-id program does not talk to a monitor that its caller names.
void hf_register(void) {
    static bool watches_forks;
    int saved_errno = errno;
    const char *named = secure_getenv(HF_SOCKET_VARIABLE);
    const char *collector = secure_getenv(HF_STATS_VARIABLE);
    const char *monitor = named ? named : HF_SERVICE_SOCKET;
    bool collects = collector && strcmp(collector, monitor) == 0;
    int patience_ms = collects ? HF_COLLECTOR_PATIENCE_MS : HF_REGISTRATION_PATIENCE_MS;
    struct outcome met;
    if (!puts_registration_off(&met))
        met = meet_at_start(monitor, patience_ms);
    collector_is_silent = collects && met.silent;
    if (met.may_differ)
        owe_registration(monitor, met.reply.status == HF_REPLY_LATER ? HF_LATER_SOON_NS : HF_LATER_FIRST_NS);
    bool answered = met.reply.status == HF_REPLY_DONE || met.reply.status == HF_REPLY_NO_MONITOR ||
                    met.reply.status == HF_REPLY_LATER;
    register_for_statistics(collector, monitor, answered);
    if (collector && !watches_forks)
        watches_forks = pthread_atfork(NULL, NULL, begin_statistics_in_child) == 0;
    errno = saved_errno;
}
