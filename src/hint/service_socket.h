// SPDX-License-Identifier: MIT OR Apache-2.0
// Where the service listens.
#ifndef HF_HINT_SERVICE_SOCKET_H
#define HF_HINT_SERVICE_SOCKET_H

#define HF_SERVICE_DIRECTORY "/run/holdfast" // root's, or made by root for the service's user
#define HF_SERVICE_SOCKET HF_SERVICE_DIRECTORY "/monitor.sock"

#endif
