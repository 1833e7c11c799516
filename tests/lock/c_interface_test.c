// SPDX-License-Identifier: MIT OR Apache-2.0
// The public headers in strict ISO C, against the shared library that programs link.
#include <holdfast/holdfast.h>

#define TRY_OUT(name, initialiser)                                                                                     \
    do {                                                                                                               \
        hf_##name##_t lock = initialiser;                                                                              \
        hf_##name##_lock(&lock);                                                                                       \
        if (hf_##name##_trylock(&lock))                                                                                \
            return 1;                                                                                                  \
        hf_##name##_unlock(&lock);                                                                                     \
        hf_##name##_init(&lock);                                                                                       \
        if (!hf_##name##_trylock(&lock))                                                                               \
            return 1;                                                                                                  \
        hf_##name##_unlock(&lock);                                                                                     \
    } while (0)

int main(void) {
    TRY_OUT(flexguard, HF_FLEXGUARD_INIT);
    TRY_OUT(blocking, HF_BLOCKING_INIT);
    TRY_OUT(ttas, HF_TTAS_INIT);
    TRY_OUT(ticket, HF_TICKET_INIT);
    TRY_OUT(mcs, HF_MCS_INIT);
    TRY_OUT(uscl, HF_USCL_INIT);
    return hf_version()[0] == '\0' || hf_monitor_present();
}
