// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/elf_file.hpp"

#include <algorithm>
#include <climits>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <gelf.h>
#include <memory>
#include <sys/stat.h>
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

// What is read of one file at most: tables, code, and names, of which many may be one long one. A sparse file says that
// it has any number of gigabytes, and who reads it may be root. The symbols of a browser fit ten times.
constexpr std::size_t bytes_max = std::size_t{256} << 20;

// Files are named by processes that may want to harm who looks at them (/proc/PID/maps). So nothing but a regular file
// is opened: opening a FIFO waits, opening a device may do anything, and a look before or after would be at another
// file. O_NONBLOCK: nor is waited for who holds a lease of it.
int open_regular(const std::filesystem::path &path) {
    int place = open(path.c_str(), O_PATH | O_CLOEXEC);
    if (place < 0)
        return -1;
    struct stat about {};
    int fd = -1;
    if (fstat(place, &about) == 0 && S_ISREG(about.st_mode))
        fd = open(fmt::format("/proc/self/fd/{}", place).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    close(place);
    return fd;
}

template <class Header>
bool counts_by_section(int fd) {
    Header header{};
    return pread(fd, &header, sizeof header, 0) == sizeof header && header.e_shnum == 0 && header.e_shoff != 0;
}

// More than 65279 sections, as only files for the linker have: libelf makes room for as many as the file says.
bool has_too_many_sections(int fd) {
    unsigned char begin[EI_NIDENT] = {};
    if (pread(fd, begin, sizeof begin, 0) != sizeof begin)
        return false;
    return begin[EI_CLASS] == ELFCLASS64 ? counts_by_section<Elf64_Ehdr>(fd) : counts_by_section<Elf32_Ehdr>(fd);
}

struct open_elf {
    int fd;
    Elf *handle = nullptr;
    std::size_t bytes_left = bytes_max;
    explicit open_elf(const std::filesystem::path &path) : fd(open_regular(path)) {
        if (fd >= 0 && elf_version(EV_CURRENT) != EV_NONE && !has_too_many_sections(fd))
            handle = elf_begin(fd, ELF_C_READ, nullptr);
    }
    ~open_elf() {
        elf_end(handle);
        if (fd >= 0)
            close(fd);
    }
    open_elf(const open_elf &) = delete;
    open_elf &operator=(const open_elf &) = delete;

    // False when that would be too much.
    bool may_read(std::size_t bytes) {
        bool may = bytes <= bytes_left;
        bytes_left -= may ? bytes : 0;
        return may;
    }
};

// Calls visit(segment) for each.
template <class Visit>
void visit_segments(Elf *handle, const Visit &visit) {
    std::size_t segments = 0;
    elf_getphdrnum(handle, &segments);
    if (segments >= PN_XNUM) // as only images of memory have
        return;
    for (std::size_t i = 0; i < segments; i++) {
        GElf_Phdr segment;
        if (gelf_getphdr(handle, static_cast<int>(i), &segment))
            visit(segment);
    }
}

// Calls visit(symbol, name) for each that has a name.
template <class Visit>
void visit_symbols(open_elf &opened, Elf_Scn *section, const GElf_Shdr &header, const Visit &visit) {
    GElf_Shdr names;
    if (header.sh_entsize == 0 || !gelf_getshdr(elf_getscn(opened.handle, header.sh_link), &names) ||
        !opened.may_read(header.sh_size) || !opened.may_read(names.sh_size))
        return;
    Elf_Data *data = elf_getdata(section, nullptr);
    if (!data)
        return;
    for (std::size_t i = 0; i < header.sh_size / header.sh_entsize; i++) {
        GElf_Sym symbol;
        if (!gelf_getsym(data, static_cast<int>(i), &symbol))
            return;
        const char *name = elf_strptr(opened.handle, header.sh_link, symbol.st_name);
        if (!name || !*name)
            continue;
        if (!opened.may_read(std::strlen(name)))
            return;
        visit(symbol, name);
    }
}

void read_segments(Elf *handle, elf_file &file) {
    visit_segments(handle, [&](const GElf_Phdr &segment) {
        file.dynamic = file.dynamic || segment.p_type == PT_DYNAMIC;
        if (segment.p_type != PT_INTERP || segment.p_filesz > PATH_MAX)
            return;
        Elf_Data *data =
            elf_getdata_rawchunk(handle, static_cast<std::int64_t>(segment.p_offset), segment.p_filesz, ELF_T_BYTE);
        if (data && data->d_size > 0)
            file.interpreter.assign(static_cast<const char *>(data->d_buf), data->d_size - 1);
    });
}

void read_symbols(open_elf &opened, Elf_Scn *section, const GElf_Shdr &header, elf_file &file) {
    visit_symbols(opened, section, header, [&](const GElf_Sym &symbol, const char *name) {
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

void read_places(open_elf &opened, Elf_Scn *section, const GElf_Shdr &header, elf_symbols &file) {
    visit_symbols(opened, section, header, [&](const GElf_Sym &symbol, const char *name) {
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
            read_symbols(opened, section, about, file);
        else if (about.sh_type == SHT_PROGBITS && (about.sh_flags & SHF_EXECINSTR) && opened.may_read(about.sh_size))
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
            read_places(opened, section, about, file);
    }
    std::ranges::stable_sort(file.symbols, {}, &elf_symbol::address);
    return file;
}

} // namespace holdfast::cli
