// SPDX-License-Identifier: MIT OR Apache-2.0
// The process's side of the registration.
#include "hint/registration.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/time.h>

#include "base/descriptor_passing.h"
#include "base/system_call.h"
#include "hint/hint.h"
#include "observe/observation.h"
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
    hf_sys_setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    hf_sys_setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    long refused = hf_sys_connect(fd, &address, length);
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

// Sends the request and returns how it was answered: with HF_REPLY_FAILED also if it was not. *descriptor is what a
// good reply brings, the caller's to close, or -1.
static struct hf_reply ask(const char *socket_name, enum hf_request_kind kind, int *descriptor) {
    struct hf_reply reply = {.status = HF_REPLY_FAILED};
    *descriptor = -1;
    int fd = hf_connect(socket_name, HF_REGISTRATION_PATIENCE_MS);
    if (fd < 0)
        return reply;
    struct hf_request request = {.version = HF_REGISTRATION_VERSION,
                                 .kind = kind,
                                 .tls_offset = hf_thread_record_tls_offset(),
                                 .program = number_of_program()};
    bool answered = hf_send_message(fd, &request, sizeof(request), -1) &&
                    hf_receive_message(fd, &reply, sizeof(reply), descriptor) &&
                    reply.version == HF_REGISTRATION_VERSION;
    hf_sys_close(fd);
    if (!answered)
        reply.status = HF_REPLY_FAILED;
    if (reply.status != HF_REPLY_DONE && *descriptor >= 0) {
        hf_sys_close(*descriptor);
        *descriptor = -1;
    }
    return reply;
}

// Whether it is worth while to ask for more there.
static bool meet_monitor(const char *socket_name) {
    int page_fd;
    struct hf_reply reply = ask(socket_name, HF_REQUEST_REGISTER, &page_fd);
    if (page_fd >= 0) {
        hf_hint_listen(page_fd, reply.group);
        hf_sys_close(page_fd);
    }
    return reply.status == HF_REPLY_DONE || reply.status == HF_REPLY_NO_MONITOR;
}

static void begin_statistics(const char *socket_name) {
    int memory_fd;
    if (!socket_name || hf_statistics_are_on())
        return;
    ask(socket_name, HF_REQUEST_OWN_STATISTICS, &memory_fd);
    if (memory_fd < 0)
        return;
    hf_statistics_begin(memory_fd);
    hf_sys_close(memory_fd);
}

// A forked child inherits the page and, in the kernel, the registration. It notes nothing, unless somebody waits for
// the sum of all processes.
static void begin_statistics_in_child(void) {
    int saved_errno = errno;
    begin_statistics(secure_getenv(HF_STATS_VARIABLE));
    errno = saved_errno;
}

// secure_getenv: a set-user-id program does not talk to whoever its caller names.
void hf_register(void) {
    static bool watches_forks;
    int saved_errno = errno;
    const char *named = secure_getenv(HF_SOCKET_VARIABLE);
    const char *collector = secure_getenv(HF_STATS_VARIABLE);
    const char *monitor = named ? named : HF_SERVICE_SOCKET;
    bool met = meet_monitor(monitor);
    begin_statistics(collector ? collector : met ? monitor : NULL);
    if (collector && !watches_forks)
        watches_forks = pthread_atfork(NULL, NULL, begin_statistics_in_child) == 0;
    errno = saved_errno;
}
