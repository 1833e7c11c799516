// SPDX-License-Identifier: MIT OR Apache-2.0
// All of Holdfast's C interface.
#ifndef HOLDFAST_HOLDFAST_H
#define HOLDFAST_HOLDFAST_H

#include "holdfast/api.h"
#include "holdfast/blocking.h"
#include "holdfast/flexguard.h"
#include "holdfast/mcs.h"
#include "holdfast/rwscl.h"
#include "holdfast/ticket.h"
#include "holdfast/ttas.h"
#include "holdfast/uscl.h"

#ifdef __cplusplus
extern "C" {
#endif

// The library's version, "MAJOR.MINOR.PATCH".
HF_API const char *hf_version(void);

// Is a Preemption Monitor telling this process when critical sections are preempted? False means that FlexGuard's
// waiters block, but for locks that are released all the time. A process finds its monitor when it starts, or a
// preloaded one later, through HOLDFAST_SOCKET (set by `holdfast run`) or at the service's place.
HF_API bool hf_monitor_present(void);

#ifdef __cplusplus
}
#endif

#endif
