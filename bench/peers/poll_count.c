// SPDX-License-Identifier: MIT OR Apache-2.0
#include "peers/poll_count.h"

__thread uint64_t hf_polls;
