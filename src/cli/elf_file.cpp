// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/elf_file.hpp"

#include <algorithm>
#include <elf.h>
#include <fcntl.h>
#include <gelf.h>
#include <memory>
#include <unistd.h>

namespace holdfast::cli {
namespace {

#if defined(__x86_64__)
constexpr int our_machine = EM_X86_64;
#elif defined(__aarch64__)
constexpr int our_machine = EM_AARCH64;
#else
constexpr int our_machine = EM_NONE;
#endif

struct open_elf {
    int fd;
    Elf *handle = nullptr;
    explicit open_elf(const std::filesystem::path &path) : fd(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
        if (fd >= 0 && elf_version(EV_CURRENT) != EV_NONE)
            handle = elf_begin(fd, ELF_C_READ, nullptr);
    }
    ~open_elf() {
        elf_end(handle);
        if (fd >= 0)
            close(fd);
    }
    open_elf(const open_elf &) = delete;
    open_elf &operator=(const open_elf &) = delete;
};

// Calls visit(segment) for each.
template <class Visit>
void visit_segments(Elf *handle, const Visit &visit) {
    std::size_t segments = 0;
    elf_getphdrnum(handle, &segments);
    for (std::size_t i = 0; i < segments; i++) {
        GElf_Phdr segment;
        if (gelf_getphdr(handle, static_cast<int>(i), &segment))
            visit(segment);
    }
}

// Calls visit(symbol, name) for each that has a name.
template <class Visit>
void visit_symbols(Elf *handle, Elf_Scn *section, const GElf_Shdr &header, const Visit &visit) {
    Elf_Data *data = elf_getdata(section, nullptr);
    if (!data || header.sh_entsize == 0)
        return;
    for (std::size_t i = 0; i < header.sh_size / header.sh_entsize; i++) {
        GElf_Sym symbol;
        if (!gelf_getsym(data, static_cast<int>(i), &symbol))
            return;
        const char *name = elf_strptr(handle, header.sh_link, symbol.st_name);
        if (name && *name)
            visit(symbol, name);
    }
}

void read_segments(Elf *handle, elf_file &file) {
    visit_segments(handle, [&](const GElf_Phdr &segment) {
        file.dynamic = file.dynamic || segment.p_type == PT_DYNAMIC;
        if (segment.p_type != PT_INTERP)
            return;
        Elf_Data *data =
            elf_getdata_rawchunk(handle, static_cast<std::int64_t>(segment.p_offset), segment.p_filesz, ELF_T_BYTE);
        if (data && data->d_size > 0)
            file.interpreter.assign(static_cast<const char *>(data->d_buf), data->d_size - 1);
    });
}

void read_symbols(Elf *handle, Elf_Scn *section, const GElf_Shdr &header, elf_file &file) {
    visit_symbols(handle, section, header, [&](const GElf_Sym &symbol, const char *name) {
        (symbol.st_shndx == SHN_UNDEF ? file.imports : file.exports).insert(name);
    });
}

void read_extent(Elf *handle, elf_symbols &file) {
    file.first = UINT64_MAX;
    visit_segments(handle, [&](const GElf_Phdr &segment) {
        constexpr std::uint64_t page = 4096;
        if (segment.p_type != PT_LOAD)
            return;
        file.first = std::min(file.first, segment.p_vaddr / page * page);
        file.end = std::max(file.end, segment.p_vaddr + segment.p_memsz);
    });
}

void read_places(Elf *handle, Elf_Scn *section, const GElf_Shdr &header, elf_symbols &file) {
    visit_symbols(handle, section, header, [&](const GElf_Sym &symbol, const char *name) {
        auto type = GELF_ST_TYPE(symbol.st_info);
        if (symbol.st_shndx != SHN_UNDEF && (type == STT_OBJECT || type == STT_FUNC))
            file.symbols.push_back({.address = symbol.st_value, .bytes = symbol.st_size, .name = name});
    });
}

std::size_t count_pauses(Elf_Scn *section) {
    Elf_Data *data = elf_rawdata(section, nullptr);
    if (our_machine != EM_X86_64 || !data || !data->d_buf)
        return 0;
    std::string_view code(static_cast<const char *>(data->d_buf), data->d_size);
    std::size_t pauses = 0;
    for (std::size_t at = code.find("\xf3\x90"); at != std::string_view::npos; at = code.find("\xf3\x90", at + 2))
        pauses++;
    return pauses;
}

} // namespace

std::optional<elf_file> read_elf(const std::filesystem::path &path) {
    open_elf opened(path);
    GElf_Ehdr header;
    if (!opened.handle || elf_kind(opened.handle) != ELF_K_ELF || !gelf_getehdr(opened.handle, &header))
        return std::nullopt;
    elf_file file;
    file.native = header.e_machine == our_machine && gelf_getclass(opened.handle) == ELFCLASS64;
    read_segments(opened.handle, file);
    for (Elf_Scn *section = nullptr; (section = elf_nextscn(opened.handle, section));) {
        GElf_Shdr about;
        if (!gelf_getshdr(section, &about))
            continue;
        if (about.sh_type == SHT_DYNSYM)
            read_symbols(opened.handle, section, about, file);
        else if (about.sh_type == SHT_PROGBITS && (about.sh_flags & SHF_EXECINSTR))
            file.pauses += count_pauses(section);
    }
    return file;
}

std::optional<elf_symbols> read_elf_symbols(const std::filesystem::path &path) {
    open_elf opened(path);
    if (!opened.handle || elf_kind(opened.handle) != ELF_K_ELF)
        return std::nullopt;
    elf_symbols file;
    read_extent(opened.handle, file);
    for (Elf_Scn *section = nullptr; (section = elf_nextscn(opened.handle, section));) {
        GElf_Shdr about;
        if (gelf_getshdr(section, &about) && (about.sh_type == SHT_DYNSYM || about.sh_type == SHT_SYMTAB))
            read_places(opened.handle, section, about, file);
    }
    std::ranges::stable_sort(file.symbols, {}, &elf_symbol::address);
    return file;
}

} // namespace holdfast::cli
