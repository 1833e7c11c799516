// SPDX-License-Identifier: MIT OR Apache-2.0
#include "observe/rule_matches.h"

#include <string.h>

#include "observe/noting_memory.h"

static char names[HF_STATISTICS_RULES][HF_STATISTICS_RULE_BYTES];
static uint64_t kept[HF_STATISTICS_RULES];

static struct hf_rule_statistics *rules_in(char *memory) {
    return hf_statistics_header_in(memory)->rules;
}

void hf_note_rule(unsigned rule, const char *name) {
    char *memory = hf_load_relaxed(&hf_noting.memory);
    strncpy(names[rule], name, HF_STATISTICS_RULE_BYTES - 1);
    if (memory)
        memcpy(rules_in(memory)[rule].name, names[rule], HF_STATISTICS_RULE_BYTES);
}

void hf_note_rule_match(unsigned rule) {
    char *memory = hf_load_relaxed(&hf_noting.memory);
    hf_fetch_add_relaxed(memory ? &rules_in(memory)[rule].matched : &kept[rule], 1);
}

void hf_rule_matches_begin(void) {
    struct hf_rule_statistics *rules = rules_in(hf_load_relaxed(&hf_noting.memory));
    for (int i = 0; i < HF_STATISTICS_RULES; i++) {
        memcpy(rules[i].name, names[i], HF_STATISTICS_RULE_BYTES);
        hf_fetch_add_relaxed(&rules[i].matched, hf_exchange_relaxed(&kept[i], 0));
    }
}
