// SPDX-License-Identifier: MIT OR Apache-2.0
#include "lock/wait/lock_history.h"

struct hf_trial hf_trials[1 << HF_TRIALS_BITS];
