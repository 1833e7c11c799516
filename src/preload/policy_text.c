// SPDX-License-Identifier: MIT OR Apache-2.0
#include "preload/policy_text.h"

#include <stdio.h>
#include <string.h>

#include "lock/lock_table.h"

static const char *const object_names[HF_OBJECTS] = {
    [HF_OBJECT_MUTEX] = "mutex", [HF_OBJECT_COND] = "cond",       [HF_OBJECT_RWLOCK] = "rwlock",
    [HF_OBJECT_SPIN] = "spin",   [HF_OBJECT_BARRIER] = "barrier",
};

struct word {
    const char *start;
    size_t length;
};

static bool is(struct word word, const char *name) {
    return strlen(name) == word.length && memcmp(word.start, name, word.length) == 0;
}

static bool may_be(enum hf_object object, const char *lock) {
    return object == HF_OBJECT_MUTEX || strcmp(lock, HF_DEFAULT_LOCK) == 0;
}

// The name as one that lives for ever, or NULL.
static const char *value_for(enum hf_object object, struct word word) {
    if (is(word, HF_PASSED_TO_GLIBC))
        return HF_PASSED_TO_GLIBC;
    if (is(word, "default"))
        return HF_DEFAULT_LOCK;
    for (size_t i = 0; i < hf_lock_kind_count; i++) {
        const char *name = hf_lock_kinds[i].name;
        if (is(word, name) && may_be(object, name))
            return name;
    }
    return NULL;
}

static void list_values(enum hf_object object, char *list, size_t bytes) {
    size_t used = (size_t)snprintf(list, bytes, HF_PASSED_TO_GLIBC ", default");
    for (size_t i = 0; i < hf_lock_kind_count; i++) {
        const char *name = hf_lock_kinds[i].name;
        if (used < bytes && may_be(object, name))
            used += (size_t)snprintf(list + used, bytes - used, ", %s", name);
    }
}

static bool read_pair(struct word pair, struct hf_policy_text *policy, char *complaint, size_t bytes) {
    const char *colon = memchr(pair.start, ':', pair.length);
    struct word key = {pair.start, colon ? (size_t)(colon - pair.start) : pair.length};
    for (int object = 0; object < HF_OBJECTS; object++) {
        if (!is(key, object_names[object]))
            continue;
        struct word value = {key.start + key.length + 1, colon ? pair.length - key.length - 1 : 0};
        const char *known = colon ? value_for((enum hf_object)object, value) : NULL;
        if (known) {
            policy->value[object] = known;
            return true;
        }
        char values[256];
        list_values((enum hf_object)object, values, sizeof(values));
        snprintf(complaint, bytes, "%s can't be '%.*s': use one of %s", object_names[object], (int)value.length,
                 colon ? value.start : "", values);
        return false;
    }
    snprintf(complaint, bytes, "there is no kind of object '%.*s': use mutex, cond, rwlock, spin or barrier",
             (int)key.length, key.start);
    return false;
}

bool hf_policy_text_read(const char *text, struct hf_policy_text *policy, char *complaint, size_t complaint_bytes) {
    struct hf_policy_text read = *policy;
    for (const char *start = text; *start != '\0';) {
        size_t length = strcspn(start, ",");
        if (length > 0 && !read_pair((struct word){start, length}, &read, complaint, complaint_bytes))
            return false;
        start += length + (start[length] == ',');
    }
    *policy = read;
    return true;
}
