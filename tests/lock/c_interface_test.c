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

static int try_out_reader_writer(void) {
    hf_rwscl_t lock = HF_RWSCL_INIT;
    if (hf_rwscl_set_ratio(&lock, 9, 1) || hf_rwscl_set_slice(&lock, 100))
        return 1;
    hf_rwscl_read_lock(&lock);
    if (hf_rwscl_write_trylock(&lock))
        return 1;
    hf_rwscl_read_unlock(&lock);
    hf_rwscl_write_lock(&lock);
    if (hf_rwscl_read_trylock(&lock))
        return 1;
    hf_rwscl_write_unlock(&lock);
    hf_rwscl_init(&lock);
    return !hf_rwscl_read_trylock(&lock);
}

static int set_options(void) {
    hf_uscl_t lock = HF_USCL_INIT;
    hf_uscl_set_work_conserving(&lock, 0);
    return hf_uscl_set_slice(&lock, 500) || hf_uscl_set_inactive(&lock, 200);
}

int main(void) {
    TRY_OUT(flexguard, HF_FLEXGUARD_INIT);
    TRY_OUT(blocking, HF_BLOCKING_INIT);
    TRY_OUT(ttas, HF_TTAS_INIT);
    TRY_OUT(ticket, HF_TICKET_INIT);
    TRY_OUT(mcs, HF_MCS_INIT);
    TRY_OUT(uscl, HF_USCL_INIT);
    if (try_out_reader_writer() || set_options())
        return 1;
    return hf_version()[0] == '\0' || hf_monitor_present();
}
