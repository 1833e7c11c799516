// SPDX-License-Identifier: MIT OR Apache-2.0
#include "base/vdso.h"

#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>

struct vdso {
    const char *bias; // what addresses in it are relative to
    const char *names;
    const ElfW(Sym) * symbols;
    uint32_t count;
};

// A table by GNU's hash says how many symbols there are by the end of its last chain only.
static uint32_t count_by_gnu_hash(const uint32_t *hash) {
    uint32_t buckets = hash[0], first = hash[1], bloom_words = hash[2], last = 0;
    const uint32_t *bucket = hash + 4 + bloom_words * (sizeof(ElfW(Addr)) / sizeof(*hash));
    const uint32_t *chain = bucket + buckets;
    for (uint32_t i = 0; i < buckets; i++)
        last = bucket[i] > last ? bucket[i] : last;
    if (last < first)
        return 0;
    while (!(chain[last - first] & 1))
        last++;
    return last + 1;
}

static void read_dynamic(struct vdso *vdso, const ElfW(Dyn) * entry) {
    for (; entry->d_tag != DT_NULL; entry++) {
        const char *at = vdso->bias + entry->d_un.d_ptr;
        if (entry->d_tag == DT_STRTAB)
            vdso->names = at;
        else if (entry->d_tag == DT_SYMTAB)
            vdso->symbols = (const ElfW(Sym) *)at;
        else if (entry->d_tag == DT_HASH)
            vdso->count = ((const uint32_t *)at)[1];
        else if (entry->d_tag == DT_GNU_HASH && vdso->count == 0)
            vdso->count = count_by_gnu_hash((const uint32_t *)at);
    }
}

static struct vdso look_at(const char *image) {
    struct vdso vdso = {0};
    const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)image;
    const ElfW(Phdr) *segments = (const ElfW(Phdr) *)(image + header->e_phoff), *dynamic = NULL;
    for (int i = 0; i < header->e_phnum; i++) {
        if (segments[i].p_type == PT_LOAD && !vdso.bias)
            vdso.bias = image + segments[i].p_offset - segments[i].p_vaddr;
        else if (segments[i].p_type == PT_DYNAMIC)
            dynamic = &segments[i];
    }
    if (vdso.bias && dynamic)
        read_dynamic(&vdso, (const ElfW(Dyn) *)(image + dynamic->p_offset));
    return vdso;
}

void *hf_vdso_function(const char *name) {
    const char *image = (const char *)getauxval(AT_SYSINFO_EHDR); // NOLINT(performance-no-int-to-ptr): what it is
    if (!image)
        return NULL;
    struct vdso vdso = look_at(image);
    for (uint32_t i = 0; vdso.names && vdso.symbols && i < vdso.count; i++) {
        if (vdso.symbols[i].st_shndx != SHN_UNDEF && strcmp(vdso.names + vdso.symbols[i].st_name, name) == 0)
            return (void *)(vdso.bias + vdso.symbols[i].st_value);
    }
    return NULL;
}
