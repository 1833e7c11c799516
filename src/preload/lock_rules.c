// SPDX-License-Identifier: MIT OR Apache-2.0
#include "preload/lock_rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "base/system_call.h"
#include "observe/rule_matches.h"
#include "observe/statistics_memory.h"
#include "preload/mutex_layout.h"
#include "preload/symbol_search.h"

enum { HF_PLACES_MAX = 64 };
_Static_assert((int)HF_RULES_MAX == HF_STATISTICS_RULES && (int)HF_RULE_NAME_BYTES == HF_STATISTICS_RULE_BYTES,
               "what rules match is noted of each, by its name");

// Where a rule applies: to a lock at `begin`, or to what the code from there to `end` initialises.
struct place {
    uintptr_t begin;
    uintptr_t end;
    enum hf_object kind;
    int number;
    bool is_code;
    bool is_only_one; // variable of its name
    bool is_counted;  // that it is matched; the only one that changes once places are found
};

struct places {
    struct place place[HF_PLACES_MAX];
    unsigned count;
};

// NULL until they are found, then never changed. A reader-writer lock may be used, and a rule needed, on several
// threads before the interposer's constructor has run: each looks for itself, and the first one's answer is kept.
static struct places *found_places;

struct place_search {
    struct places *places;
    enum hf_object kind;
    int number;
    size_t offset;
    bool whole;        // no offset: the variable is the lock
    bool found_global; // the others of that name are not what the program refers to
    unsigned variables;
    struct place *last;
};

static size_t bytes_of(enum hf_object kind) {
    return kind == HF_OBJECT_RWLOCK ? sizeof(pthread_rwlock_t) : sizeof(pthread_mutex_t);
}

static size_t alignment_of(enum hf_object kind) {
    return kind == HF_OBJECT_RWLOCK ? _Alignof(pthread_rwlock_t) : _Alignof(pthread_mutex_t);
}

// A variable that can't be such a lock, or have one there, is another one of that name.
static bool may_be_meant(const struct hf_found_symbol *found, const struct place_search *search) {
    size_t bytes = bytes_of(search->kind);
    if (found->is_function)
        return true;
    if (!found->is_writable || (found->address + search->offset) % alignment_of(search->kind) != 0)
        return false;
    if (search->whole)
        return found->bytes == bytes;
    return search->offset <= found->bytes && found->bytes - search->offset >= bytes;
}

static void add_place(const struct hf_found_symbol *found, void *argument) {
    struct place_search *search = argument;
    struct places *places = search->places;
    if (places->count == HF_PLACES_MAX || !may_be_meant(found, search))
        return;
    if (!found->is_function && found->is_global) {
        if (search->found_global)
            return;
        search->found_global = true;
    }
    struct place *place = &places->place[places->count++];
    place->begin = found->address + search->offset;
    place->end = found->address + found->bytes;
    place->kind = search->kind;
    place->number = search->number;
    place->is_code = found->is_function;
    if (!found->is_function) {
        search->variables++;
        search->last = place;
    }
}

// "store::table" as compilers write the name of a variable (Itanium C++ ABI, 5.1.2): "_ZN5store5tableE", with an L
// before the last part where it is of internal linkage. False when there is no room.
static bool mangle(const char *name, bool is_internal, char *mangled, size_t bytes) {
    size_t used = (size_t)snprintf(mangled, bytes, "_ZN");
    for (const char *part = name; part && used < bytes;) {
        const char *colons = strstr(part, "::");
        size_t length = colons ? (size_t)(colons - part) : strlen(part);
        used += (size_t)snprintf(mangled + used, bytes - used, "%s%zu%.*s", is_internal && !colons ? "L" : "", length,
                                 (int)length, part);
        part = colons ? colons + 2 : NULL;
    }
    if (used < bytes)
        used += (size_t)snprintf(mangled + used, bytes - used, "E");
    return used < bytes;
}

static void find_cxx_variable(const char *name, struct place_search *search) {
    char mangled[2 * HF_PLACE_BYTES];
    for (int is_internal = 0; is_internal <= 1; is_internal++) {
        if (mangle(name, is_internal, mangled, sizeof(mangled)))
            hf_symbols_visit(mangled, add_place, search);
    }
}

static void find_place(struct places *places, const struct hf_policy_rule *rule, int number) {
    struct place_search search = {.places = places, .kind = rule->kind, .number = number, .whole = true};
    if (strstr(rule->place, ".so")) {
        hf_library_visit(rule->place, add_place, &search);
        return;
    }
    char name[HF_PLACE_BYTES];
    strncpy(name, rule->place, sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    char *plus = strchr(name, '+');
    if (plus) {
        *plus = '\0';
        search.whole = false;
        search.offset = strtoul(plus + 1, NULL, 0);
    }
    hf_symbols_visit(name, add_place, &search);
    if (strstr(name, "::"))
        find_cxx_variable(name, &search);
    if (search.variables == 1)
        search.last->is_only_one = true;
}

void hf_lock_rules_find(const struct hf_policy_text *policy) {
    if (policy->rules == 0 || hf_load_acquire(&found_places))
        return;
    struct places *places = hf_map_memory(sizeof(*places));
    if (!places) // then no rule applies
        return;
    for (unsigned i = 0; i < policy->rules; i++)
        find_place(places, &policy->rule[i], (int)i + 1);
    // Release: pairs with the acquire of the thread that looks into them.
    if (!hf_cas_release(&found_places, NULL, places))
        hf_sys_munmap(places, sizeof(*places));
}

void hf_lock_rules_note(const struct hf_policy_text *policy) {
    char name[HF_RULE_NAME_BYTES];
    for (unsigned i = 0; i < policy->rules; i++) {
        hf_policy_rule_name(&policy->rule[i], name);
        hf_note_rule(i, name);
    }
}

static struct place *place_of(enum hf_object kind, const void *lock, const void *caller) {
    uintptr_t from = (uintptr_t)caller, at = (uintptr_t)lock;
    struct places *places = hf_load_acquire(&found_places);
    for (unsigned i = 0; places && i < places->count; i++) {
        struct place *place = &places->place[i];
        // A call as a function's last instruction returns to its end.
        bool applies = place->is_code ? from > place->begin && from <= place->end : at == place->begin;
        if (place->kind == kind && applies)
            return place;
    }
    return NULL;
}

// A variable is one lock, however often its rule is decided. Code makes another one each time.
static void count_match(struct place *place) {
    if (place->is_code || !hf_exchange_relaxed(&place->is_counted, true))
        hf_note_rule_match((unsigned)place->number - 1);
}

unsigned hf_lock_rules_number(enum hf_object kind, const void *lock, const void *caller) {
    struct place *place = place_of(kind, lock, caller);
    if (!place)
        return 0;
    count_match(place);
    return (unsigned)place->number;
}

static void mark(struct hf_mutex *mutex, struct place *place) {
    // The other attributes decide first: what is glibc's stays glibc's.
    if (!hf_mutex_is_ours(mutex))
        return;
    hf_store_relaxed(&mutex->kind, (mutex->kind & ~HF_KIND_RULE_BITS) | place->number << HF_KIND_RULE_SHIFT);
    count_match(place);
}

void hf_lock_rules_mark_variables(void) {
    struct places *places = hf_load_acquire(&found_places);
    for (unsigned i = 0; places && i < places->count; i++) {
        struct place *place = &places->place[i];
        // Of several variables some may be anything else, that would be written to here. Which are mutexes their
        // initialisation shows, if a call does that (hf_lock_rules_mark).
        if (place->kind == HF_OBJECT_MUTEX && place->is_only_one)
            mark((struct hf_mutex *)place->begin, place);
    }
}

void hf_lock_rules_mark(struct hf_mutex *mutex, const void *caller) {
    struct place *place = place_of(HF_OBJECT_MUTEX, mutex, caller);
    if (place)
        mark(mutex, place);
}
