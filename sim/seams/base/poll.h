// SPDX-License-Identifier: MIT OR Apache-2.0
// In place of src/base/poll.h: rounds that are alike are left out. The machine knows what the last one has read and how
// long it took; what it wrote, if anything, makes the next one another.
#ifndef HF_BASE_POLL_H
#define HF_BASE_POLL_H

#ifdef __cplusplus
extern "C" {
#endif

// How many have passed in the end.
int hf_sim_polls_alike(int most);

#ifdef __cplusplus
}
#endif

#define hf_polls_alike() ((void)hf_sim_polls_alike(0x7fffffff))
#define hf_polls_alike_counted(counter, step, most) ((void)((counter) += (step)*hf_sim_polls_alike(most)))

#endif
