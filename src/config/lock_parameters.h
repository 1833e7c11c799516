// SPDX-License-Identifier: MIT OR Apache-2.0
// What can be said of a lock in HOLDFAST_CONF, in parentheses behind its name: "slice=2ms,work-conserving=yes".
#ifndef HF_CONFIG_LOCK_PARAMETERS_H
#define HF_CONFIG_LOCK_PARAMETERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Zero: nothing was said.
struct hf_lock_parameters {
    uint32_t slice_us_plus_1; // u-SCL and RW-SCL
    uint32_t read_share;      // RW-SCL: of read_share + write_share
    uint32_t write_share;
    uint32_t inactive_ms; // u-SCL
    bool work_conserving; // u-SCL
    bool class_by_name;   // u-SCL: class=name
    bool latency;         // FlexGuard: bias=latency
    bool slice_extension; // FlexGuard: slice-extension=yes
};

// A part of a longer text.
struct hf_text_part {
    const char *start;
    size_t length;
};

bool hf_text_part_is(struct hf_text_part part, const char *text);

// Adds what the list says of the lock of that name. Returns true; or false, with *parameters as it was and a sentence
// in `complaint`.
bool hf_lock_parameters_read(const char *lock, struct hf_text_part list, struct hf_lock_parameters *parameters,
                             char *complaint, size_t complaint_bytes);

#ifdef __cplusplus
}
#endif

#endif
