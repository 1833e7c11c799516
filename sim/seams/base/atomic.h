// SPDX-License-Identifier: MIT OR Apache-2.0
// In place of src/base/atomic.h: each access goes to the simulated machine first, which lets others go before it,
// charges for it, and says where it takes place.
//
// A store is in its CPU's store buffer at first (engine/store_buffer.hpp). Memory has what the one that stored sees, so
// that plain accesses of its own are right; what others see of the word meanwhile is elsewhere, and that is where their
// loads and read-modify-writes take place.
#ifndef HF_BASE_ATOMIC_H
#define HF_BASE_ATOMIC_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

void *hf_sim_load(const volatile void *word);
void hf_sim_store(volatile void *word, size_t bytes);
void *hf_sim_modify(volatile void *word);
void hf_sim_fence(void);

#ifdef __cplusplus
}
#endif

#define HF_SIM_LOAD(p)                                                                                                 \
    ({                                                                                                                 \
        __typeof__(p) hf_loaded_ = (p);                                                                                \
        *(const volatile __typeof__(*hf_loaded_) *)hf_sim_load(hf_loaded_);                                            \
    })
#define HF_SIM_STORE(p, v)                                                                                             \
    ({                                                                                                                 \
        __typeof__(p) hf_stored_ = (p);                                                                                \
        __typeof__(*hf_stored_) hf_value_ = (v);                                                                       \
        hf_sim_store(hf_stored_, sizeof(*hf_stored_));                                                                 \
        *(volatile __typeof__(*hf_stored_) *)hf_stored_ = hf_value_;                                                   \
        (void)0;                                                                                                       \
    })
// The operand is computed first: it may load, and others may run meanwhile.
#define HF_SIM_MODIFY(operation, p, v)                                                                                 \
    ({                                                                                                                 \
        __typeof__(p) hf_modified_ = (p);                                                                              \
        __typeof__(*hf_modified_) hf_operand_ = (v);                                                                   \
        operation((__typeof__(p))hf_sim_modify(hf_modified_), hf_operand_, __ATOMIC_SEQ_CST);                          \
    })
#define HF_SIM_CAS_OR_LOAD(p, from, to)                                                                                \
    ({                                                                                                                 \
        __typeof__(p) hf_modified_ = (p);                                                                              \
        __typeof__(*hf_modified_) hf_operand_ = (to);                                                                  \
        __atomic_compare_exchange_n((__typeof__(p))hf_sim_modify(hf_modified_), (from), hf_operand_, false,            \
                                    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                                               \
    })
#define HF_SIM_CAS(p, from, to)                                                                                        \
    ({                                                                                                                 \
        __typeof__(*(p)) hf_expected_ = (from);                                                                        \
        HF_SIM_CAS_OR_LOAD(p, &hf_expected_, to);                                                                      \
    })

#define hf_load_relaxed(p) HF_SIM_LOAD(p)
#define hf_load_acquire(p) HF_SIM_LOAD(p)
#define hf_store_relaxed(p, v) HF_SIM_STORE(p, v)
#define hf_store_release(p, v) HF_SIM_STORE(p, v)
#define hf_load_own(p) HF_SIM_LOAD(p)
#define hf_store_own(p, v) HF_SIM_STORE(p, v)

#define hf_exchange_relaxed(p, v) HF_SIM_MODIFY(__atomic_exchange_n, p, v)
#define hf_exchange_acquire(p, v) HF_SIM_MODIFY(__atomic_exchange_n, p, v)
#define hf_exchange_release(p, v) HF_SIM_MODIFY(__atomic_exchange_n, p, v)
#define hf_exchange_acq_rel(p, v) HF_SIM_MODIFY(__atomic_exchange_n, p, v)

#define hf_fetch_add_relaxed(p, v) HF_SIM_MODIFY(__atomic_fetch_add, p, v)
#define hf_fetch_add_acquire(p, v) HF_SIM_MODIFY(__atomic_fetch_add, p, v)
#define hf_fetch_add_acq_rel(p, v) HF_SIM_MODIFY(__atomic_fetch_add, p, v)
#define hf_fetch_add_release(p, v) HF_SIM_MODIFY(__atomic_fetch_add, p, v)
#define hf_fetch_sub_release(p, v) HF_SIM_MODIFY(__atomic_fetch_sub, p, v)
#define hf_fetch_sub_acq_rel(p, v) HF_SIM_MODIFY(__atomic_fetch_sub, p, v)
#define hf_fetch_or_acquire(p, v) HF_SIM_MODIFY(__atomic_fetch_or, p, v)
#define hf_fetch_or_acq_rel(p, v) HF_SIM_MODIFY(__atomic_fetch_or, p, v)
#define hf_fetch_and_acq_rel(p, v) HF_SIM_MODIFY(__atomic_fetch_and, p, v)

#define hf_cas_relaxed(p, from, to) HF_SIM_CAS(p, from, to)
#define hf_cas_acquire(p, from, to) HF_SIM_CAS(p, from, to)
#define hf_cas_release(p, from, to) HF_SIM_CAS(p, from, to)
#define hf_cas_acq_rel(p, from, to) HF_SIM_CAS(p, from, to)
#define hf_cas_relaxed_or_load(p, from, to) HF_SIM_CAS_OR_LOAD(p, from, to)
#define hf_cas_acquire_or_load(p, from, to) HF_SIM_CAS_OR_LOAD(p, from, to)
#define hf_cas_release_or_load(p, from, to) HF_SIM_CAS_OR_LOAD(p, from, to)

#define hf_fence_seq_cst() hf_sim_fence()
#define hf_program_order() __atomic_signal_fence(__ATOMIC_SEQ_CST)

#endif
