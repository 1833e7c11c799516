// SPDX-License-Identifier: MIT OR Apache-2.0
// How a process and its monitor meet: one connection on a Unix SOCK_SEQPACKET socket, one request, one reply, closed.
//
//     process                                       monitor
//        | connect                                     |
//        | hf_request: REGISTER ---------------------> | who asks: the kernel says, never the message
//        |                                             | notes the TLS offset in the process's task storage
//        | <-------------------------------- hf_reply  |
//        |     [descriptor of the frozen hint page]    |
//        | maps the page, closes everything            |
//
// The monitor's socket is the one that HOLDFAST_SOCKET names, a path or '@' and an abstract name, or the service's. The
// other requests go the same way. STATUS is answered by a struct hf_monitor_status.
//
// OWN_STATISTICS is answered by a descriptor of memory (observe/statistics_memory.h) that the server has made for the
// process to note in; it goes to the socket that HOLDFAST_STATS names, if that is set (cli/run/run.cpp). The server
// keeps a descriptor of the memory for as long as the process runs. PROCESSES is answered by a struct
// hf_observed_processes, STATISTICS by a descriptor of a process's memory to read in: of one of the asker's own user,
// or, for root, of any. ABSENCES is answered, to the same askers, by a struct hf_process_absences.
//
// Whose answers a process believes: hint/trust.h.
//
// Messages have a fixed size, and a version first; every version has version and kind, or version and status, where
// this one has them. A malformed request is answered by a status that says so, and the connection is closed.
#ifndef HF_HINT_REGISTRATION_H
#define HF_HINT_REGISTRATION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "hint/hint_page.h"
#include "hint/holder_preemptions.h"
#include "hint/service_socket.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HF_SOCKET_VARIABLE "HOLDFAST_SOCKET"
#define HF_STATS_VARIABLE "HOLDFAST_STATS"

#define HF_REGISTRATION_VERSION 8

// How long a process waits for its monitor before it goes on without one. Every program that starts waits so long for
// one that is stopped; one that runs answers within a millisecond, and sees to it that it gets the CPU for it
// (monitor/server/reception.cpp).
#define HF_REGISTRATION_PATIENCE_MS 100
// How long when it tries again later, in a thread that is about to sleep for a lock: first after so long, then after
// twice as long each time.
#define HF_LATER_PATIENCE_MS 5
#define HF_LATER_FIRST_NS 1000000000ull
// Of a monitor that is loaded when somebody comes again ('holdfast run'), which takes some 30 ms: each time.
#define HF_LATER_SOON_NS 8000000ull
#define HF_LATER_LONGEST_NS 64000000000ull
// How long it waits for the server that HOLDFAST_STATS names: what it does not get would be missing in a sum.
#define HF_COLLECTOR_PATIENCE_MS 3000
// How long the command waits, which has nothing better to do.
#define HF_COMMAND_PATIENCE_MS 3000

enum hf_request_kind {
    HF_REQUEST_REGISTER = 1,
    HF_REQUEST_STATUS = 2,
    HF_REQUEST_OWN_STATISTICS = 3,
    HF_REQUEST_PROCESSES = 4,
    HF_REQUEST_STATISTICS = 5,
    HF_REQUEST_ABSENCES = 6,
};

struct hf_request {
    uint32_t version;
    uint32_t kind;
    int64_t tls_offset; // REGISTER: hf_thread_record_tls_offset()
    uint32_t program;   // OWN_STATISTICS: most likely another number in each program that a process executes
    uint32_t process;   // PROCESSES: those with a greater number than this; STATISTICS, ABSENCES: whose
    uint32_t index;     // STATISTICS: which of its memories; 0 is the newest
    uint32_t reserved;
};

enum hf_reply_status {
    HF_REPLY_DONE = 0,          // registered, told, or kept
    HF_REPLY_NO_MONITOR = 1,    // the kernel or our rights do not allow one
    HF_REPLY_STRANGER = 2,      // not one of those that this socket is for
    HF_REPLY_MALFORMED = 3,     // no request of this version, or of an unknown kind
    HF_REPLY_OTHER_VERSION = 4, // of the protocol; the reply's version is the one to speak
    HF_REPLY_OVER_LIMIT = 5,    // its user has as many processes registered as one may
    HF_REPLY_UNKNOWN = 6,       // the kernel does not say which process this is (in another pid namespace, before 6.5)
    HF_REPLY_FAILED = 7,        // it has ended, or has one library too many
    HF_REPLY_ABSENT = 8,        // there are no statistics of that process, or no more
    HF_REPLY_LATER = 9,         // the monitor is loaded when somebody asks again, or is being loaded: ask again
};

struct hf_reply {
    uint32_t version;
    uint32_t status;
    uint32_t group; // REGISTER: the process's on the page (struct hf_hint_group)
    uint32_t reserved;
};

// One scope of the page, as far as anybody reads it or has been counted in it.
struct hf_scope_status {
    uint64_t registered_processes; // that read it
    uint64_t preempted_critical_sections;
    uint64_t preemptions_total;
    uint64_t sleeps_total;
    uint64_t cpus[HF_HINT_CPUS / 64]; // that those processes may use
};

struct hf_monitor_status {
    struct hf_reply reply;
    char holdfast_version[16]; // ends with 0
    uint64_t uptime_ns;
    uint64_t preempted_critical_sections; // at this moment
    uint64_t preemptions_total;
    uint64_t sleeps_total;
    uint64_t uncounted_total;
    uint64_t unreadable_total;
    uint64_t unseen_switches_total;
    uint64_t switch_storms_total;
    uint64_t audits_total; // comparisons of the count with the truth, and what came of them
    uint64_t repairs_total;
    uint64_t registered_processes; // that still run, their forked children included
    uint64_t registrations_total;
    uint64_t refusals_total;
    uint64_t parts_left_out; // of the monitor, since the kernel does not take them: bits of monitor/bpf/monitor_parts.h
    struct hf_scope_status scope[HF_HINT_SCOPES];
};

enum { HF_PROCESSES_A_REPLY = 1024 };

struct hf_observed_processes {
    struct hf_reply reply;
    uint32_t count; // HF_PROCESSES_A_REPLY: ask again for those with greater numbers than the last one
    uint32_t process[HF_PROCESSES_A_REPLY]; // that the asker may read the statistics of, in ascending order
};

enum { HF_ABSENCES_A_REPLY = 256 };

struct hf_lock_absences {
    uint64_t lock;
    struct hf_holder_absences holders;
};

// Of the locks of a process: those whose holders were preempted for longest, that first; and the sums over all.
struct hf_process_absences {
    struct hf_reply reply;
    uint64_t count;
    uint64_t preemptions;
    uint64_t preempted_ns;
    uint64_t sleeps;
    uint64_t asleep_ns;
    struct hf_lock_absences each[HF_ABSENCES_A_REPLY];
};

// Registers this process with its monitor, if there is one. Never fails: whatever goes wrong, the process runs without
// a monitor. Requires that no other thread of the process runs yet.
void hf_register(void);

// A monitor that was not there, or did not answer, when the process started may be there by now. Asked before a thread
// sleeps; does something now and then, while that is owed and the process may use two CPUs. Statistics are noted by
// those that met it at their start.
void hf_register_later(void) __attribute__((cold));
extern bool hf_registration_is_owed __attribute__((visibility("hidden")));

// From now on nobody asks for a socket: what is to come may kill the process for it.
void hf_register_never(void);

// A library that calls hf_register_never before a sandbox stands (preload/sandbox.c) defines this as true. The others
// don't try again.
extern bool hf_registers_later;

// A program that links Holdfast and takes no locks that matter (the command) defines this as false, and isn't
// registered when it starts.
extern bool hf_registers_at_start;

// Fills `address` from the name of a socket. Returns its length, or 0 when the name does not fit.
socklen_t hf_socket_address(const char *name, struct sockaddr_un *address);

// Connects to the socket of that name; sending and receiving give up after the patience. Returns the connection, or -1
// with errno.
int hf_connect(const char *name, int patience_ms);

#ifdef __cplusplus
}
#endif

#endif
