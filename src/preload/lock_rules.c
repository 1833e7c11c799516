// SPDX-License-Identifier: MIT OR Apache-2.0
#include "preload/lock_rules.h"

#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "preload/symbol_search.h"

enum { HF_PLACES_MAX = 64 };

// Where rules apply: a mutex at `begin`, or the code from there to `end`. Written before the program's threads run.
static struct {
    uintptr_t begin;
    uintptr_t end;
    int number;
    bool is_code;
} places[HF_PLACES_MAX];
static unsigned place_count;

struct place_search {
    int number;
    size_t offset;
    bool whole;        // no offset: the variable is the mutex
    bool found_global; // the others of that name are not what the program refers to
    unsigned variables;
    struct hf_mutex *last;
};

static void mark(struct hf_mutex *mutex, int number) {
    // The other attributes decide first: what is glibc's stays glibc's.
    if (hf_mutex_is_ours(mutex))
        hf_store_relaxed(&mutex->kind, (mutex->kind & ~HF_KIND_RULE_BITS) | number << HF_KIND_RULE_SHIFT);
}

// A variable that can't be a mutex, or have one there, is another one of that name.
static bool may_be_meant(const struct hf_found_symbol *found, const struct place_search *search) {
    if (found->is_function)
        return true;
    if (!found->is_writable || (found->address + search->offset) % _Alignof(struct hf_mutex) != 0)
        return false;
    if (search->whole)
        return found->bytes == sizeof(pthread_mutex_t);
    return search->offset <= found->bytes && found->bytes - search->offset >= sizeof(struct hf_mutex);
}

static void add_place(const struct hf_found_symbol *found, void *argument) {
    struct place_search *search = argument;
    if (place_count == HF_PLACES_MAX || !may_be_meant(found, search))
        return;
    if (!found->is_function && found->is_global) {
        if (search->found_global)
            return;
        search->found_global = true;
    }
    uintptr_t begin = found->address + search->offset;
    places[place_count].begin = begin;
    places[place_count].end = found->address + found->bytes;
    places[place_count].number = search->number;
    places[place_count].is_code = found->is_function;
    place_count++;
    if (!found->is_function) {
        search->variables++;
        search->last = (struct hf_mutex *)begin;
    }
}

static void find_place(const char *place, int number) {
    struct place_search search = {.number = number, .whole = true};
    if (strstr(place, ".so")) {
        hf_library_visit(place, add_place, &search);
        return;
    }
    char name[HF_PLACE_BYTES];
    strncpy(name, place, sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    char *plus = strchr(name, '+');
    if (plus) {
        *plus = '\0';
        search.whole = false;
        search.offset = strtoul(plus + 1, NULL, 0);
    }
    hf_symbols_visit(name, add_place, &search);
    // Of several variables some may be anything else, that would be written to here. Which are mutexes their
    // initialisation shows, if a call does that (hf_lock_rules_mark).
    if (search.variables == 1)
        mark(search.last, number);
}

void hf_lock_rules_find(const struct hf_policy_text *policy) {
    for (unsigned i = 0; i < policy->rules; i++)
        find_place(policy->rule[i].place, (int)i + 1);
}

void hf_lock_rules_mark(struct hf_mutex *mutex, const void *caller) {
    uintptr_t from = (uintptr_t)caller, at = (uintptr_t)mutex;
    for (unsigned i = 0; i < place_count; i++) {
        // A call as a function's last instruction returns to its end.
        bool applies = places[i].is_code ? from > places[i].begin && from <= places[i].end : at == places[i].begin;
        if (applies) {
            mark(mutex, places[i].number);
            return;
        }
    }
}
