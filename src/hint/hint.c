// SPDX-License-Identifier: MIT OR Apache-2.0
#include "hint/hint.h"

#include <errno.h>

#include "base/system_call.h"

const struct hf_hint_page hf_hint_of_nobody __attribute__((visibility("hidden"))) = {
    .version = HF_HINT_VERSION,
    .monitor_state = HF_MONITOR_ABSENT,
    // All groups of a zeroed page read the first scope.
    .scope[HF_SCOPE_MACHINE].preempted_critical_sections = 1,
};

const struct hf_hint_page *hf_hint __attribute__((visibility("hidden"))) = &hf_hint_of_nobody;
uint32_t hf_own_group __attribute__((visibility("hidden"))) = HF_GROUP_OF_ALL;

bool hf_hint_listen(int page_fd, uint32_t group) {
    void *mapped = hf_sys_mmap(NULL, sizeof(struct hf_hint_page), PROT_READ, MAP_SHARED, page_fd, 0);
    int error = hf_mmap_error(mapped);
    if (error) {
        errno = error;
        return false;
    }
    const struct hf_hint_page *page = mapped;
    if (page->version != HF_HINT_VERSION || group >= HF_HINT_GROUPS) {
        hf_sys_munmap(mapped, sizeof(struct hf_hint_page));
        errno = EPROTO;
        return false;
    }
    // A thread that sees the page, and not yet the group, reads what HF_GROUP_OF_ALL reads: that all marks are in.
    hf_store_relaxed(&hf_own_group, group);
    hf_hint_listen_to(page);
    return true;
}

void hf_hint_listen_to(const struct hf_hint_page *page) {
    // Waiters may be reading the page they had, so it is never unmapped.
    hf_store_relaxed(&hf_hint, page ? page : &hf_hint_of_nobody);
}
