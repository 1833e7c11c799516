// SPDX-License-Identifier: MIT OR Apache-2.0
#include "base/descriptor_passing.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/system_call.h"

union control_message {
    char bytes[CMSG_SPACE(sizeof(int))];
    struct cmsghdr align;
};

bool hf_send_message(int socket, const void *data, size_t bytes, int descriptor) {
    struct iovec payload = {.iov_base = (void *)data, .iov_len = bytes};
    union control_message control = {0};
    struct msghdr message = {.msg_iov = &payload, .msg_iovlen = 1};
    if (descriptor >= 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof(control.bytes);
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
    }
    long sent;
    do
        sent = hf_sys_sendmsg(socket, &message, MSG_NOSIGNAL);
    while (sent == -EINTR);
    if (sent < 0)
        errno = (int)-sent;
    return sent == (long)bytes;
}

bool hf_receive_message(int socket, void *data, size_t bytes, int *descriptor) {
    struct iovec payload = {.iov_base = data, .iov_len = bytes};
    union control_message control = {0};
    // Room for one descriptor and not a byte more: the kernel closes what does not fit.
    struct msghdr message = {
        .msg_iov = &payload, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = CMSG_LEN(sizeof(int))};
    if (descriptor)
        *descriptor = -1;
    else
        message.msg_control = NULL, message.msg_controllen = 0;
    long received;
    do
        received = hf_sys_recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    while (received == -EINTR);
    if (received < 0) {
        errno = (int)-received;
        return false;
    }
    const struct cmsghdr *header = descriptor ? CMSG_FIRSTHDR(&message) : NULL;
    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
        header->cmsg_len == CMSG_LEN(sizeof(int)))
        memcpy(descriptor, CMSG_DATA(header), sizeof(int));
    if (received == (long)bytes && !(message.msg_flags & MSG_TRUNC))
        return true;
    errno = EPROTO;
    return false;
}
