// SPDX-License-Identifier: MIT OR Apache-2.0
// How a process and its monitor meet: one connection on a Unix SOCK_SEQPACKET socket, one request, one reply, closed.
//
//     process                                       monitor
//        | connect                                     |
//        | hf_registration_request ------------------> | who asks: SO_PEERCRED, never the message
//        |   [descriptor of its counters]              | notes the TLS offset in the process's task storage
//        | <------------------- hf_registration_reply  |
//        |     [descriptor of the frozen hint page]    |
//        | maps the page, closes everything            |
//
// The socket's name comes from HOLDFAST_SOCKET: a path, or '@' and an abstract name.
#ifndef HF_HINT_REGISTRATION_H
#define HF_HINT_REGISTRATION_H

#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HF_SOCKET_VARIABLE "HOLDFAST_SOCKET"
#define HF_STATS_VARIABLE "HOLDFAST_STATS"

#define HF_REGISTRATION_VERSION 1

// How long a process waits for its monitor before it goes on without one.
#define HF_REGISTRATION_PATIENCE_MS 3000

enum hf_registration_status {
    HF_REGISTERED = 0,
    HF_REGISTRATION_NO_MONITOR = 1, // the kernel or our rights do not allow one; counters, if sent, are kept
    HF_REGISTRATION_REFUSED = 2,    // malformed, of another version, or one library too many in the process
};

enum { HF_REGISTRATION_HAS_COUNTERS = 1 };

struct hf_registration_request {
    uint32_t version;
    uint32_t flags;
    int64_t tls_offset; // hf_thread_record_tls_offset()
};

struct hf_registration_reply {
    uint32_t version;
    uint32_t status;
};

// Registers this process with the monitor that HOLDFAST_SOCKET names, if it names one. Never fails: whatever goes
// wrong, the process runs without a monitor. Requires that no other thread of the process runs yet.
void hf_register(void);

// Fills `address` from the variable's value. Returns its length, or 0 when the name does not fit.
socklen_t hf_socket_address(const char *name, struct sockaddr_un *address);

#ifdef __cplusplus
}
#endif

#endif
