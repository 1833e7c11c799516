// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef HF_BASE_CPU_COUNT_H
#define HF_BASE_CPU_COUNT_H

#ifdef __cplusplus
extern "C" {
#endif

// CPUs that the first caller's thread might run on, as it was then; at least 1. Costs a load after the first call.
unsigned hf_cpus_usable(void);

#ifdef __cplusplus
}
#endif

#endif
