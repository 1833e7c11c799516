// SPDX-License-Identifier: MIT OR Apache-2.0
#include "preload/libc_function.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// What lookups need of a library's dynamic section (gABI, and GNU's hash table of symbols).
struct symbols {
    const char *names;
    const ElfW(Sym) * symbol;
    const ElfW(Half) * version; // of each symbol
    const uint32_t *hash;
    const char *library_name;
};

enum { HF_NAME_IS_AN_OLD_ONE = 0x8000 }; // of a symbol's version: programs linked today don't get it

static bool is_same(const char *one, const char *other) {
    while (*one && *one == *other)
        one++, other++;
    return *one == *other;
}

// Whether the dynamic linker has made addresses of a library's offsets depends on the machine and on its version.
static const void *at(const struct link_map *library, ElfW(Addr) value) {
    ElfW(Addr) address = value < library->l_addr ? library->l_addr + value : value;
    return (const void *)address; // NOLINT(performance-no-int-to-ptr): that is what the section holds
}

static struct symbols symbols_of(const struct link_map *library) {
    struct symbols found = {0};
    ElfW(Xword) own_name = 0;
    for (const ElfW(Dyn) *entry = library->l_ld; entry && entry->d_tag != DT_NULL; entry++) {
        switch (entry->d_tag) {
        case DT_STRTAB: found.names = at(library, entry->d_un.d_ptr); break;
        case DT_SYMTAB: found.symbol = at(library, entry->d_un.d_ptr); break;
        case DT_VERSYM: found.version = at(library, entry->d_un.d_ptr); break;
        case DT_GNU_HASH: found.hash = at(library, entry->d_un.d_ptr); break;
        case DT_SONAME: own_name = entry->d_un.d_val; break;
        default: break;
        }
    }
    found.library_name = found.names && own_name ? found.names + own_name : "";
    return found;
}

static uint32_t gnu_hash(const char *name) {
    uint32_t hash = 5381;
    for (; *name; name++)
        hash = hash * 33 + (unsigned char)*name;
    return hash;
}

// The table: four numbers, a Bloom filter of address-sized words, the buckets, and a chain of hashes for each symbol
// from the first hashed one on, whose lowest bits say where a bucket ends.
static const ElfW(Sym) * find(const struct symbols *in, const char *name) {
    uint32_t buckets = in->hash[0], first_hashed = in->hash[1], filter_words = in->hash[2], hash = gnu_hash(name);
    const uint32_t *bucket = in->hash + 4 + filter_words * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
    const uint32_t *chain = bucket + buckets;
    uint32_t i = buckets ? bucket[hash % buckets] : 0;
    if (i < first_hashed)
        return NULL;
    for (;; i++) {
        uint32_t other = chain[i - first_hashed];
        const ElfW(Sym) *symbol = &in->symbol[i];
        if ((other | 1) == (hash | 1) && !(in->version[i] & HF_NAME_IS_AN_OLD_ONE) && symbol->st_shndx != SHN_UNDEF &&
            ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && is_same(in->names + symbol->st_name, name))
            return symbol;
        if (other & 1)
            return NULL;
    }
}

void *hf_libc_function(const char *name) {
    // The list grows at its end, where dlopen adds to it; the C library stands before that.
    for (const struct link_map *library = _r_debug.r_map; library; library = library->l_next) {
        struct symbols symbols = symbols_of(library);
        if (!symbols.symbol || !symbols.version || !symbols.hash || !is_same(symbols.library_name, "libc.so.6"))
            continue;
        const ElfW(Sym) *symbol = find(&symbols, name);
        return symbol ? (void *)(library->l_addr + symbol->st_value) : NULL; // NOLINT(performance-no-int-to-ptr)
    }
    return NULL;
}
