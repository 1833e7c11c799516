// SPDX-License-Identifier: MIT OR Apache-2.0
#include "lock/wait/lock_history.h"

struct hf_lock_history hf_lock_histories[1 << HF_HISTORIES_BITS];
