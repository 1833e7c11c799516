// SPDX-License-Identifier: MIT OR Apache-2.0
#include "lock/scl/thread_class.h"

#include <string.h>
#include <sys/prctl.h>

#include "base/system_call.h"

enum { HF_NAME_BYTES = 16 }; // of the kernel, the 0 at the end included

bool hf_kinds_are_classes;

void hf_thread_kinds_are_classes(void) {
    hf_store_relaxed(&hf_kinds_are_classes, true);
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static size_t length_of_kind(const char *name) {
    size_t length = strnlen(name, HF_NAME_BYTES - 1), rest = length;
    while (rest > 0 && is_digit(name[rest - 1]))
        rest--;
    if (rest == length)
        return length;
    while (rest > 0 && strchr(" -_.:#/", name[rest - 1]))
        rest--;
    return rest;
}

// FNV-1a. Two kinds that meet in one number would share a share, and nothing worse.
uint64_t hf_class_of_name(const char *name) {
    uint64_t hash = 0xcbf29ce484222325u;
    size_t length = length_of_kind(name);
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)name[i]) * 0x100000001b3u;
    return hash | HF_CLASS_IS_KIND | HF_CLASS_IS_MADE;
}

void hf_thread_look_at_name(struct hf_thread_record *self) {
    uint64_t before = self->share_class;
    bool is_chosen = (before & HF_CLASS_IS_MADE) && !(before & HF_CLASS_IS_KIND);
    char name[HF_NAME_BYTES] = "";
    if (self->tid && !is_chosen && hf_sys_prctl(PR_GET_NAME, (unsigned long)name, 0, 0, 0) == 0) {
        uint64_t kind = hf_class_of_name(name);
        if (kind != before)
            hf_store_relaxed(&self->share_class, kind);
    }
}
