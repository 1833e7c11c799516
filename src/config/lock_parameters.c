// SPDX-License-Identifier: MIT OR Apache-2.0
#include "config/lock_parameters.h"

#include <stdio.h>
#include <string.h>

#include "config/name_distance.h"
#include "holdfast/uscl.h"

enum { HF_SHARE_MAX = 1000 };

bool hf_text_part_is(struct hf_text_part part, const char *text) {
    return strlen(text) == part.length && memcmp(part.start, text, part.length) == 0;
}

// Takes a whole number off the text's start. False: there is none, or it is above a million.
static bool take_number(struct hf_text_part *text, uint32_t *number) {
    size_t digits = 0;
    *number = 0;
    while (digits < text->length && text->start[digits] >= '0' && text->start[digits] <= '9') {
        *number = *number * 10 + (uint32_t)(text->start[digits++] - '0');
        if (*number > 1000000)
            return false;
    }
    text->start += digits;
    text->length -= digits;
    return digits > 0;
}

// All of the text is a time in that unit or in the one that is a thousand times as long, up to `max` of the former. 0
// needs no unit.
static bool take_time(struct hf_text_part text, const char *unit, const char *longer_unit, uint32_t max,
                      uint32_t *time) {
    if (!take_number(&text, time))
        return false;
    if (hf_text_part_is(text, longer_unit))
        *time *= 1000; // of a million at most
    else if (!hf_text_part_is(text, unit) && !(*time == 0 && text.length == 0))
        return false;
    return *time <= max;
}

static bool read_slice(struct hf_text_part text, struct hf_lock_parameters *parameters) {
    uint32_t us;
    if (!take_time(text, "us", "ms", HF_USCL_SLICE_US_MAX, &us))
        return false;
    parameters->slice_us_plus_1 = us + 1;
    return true;
}

static bool read_inactive(struct hf_text_part text, struct hf_lock_parameters *parameters) {
    uint32_t ms;
    if (!take_time(text, "ms", "s", HF_USCL_INACTIVE_MS_MAX, &ms) || ms == 0)
        return false;
    parameters->inactive_ms = ms;
    return true;
}

static bool read_ratio(struct hf_text_part text, struct hf_lock_parameters *parameters) {
    uint32_t reads, writes;
    if (!take_number(&text, &reads) || text.length == 0 || *text.start != ':')
        return false;
    text.start++;
    text.length--;
    if (!take_number(&text, &writes) || text.length != 0)
        return false;
    if (reads == 0 || writes == 0 || reads > HF_SHARE_MAX || writes > HF_SHARE_MAX)
        return false;
    parameters->read_share = reads;
    parameters->write_share = writes;
    return true;
}

static bool read_choice(struct hf_text_part text, const char *off, const char *on, bool *choice) {
    *choice = hf_text_part_is(text, on);
    return *choice || hf_text_part_is(text, off);
}

static bool read_bias(struct hf_text_part text, struct hf_lock_parameters *parameters) {
    return read_choice(text, "throughput", "latency", &parameters->latency);
}

static bool read_slice_extension(struct hf_text_part text, struct hf_lock_parameters *parameters) {
    return read_choice(text, "no", "yes", &parameters->slice_extension);
}

static bool read_work_conserving(struct hf_text_part text, struct hf_lock_parameters *parameters) {
    return read_choice(text, "no", "yes", &parameters->work_conserving);
}

static bool read_class(struct hf_text_part text, struct hf_lock_parameters *parameters) {
    return read_choice(text, "thread", "name", &parameters->class_by_name);
}

// Every parameter of every lock.
static const struct {
    const char *lock;
    const char *key;
    bool (*read)(struct hf_text_part value, struct hf_lock_parameters *parameters);
    const char *advice;
} known[] = {
    {"flexguard", "bias", read_bias, "use throughput or latency"},
    {"flexguard", "slice-extension", read_slice_extension, "use yes or no"},
    {"uscl", "slice", read_slice, "give a time from 0 to 100ms with its unit, as in 2ms or 500us"},
    {"uscl", "inactive", read_inactive, "give a time from 1ms to 10s with its unit, as in 1s or 200ms"},
    {"uscl", "work-conserving", read_work_conserving, "use yes or no"},
    {"uscl", "class", read_class, "use thread or name"},
    {"rwscl", "ratio", read_ratio, "give the readers' and the writers' shares, 1 to 1000 each, as in 9:1"},
    {"rwscl", "slice", read_slice, "give a time from 0 to 100ms with its unit, as in 2ms or 500us"},
};
enum { HF_KNOWN = sizeof(known) / sizeof(known[0]) };

static void complain_of_key(const char *lock, struct hf_text_part key, char *complaint, size_t bytes) {
    char keys[128] = "", meant[64];
    size_t used = 0;
    struct hf_nearest_name nearest = hf_nearest_name_to(key.start, key.length);
    for (int i = 0; i < HF_KNOWN; i++) {
        if (strcmp(known[i].lock, lock) != 0 || used >= sizeof(keys))
            continue;
        used += (size_t)snprintf(keys + used, sizeof(keys) - used, "%s%s", used ? ", " : "", known[i].key);
        hf_nearest_name_try(&nearest, known[i].key);
    }
    hf_nearest_name_tell(&nearest, meant, sizeof(meant));
    if (used == 0)
        snprintf(complaint, bytes, "%s takes no parameters: leave the parentheses out", lock);
    else
        snprintf(complaint, bytes, "%s has no parameter '%.*s': %suse %s", lock, (int)key.length, key.start, meant,
                 keys);
}

static bool read_one(const char *lock, struct hf_text_part text, struct hf_lock_parameters *parameters, char *complaint,
                     size_t bytes) {
    const char *equals = memchr(text.start, '=', text.length);
    struct hf_text_part key = {text.start, equals ? (size_t)(equals - text.start) : text.length};
    struct hf_text_part value = {equals ? equals + 1 : "", equals ? text.length - key.length - 1 : 0};
    for (int i = 0; i < HF_KNOWN; i++) {
        if (strcmp(known[i].lock, lock) != 0 || !hf_text_part_is(key, known[i].key))
            continue;
        if (known[i].read(value, parameters))
            return true;
        snprintf(complaint, bytes, "%s's %s can't be '%.*s': %s", lock, known[i].key, (int)value.length, value.start,
                 known[i].advice);
        return false;
    }
    complain_of_key(lock, key, complaint, bytes);
    return false;
}

bool hf_lock_parameters_read(const char *lock, struct hf_text_part list, struct hf_lock_parameters *parameters,
                             char *complaint, size_t complaint_bytes) {
    struct hf_lock_parameters read = *parameters;
    do {
        const char *comma = memchr(list.start, ',', list.length);
        size_t length = comma ? (size_t)(comma - list.start) : list.length;
        if (!read_one(lock, (struct hf_text_part){list.start, length}, &read, complaint, complaint_bytes))
            return false;
        length += comma != NULL;
        list.start += length;
        list.length -= length;
    } while (list.length > 0);
    *parameters = read;
    return true;
}
