// SPDX-License-Identifier: MIT OR Apache-2.0
#include "holdfast/holdfast.h"

const char *hf_version(void) {
    return HF_VERSION;
}
