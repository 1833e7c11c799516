// SPDX-License-Identifier: MIT OR Apache-2.0
#include "config/policy_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "config/name_distance.h"
#include "lock/lock_table.h"

static const char *const object_names[HF_OBJECTS] = {
    [HF_OBJECT_MUTEX] = "mutex", [HF_OBJECT_COND] = "cond",       [HF_OBJECT_RWLOCK] = "rwlock",
    [HF_OBJECT_SPIN] = "spin",   [HF_OBJECT_BARRIER] = "barrier",
};

static const struct {
    const char *alias;
    const char *name;
} aliases[] = {{"default", HF_DEFAULT_LOCK}, {"u-scl", "uscl"}, {"rw-scl", HF_RWSCL_NAME}};

static struct hf_text_part part_of(const char *text) {
    return (struct hf_text_part){text, strlen(text)};
}

// NULL: it is no alias.
static const char *name_behind(struct hf_text_part word) {
    for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++) {
        if (hf_text_part_is(word, aliases[i].alias))
            return aliases[i].name;
    }
    return NULL;
}

const char *hf_lock_name_meant(const char *name) {
    const char *meant = name_behind(part_of(name));
    return meant ? meant : name;
}

static bool may_be(enum hf_object object, const char *lock) {
    return object == HF_OBJECT_MUTEX || strcmp(lock, HF_DEFAULT_LOCK) == 0;
}

// The name as one that lives for ever, or NULL.
static const char *lock_for(enum hf_object object, struct hf_text_part word) {
    if (hf_text_part_is(word, HF_PASSED_TO_GLIBC))
        return HF_PASSED_TO_GLIBC;
    const char *meant = name_behind(word);
    if (meant)
        word = part_of(meant);
    if (object == HF_OBJECT_RWLOCK && hf_text_part_is(word, HF_RWSCL_NAME))
        return HF_RWSCL_NAME;
    for (size_t i = 0; i < hf_lock_kind_count; i++) {
        const char *name = hf_lock_kinds[i].name;
        if (hf_text_part_is(word, name) && may_be(object, name))
            return name;
    }
    return NULL;
}

static void list_locks(enum hf_object object, char *list, size_t bytes) {
    size_t used = (size_t)snprintf(list, bytes, HF_PASSED_TO_GLIBC ", default");
    for (size_t i = 0; i < hf_lock_kind_count; i++) {
        const char *name = hf_lock_kinds[i].name;
        if (used < bytes && may_be(object, name))
            used += (size_t)snprintf(list + used, bytes - used, ", %s", name);
    }
    if (object == HF_OBJECT_RWLOCK && used < bytes)
        snprintf(list + used, bytes - used, ", " HF_RWSCL_NAME);
}

static void tell_lock_meant(enum hf_object object, struct hf_text_part word, char *text, size_t bytes) {
    struct hf_nearest_name nearest = hf_nearest_name_to(word.start, word.length);
    hf_nearest_name_try(&nearest, HF_PASSED_TO_GLIBC);
    for (size_t i = 0; i < hf_lock_kind_count; i++) {
        if (may_be(object, hf_lock_kinds[i].name))
            hf_nearest_name_try(&nearest, hf_lock_kinds[i].name);
    }
    for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++) {
        if (lock_for(object, part_of(aliases[i].alias)))
            hf_nearest_name_try(&nearest, aliases[i].alias);
    }
    hf_nearest_name_tell(&nearest, text, bytes);
}

// A text that is read; where a complaint goes.
struct reading {
    struct hf_policy_text policy;
    char *complaint;
    size_t bytes;
};

static __attribute__((format(printf, 2, 3))) bool complain(const struct reading *reading, const char *form, ...) {
    va_list arguments;
    va_start(arguments, form);
    vsnprintf(reading->complaint, reading->bytes, form, arguments);
    va_end(arguments);
    return false;
}

// "uscl(slice=2ms)"
static bool read_value(struct reading *reading, enum hf_object object, struct hf_text_part text,
                       struct hf_policy_value *value) {
    const char *open = memchr(text.start, '(', text.length);
    struct hf_text_part name = {text.start, open ? (size_t)(open - text.start) : text.length};
    const char *lock = lock_for(object, name);
    if (!lock && name.length == 0)
        return complain(reading, "%s has no lock behind a colon: write %s:%s, say", object_names[object],
                        object_names[object], HF_DEFAULT_LOCK);
    if (!lock) {
        char locks[256], meant[64];
        list_locks(object, locks, sizeof(locks));
        tell_lock_meant(object, name, meant, sizeof(meant));
        return complain(reading, "%s can't be '%.*s': %suse one of %s", object_names[object], (int)name.length,
                        name.start, meant, locks);
    }
    struct hf_policy_value read = {.lock = lock};
    if (open) {
        struct hf_text_part list = {open + 1, text.length - name.length - 1};
        if (list.length == 0 || list.start[list.length - 1] != ')')
            return complain(reading, "'%.*s' has no ')' at its end: add it", (int)text.length, text.start);
        list.length--;
        if (!hf_lock_parameters_read(lock, list, &read.parameters, reading->complaint, reading->bytes))
            return false;
    }
    *value = read;
    return true;
}

static struct hf_policy_value *rule_for(struct hf_policy_text *policy, enum hf_object kind, struct hf_text_part place) {
    for (unsigned i = 0; i < policy->rules; i++) {
        if (policy->rule[i].kind == kind && hf_text_part_is(place, policy->rule[i].place))
            return &policy->rule[i].value;
    }
    if (policy->rules == HF_RULES_MAX)
        return NULL;
    struct hf_policy_rule *rule = &policy->rule[policy->rules++];
    rule->kind = kind;
    memcpy(rule->place, place.start, place.length);
    return &rule->value;
}

// "mutex@place", "rwlock@place", or a kind of object.
static struct hf_policy_value *read_key(struct reading *reading, struct hf_text_part key, enum hf_object *object) {
    const char *at = memchr(key.start, '@', key.length);
    struct hf_text_part kind = {key.start, at ? (size_t)(at - key.start) : key.length};
    for (int i = 0; i < HF_OBJECTS; i++) {
        if (!hf_text_part_is(kind, object_names[i]))
            continue;
        *object = (enum hf_object)i;
        if (!at)
            return &reading->policy.value[i];
        struct hf_text_part place = {at + 1, key.length - kind.length - 1};
        struct hf_policy_value *value = NULL;
        if (i != HF_OBJECT_MUTEX && i != HF_OBJECT_RWLOCK)
            complain(reading, "a %s can't be told from others: only mutex@PLACE and rwlock@PLACE are known",
                     object_names[i]);
        else if (place.length == 0 || place.length >= HF_PLACE_BYTES)
            complain(reading, "'%.*s' has no symbol or library of 1 to %d characters behind the @", (int)key.length,
                     key.start, HF_PLACE_BYTES - 1);
        else if (!(value = rule_for(&reading->policy, *object, place)))
            complain(reading, "there are more than %d rules for single mutexes and rwlocks", HF_RULES_MAX);
        return value;
    }
    char meant[64];
    struct hf_nearest_name nearest = hf_nearest_name_to(kind.start, kind.length);
    for (int i = 0; i < HF_OBJECTS; i++)
        hf_nearest_name_try(&nearest, object_names[i]);
    hf_nearest_name_tell(&nearest, meant, sizeof(meant));
    complain(reading, "there is no kind of object '%.*s': %suse mutex, cond, rwlock, spin or barrier", (int)kind.length,
             kind.start, meant);
    return NULL;
}

// Where the lock's name begins. The two colons of a C++ name, as in "mutex@store::table:mcs", are part of the place.
static const char *colon_in(struct hf_text_part pair) {
    for (size_t i = 0; i < pair.length; i++) {
        if (pair.start[i] != ':')
            continue;
        if (i + 1 == pair.length || pair.start[i + 1] != ':')
            return &pair.start[i];
        i++;
    }
    return NULL;
}

static bool read_pair(struct reading *reading, struct hf_text_part pair) {
    const char *colon = colon_in(pair);
    struct hf_text_part key = {pair.start, colon ? (size_t)(colon - pair.start) : pair.length};
    struct hf_text_part text = {colon ? colon + 1 : "", colon ? pair.length - key.length - 1 : 0};
    enum hf_object object = HF_OBJECT_MUTEX;
    struct hf_policy_value *value = read_key(reading, key, &object);
    return value && read_value(reading, object, text, value);
}

// Up to the next comma that is not within parentheses.
static size_t length_of_pair(const char *text) {
    size_t length = 0;
    for (bool inside = false; text[length] != '\0' && (inside || text[length] != ','); length++) {
        if (text[length] == '(' || text[length] == ')')
            inside = text[length] == '(';
    }
    return length;
}

bool hf_policy_text_read(const char *text, struct hf_policy_text *policy, char *complaint, size_t complaint_bytes) {
    struct reading reading = {.policy = *policy, .complaint = complaint, .bytes = complaint_bytes};
    for (const char *start = text; *start != '\0';) {
        size_t length = length_of_pair(start);
        if (length > 0 && !read_pair(&reading, (struct hf_text_part){start, length}))
            return false;
        start += length + (start[length] == ',');
    }
    *policy = reading.policy;
    return true;
}

void hf_policy_rule_name(const struct hf_policy_rule *rule, char name[HF_RULE_NAME_BYTES]) {
    snprintf(name, HF_RULE_NAME_BYTES, "%s@%s", object_names[rule->kind], rule->place);
}
