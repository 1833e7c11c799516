// SPDX-License-Identifier: MIT OR Apache-2.0
// Whom a process believes that it meets when it registers, and what it takes from there.
//
// An abstract socket's name outlives its socket in the environment of what `holdfast run` has left behind, and anybody
// may bind that name then. So a process says nothing, and waits for nothing, until it knows who listens:
//
//     root                                   may do anything to us as it is
//     our own effective user                 likewise; never the real one's, which is a set-user-ID program's caller
//     the owner of /run/holdfast            of the service's own socket: root has made that directory (a service
//                                            without root's uid; or root, where our user namespace does not know root)
//
// What comes along is looked at all the same: memory that its sender may take away again would end us by SIGBUS.
#ifndef HF_HINT_TRUST_H
#define HF_HINT_TRUST_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

// Is the one that listens at the other end of this connection, to the socket of that name, to be believed?
bool hf_trusts_listener(int connection, const char *socket_name) __attribute__((visibility("hidden")));

// Is this a BPF array that is frozen, as a hint page is? Its size is the kernel's to check when it is mapped, and
// nobody can make it smaller. Where /proc is not there to say so, that it is no file of any kind has to do.
bool hf_is_frozen_map(int fd) __attribute__((visibility("hidden")));

// Is this memory of the size of statistics, which nobody can change any more?
bool hf_is_memory_for_statistics(int fd) __attribute__((visibility("hidden")));

#ifdef __cplusplus
}
#endif

#endif
