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

static int connect_to(const char *name) {
    struct sockaddr_un address;
    socklen_t length = hf_socket_address(name, &address);
    if (length == 0)
        return -1;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    struct timeval patience = {.tv_sec = HF_REGISTRATION_PATIENCE_MS / 1000,
                               .tv_usec = HF_REGISTRATION_PATIENCE_MS % 1000 * 1000};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    if (connect(fd, (const struct sockaddr *)&address, length) == 0)
        return fd;
    close(fd);
    return -1;
}

static bool send_request(int fd, int counters_fd) {
    struct hf_registration_request request = {
        .version = HF_REGISTRATION_VERSION,
        .flags = counters_fd >= 0 ? HF_REGISTRATION_HAS_COUNTERS : 0,
        .tls_offset = hf_thread_record_tls_offset(),
    };
    return hf_send_message(fd, &request, sizeof(request), counters_fd);
}

// The page's descriptor, or -1 when the reply brings none.
static int receive_page(int fd) {
    struct hf_registration_reply reply = {0};
    int page_fd;
    if (hf_receive_message(fd, &reply, sizeof(reply), &page_fd) && reply.version == HF_REGISTRATION_VERSION &&
        reply.status == HF_REGISTERED)
        return page_fd;
    if (page_fd >= 0)
        close(page_fd);
    return -1;
}

// Never fails: whatever goes wrong, the process runs without a monitor.
static void meet_monitor(const char *socket_name) {
    int fd = connect_to(socket_name);
    if (fd < 0)
        return;
    const char *stats = secure_getenv(HF_STATS_VARIABLE);
    int counters_fd = stats && strcmp(stats, "1") == 0 ? hf_thread_counters_share() : -1;
    if (send_request(fd, counters_fd)) {
        int page_fd = receive_page(fd);
        if (page_fd >= 0) {
            hf_hint_listen(page_fd);
            close(page_fd);
        }
    }
    if (counters_fd >= 0)
        close(counters_fd);
    close(fd);
}

// A forked child inherits the page and, in the kernel, the registration. Only counters are not inherited.
static void share_counters_in_child(void) {
    const char *stats = secure_getenv(HF_STATS_VARIABLE);
    const char *socket_name = secure_getenv(HF_SOCKET_VARIABLE);
    if (socket_name && stats && strcmp(stats, "1") == 0) {
        int saved_errno = errno;
        meet_monitor(socket_name);
        errno = saved_errno;
    }
}

void hf_register(void) {
    int saved_errno = errno;
    // secure_getenv: a set-user-id program does not talk to whoever its caller names.
    const char *socket_name = secure_getenv(HF_SOCKET_VARIABLE);
    if (socket_name) {
        meet_monitor(socket_name);
        pthread_atfork(NULL, NULL, share_counters_in_child);
    }
    errno = saved_errno;
}
