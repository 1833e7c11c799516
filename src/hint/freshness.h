// SPDX-License-Identifier: MIT OR Apache-2.0
// Whether the hint is kept up to date, and whether this process listens to it.
//
//                     heart has stopped, or farewell
//      LISTENS -----------------------------------------> DOUBTS: listens to nobody
//         ^                                                  |
//         +--------------------------------------------------+
//                     the heart beats again
//
// A spinning waiter finds out that the monitor has gone; a waiter that is about to sleep finds out that it is back, or
// that a registration which failed can be tried again. Nobody else asks: a thread that never waits needs no hint.
#ifndef HF_HINT_FRESHNESS_H
#define HF_HINT_FRESHNESS_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

// Is the monitor still there? False once its heart has not beaten for HF_HEARTBEAT_STALE_NS, or it has said goodbye.
// Reads the clock, so a spinning waiter asks only now and then. After a false answer this process listens to nobody.
bool hf_hint_is_fresh(void);

// Listens again to a page that was not kept up to date, once it is; and no longer to one that says that we are left
// alone, and whose monitor has died. Asked by waiters before they sleep; costs some loads in any other case.
void hf_hint_look_again(void);

#ifdef __cplusplus
}
#endif

#endif
