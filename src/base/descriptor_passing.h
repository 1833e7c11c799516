// SPDX-License-Identifier: MIT OR Apache-2.0
// Messages on a Unix socket that may bring a descriptor along.
#ifndef HF_BASE_DESCRIPTOR_PASSING_H
#define HF_BASE_DESCRIPTOR_PASSING_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

// Sends the bytes as one message, with a copy of the descriptor unless that is -1. False with errno; never SIGPIPE.
bool hf_send_message(int socket, const void *data, size_t bytes, int descriptor);

// Receives one message of exactly that many bytes. False with errno when there is none, EPROTO when it has another
// length. Either way *descriptor is what came along, close-on-exec and the caller's to close, or -1. With NULL for it
// what came along is dropped, which closes it in this thread: of a stranger's file that could take for ever
// (SO_LINGER, FUSE).
bool hf_receive_message(int socket, void *data, size_t bytes, int *descriptor);

#ifdef __cplusplus
}
#endif

#endif
