// SPDX-License-Identifier: MIT OR Apache-2.0
#include "preload/symbol_search.h"

#include <elf.h>
#include <link.h>
#include <string.h>

#include "base/system_call.h"

struct search {
    const char *name;
    hf_symbol_visitor *visit;
    void *argument;
    const struct dl_phdr_info *object; // that is searched now
};

// A file in memory. Nothing in it is trusted: it need not be what the loader has loaded.
struct image {
    const char *bytes;
    size_t size;
};

static const void *part(struct image file, uint64_t offset, uint64_t size) {
    return offset <= file.size && size <= file.size - offset ? file.bytes + offset : NULL;
}

static bool has_name(const char *names, uint64_t names_size, uint32_t at, const char *name) {
    size_t length = strlen(name) + 1;
    return at <= names_size && length <= names_size - at && memcmp(names + at, name, length) == 0;
}

// Constants are not, nor what the loader protects when it has relocated it.
static bool is_writable(const struct dl_phdr_info *object, uintptr_t at, size_t bytes) {
    bool writable = false;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        uintptr_t begin = object->dlpi_addr + segment->p_vaddr, end = begin + segment->p_memsz;
        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_W) && at >= begin && at <= end && bytes <= end - at)
            writable = true;
        if (segment->p_type == PT_GNU_RELRO && at < end && at + bytes > begin)
            return false;
    }
    return writable;
}

static void search_table(struct image file, const ElfW(Shdr) * table, const ElfW(Shdr) * strings,
                         const struct search *search) {
    const ElfW(Sym) *symbols = part(file, table->sh_offset, table->sh_size);
    const char *names = part(file, strings->sh_offset, strings->sh_size);
    if (!symbols || !names || table->sh_offset % _Alignof(ElfW(Sym)) != 0)
        return;
    for (size_t i = 0; i < table->sh_size / sizeof(*symbols); i++) {
        unsigned type = ELF64_ST_TYPE(symbols[i].st_info);
        if (symbols[i].st_shndx == SHN_UNDEF || (type != STT_OBJECT && type != STT_FUNC) ||
            !has_name(names, strings->sh_size, symbols[i].st_name, search->name))
            continue;
        uintptr_t address = search->object->dlpi_addr + symbols[i].st_value;
        struct hf_found_symbol found = {
            .address = address,
            .bytes = symbols[i].st_size,
            .is_function = type == STT_FUNC,
            .is_global = ELF64_ST_BIND(symbols[i].st_info) != STB_LOCAL,
            .is_writable = is_writable(search->object, address, symbols[i].st_size),
        };
        search->visit(&found, search->argument);
    }
}

// The whole table where there is one, else what is exported: never both, since one has the other's symbols.
static void search_image(struct image file, const struct search *search) {
    const ElfW(Ehdr) *header = part(file, 0, sizeof(*header));
    if (!header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_ident[EI_CLASS] != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) ||
        header->e_shentsize != sizeof(ElfW(Shdr)) || header->e_shoff % _Alignof(ElfW(Shdr)) != 0)
        return;
    const ElfW(Shdr) *sections = part(file, header->e_shoff, (uint64_t)header->e_shnum * sizeof(*sections));
    const ElfW(Shdr) *chosen = NULL;
    for (int i = 0; sections && i < header->e_shnum; i++) {
        if (sections[i].sh_type == SHT_SYMTAB || (sections[i].sh_type == SHT_DYNSYM && !chosen))
            chosen = &sections[i];
    }
    if (chosen && chosen->sh_link < header->e_shnum)
        search_table(file, chosen, &sections[chosen->sh_link], search);
}

static int search_object(struct dl_phdr_info *object, size_t size, void *argument) {
    (void)size;
    struct search *search = argument;
    search->object = object;
    // The program itself has no name. What has no file (the vDSO) can't be opened.
    const char *path = object->dlpi_name && *object->dlpi_name ? object->dlpi_name : "/proc/self/exe";
    struct stat status = {0};
    int fd = hf_sys_open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    void *bytes = NULL;
    if (hf_sys_fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0)
        bytes = hf_sys_mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    hf_sys_close(fd);
    if (!bytes || hf_mmap_error(bytes))
        return 0;
    search_image((struct image){bytes, (size_t)status.st_size}, search);
    hf_sys_munmap(bytes, (size_t)status.st_size);
    return 0;
}

void hf_symbols_visit(const char *name, hf_symbol_visitor *visit, void *argument) {
    struct search search = {.name = name, .visit = visit, .argument = argument};
    dl_iterate_phdr(search_object, &search);
}

static int tell_code_of_library(struct dl_phdr_info *object, size_t size, void *argument) {
    (void)size;
    const struct search *search = argument;
    const char *slash = strrchr(object->dlpi_name, '/'), *file = slash ? slash + 1 : object->dlpi_name;
    size_t length = strlen(search->name);
    if (strncmp(file, search->name, length) != 0 || (file[length] != '\0' && file[length] != '.'))
        return 0;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
            continue;
        struct hf_found_symbol found = {
            .address = object->dlpi_addr + segment->p_vaddr,
            .bytes = segment->p_memsz,
            .is_function = true,
        };
        search->visit(&found, search->argument);
    }
    return 0;
}

void hf_library_visit(const char *name, hf_symbol_visitor *visit, void *argument) {
    struct search search = {.name = name, .visit = visit, .argument = argument};
    dl_iterate_phdr(tell_code_of_library, &search);
}
