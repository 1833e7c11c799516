// SPDX-License-Identifier: MIT OR Apache-2.0
// The process's side of the registration.
#include "hint/registration.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/descriptor_passing.h"
#include "hint/hint.h"
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
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    struct timeval patience = {.tv_sec = patience_ms / 1000, .tv_usec = patience_ms % 1000 * 1000};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    if (connect(fd, (const struct sockaddr *)&address, length) == 0)
        return fd;
    int why = errno;
    close(fd);
    errno = why;
    return -1;
}

// Sends the request, with a copy of the descriptor unless that is -1. Returns the descriptor that a good reply brings,
// or -1; *group is what the reply says.
static int ask(const char *socket_name, enum hf_request_kind kind, int descriptor, uint32_t *group) {
    int fd = hf_connect(socket_name, HF_REGISTRATION_PATIENCE_MS);
    if (fd < 0)
        return -1;
    struct hf_request request = {
        .version = HF_REGISTRATION_VERSION, .kind = kind, .tls_offset = hf_thread_record_tls_offset()};
    struct hf_reply reply = {0};
    int received = -1;
    bool good = hf_send_message(fd, &request, sizeof(request), descriptor) &&
                hf_receive_message(fd, &reply, sizeof(reply), &received) && reply.version == HF_REGISTRATION_VERSION &&
                reply.status == HF_REPLY_DONE;
    if (!good && received >= 0) {
        close(received);
        received = -1;
    }
    close(fd);
    *group = reply.group;
    return received;
}

// secure_getenv: a set-user-id program does not talk to whoever its caller names.
static void meet_monitor(void) {
    const char *named = secure_getenv(HF_SOCKET_VARIABLE);
    uint32_t group;
    int page_fd = ask(named ? named : HF_SERVICE_SOCKET, HF_REQUEST_REGISTER, -1, &group);
    if (page_fd < 0)
        return;
    hf_hint_listen(page_fd, group);
    close(page_fd);
}

static void share_counters(void) {
    const char *collector = secure_getenv(HF_STATS_VARIABLE);
    int counters_fd = collector ? hf_thread_counters_share() : -1;
    if (counters_fd < 0)
        return;
    uint32_t none;
    ask(collector, HF_REQUEST_COUNTERS, counters_fd, &none); // brings nothing back
    close(counters_fd);
}

// A forked child inherits the page and, in the kernel, the registration. Only counters are not inherited.
static void share_counters_in_child(void) {
    int saved_errno = errno;
    share_counters();
    errno = saved_errno;
}

void hf_register(void) {
    int saved_errno = errno;
    meet_monitor();
    share_counters();
    if (secure_getenv(HF_STATS_VARIABLE))
        pthread_atfork(NULL, NULL, share_counters_in_child);
    errno = saved_errno;
}
