// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/symbols/elf_file.hpp"

#include <algorithm>
#include <climits>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <gelf.h>
#include <initializer_list>
#include <linux/magic.h>
#include <memory>
#include <string_view>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "machine_code.h"

namespace holdfast::cli {
namespace {

// Files of the kernel's say that they are regular, too: reading them may take away what others read (/proc/kmsg).
bool is_of_a_file_system_with_contents(int fd) {
    struct statfs about {};
    if (fstatfs(fd, &about) != 0)
        return false;
    switch (static_cast<unsigned long>(about.f_type)) {
    case PROC_SUPER_MAGIC:
    case SYSFS_MAGIC:
    case DEBUGFS_MAGIC:
    case TRACEFS_MAGIC: return false;
    default: return true;
    }
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
    Elf *handle = nullptr;
    std::size_t &bytes_left;
    bool complete = true;
    open_elf(const descriptor &file, std::size_t &allowance) : bytes_left(allowance) {
        if (file && elf_version(EV_CURRENT) != EV_NONE && !has_too_many_sections(file.get()))
            handle = elf_begin(file.get(), ELF_C_READ, nullptr);
    }
    ~open_elf() { elf_end(handle); }
    open_elf(const open_elf &) = delete;
    open_elf &operator=(const open_elf &) = delete;

    // False when that would be too much.
    bool may_read(std::size_t bytes) {
        bool may = bytes <= bytes_left;
        bytes_left -= may ? bytes : 0;
        complete = complete && may;
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

// A table of names, as it is in the file; nothing if that would be too much. No linker packs one, and elf_strptr
// would unpack it: to any number of times the bytes that it takes in the file.
std::string_view names_in(open_elf &opened, std::size_t section) {
    Elf_Scn *names = elf_getscn(opened.handle, section);
    GElf_Shdr header;
    if (!gelf_getshdr(names, &header) || header.sh_type != SHT_STRTAB || (header.sh_flags & SHF_COMPRESSED) != 0 ||
        !opened.may_read(header.sh_size))
        return {};
    Elf_Data *data = elf_rawdata(names, nullptr);
    if (!data || !data->d_buf)
        return {};
    std::string_view bytes(static_cast<const char *>(data->d_buf), data->d_size);
    return bytes.ends_with('\0') ? bytes : std::string_view{}; // so each name ends in it
}

// Calls visit(symbol, name) for each that has a name.
template <class Visit>
void visit_symbols(open_elf &opened, Elf_Scn *section, const GElf_Shdr &header, const Visit &visit) {
    constexpr std::size_t beside_its_name = 64; // what it takes to keep one
    std::string_view names = names_in(opened, header.sh_link);
    if (names.empty() || header.sh_entsize == 0 || !opened.may_read(header.sh_size))
        return;
    Elf_Data *data = elf_getdata(section, nullptr); // unpacks nothing
    if (!data)
        return;
    for (std::size_t i = 0; i < header.sh_size / header.sh_entsize; i++) {
        GElf_Sym symbol;
        if (!gelf_getsym(data, static_cast<int>(i), &symbol))
            return;
        if (symbol.st_name >= names.size() || names[symbol.st_name] == '\0')
            continue;
        const char *name = names.data() + symbol.st_name;
        if (!opened.may_read(std::strlen(name) + beside_its_name))
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

constexpr std::string_view note_of_go("\x04\0\0\0Go\0\0", 8);              // type and name
constexpr std::string_view note_of_glibc("\x10\0\0\0\x01\0\0\0GNU\0", 12); // bytes, type and name: the oldest kernel

bool has_note(open_elf &opened, std::string_view note) {
    constexpr std::size_t note_bytes_max = 65536;
    bool found = false;
    visit_segments(opened.handle, [&](const GElf_Phdr &segment) {
        if (segment.p_type != PT_NOTE || segment.p_filesz > note_bytes_max || !opened.may_read(segment.p_filesz))
            return;
        Elf_Data *data = elf_getdata_rawchunk(opened.handle, static_cast<std::int64_t>(segment.p_offset),
                                              segment.p_filesz, ELF_T_BYTE);
        if (data && data->d_buf)
            found |= std::string_view(static_cast<const char *>(data->d_buf), data->d_size).find(note) !=
                     std::string_view::npos;
    });
    return found;
}

template <class Value>
Value value_at(std::string_view bytes, std::size_t at) {
    Value value{};
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
}

// Of the one form that linkers write: places relative to the table, 4 bytes each.
void read_functions(open_elf &opened, elf_symbols &file) {
    struct head {
        std::uint8_t version, frames_encoding, count_encoding, table_encoding;
        std::int32_t frames;
        std::uint32_t count;
    };
    struct entry {
        std::int32_t function, frame;
    };
    constexpr std::uint8_t relative_to_table = 0x3b, plain = 0x03;
    visit_segments(opened.handle, [&](const GElf_Phdr &segment) {
        if (segment.p_type != PT_GNU_EH_FRAME || !opened.may_read(segment.p_filesz * 2))
            return;
        Elf_Data *data = elf_getdata_rawchunk(opened.handle, static_cast<std::int64_t>(segment.p_offset),
                                              segment.p_filesz, ELF_T_BYTE);
        if (!data || !data->d_buf || data->d_size < sizeof(head))
            return;
        std::string_view bytes(static_cast<const char *>(data->d_buf), data->d_size);
        head about = value_at<head>(bytes, 0);
        if (about.version != 1 || about.count_encoding != plain || about.table_encoding != relative_to_table)
            return;
        std::size_t count = std::min<std::size_t>(about.count, (bytes.size() - sizeof(head)) / sizeof(entry));
        for (std::size_t i = 0; i < count; i++)
            file.functions.push_back(
                segment.p_vaddr + static_cast<std::uint64_t>(
                                      std::int64_t{value_at<entry>(bytes, sizeof(head) + i * sizeof(entry)).function}));
    });
    std::ranges::sort(file.functions);
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
    if (!data || !data->d_buf)
        return 0;
    std::string_view code(static_cast<const char *>(data->d_buf), data->d_size);
    std::size_t pauses = 0;
    for (std::string_view pause : std::initializer_list<std::string_view> HF_PAUSE_INSTRUCTIONS) {
        for (std::size_t at = code.find(pause); at != std::string_view::npos; at = code.find(pause, at + pause.size()))
            pauses++;
    }
    return pauses;
}

// A program that is linked dynamically names its dynamic linker, which is the C library's. Of static ones glibc's alone
// have its note.
bool is_musls(open_elf &opened, const elf_file &file) {
    if (!file.interpreter.empty())
        return std::filesystem::path(file.interpreter).filename().string().starts_with("ld-musl-");
    return !has_note(opened, note_of_glibc) && !has_note(opened, note_of_go);
}

std::optional<elf_file> head_of(open_elf &opened) {
    GElf_Ehdr header;
    if (!opened.handle || elf_kind(opened.handle) != ELF_K_ELF || !gelf_getehdr(opened.handle, &header))
        return std::nullopt;
    elf_file file;
    file.native = header.e_machine == HF_ELF_MACHINE && gelf_getclass(opened.handle) == ELFCLASS64;
    read_segments(opened.handle, file);
    file.is_musls = is_musls(opened, file);
    return file;
}

} // namespace

// A look before or after would be at another file. O_NONBLOCK: nor is waited for a process that holds a lease of it.
descriptor open_regular_file(const std::filesystem::path &path) {
    descriptor place(open(path.c_str(), O_PATH | O_CLOEXEC));
    struct stat about {};
    if (!place || fstat(place.get(), &about) != 0 || !S_ISREG(about.st_mode) ||
        !is_of_a_file_system_with_contents(place.get()))
        return descriptor();
    return descriptor(open(fmt::format("/proc/self/fd/{}", place.get()).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
}

std::optional<file_identity> identity_of(const descriptor &file) {
    struct stat about {};
    if (!file || fstat(file.get(), &about) != 0)
        return std::nullopt;
    return file_identity(about.st_dev, about.st_ino, about.st_ctim.tv_sec, about.st_ctim.tv_nsec);
}

std::optional<elf_file> read_elf_head(const std::filesystem::path &path) {
    descriptor from = open_regular_file(path);
    std::size_t bytes_left = elf_bytes_max;
    open_elf opened(from, bytes_left);
    return head_of(opened);
}

std::optional<elf_file> read_elf(const std::filesystem::path &path) {
    descriptor from = open_regular_file(path);
    std::size_t bytes_left = elf_bytes_max;
    open_elf opened(from, bytes_left);
    std::optional<elf_file> head = head_of(opened);
    if (!head)
        return std::nullopt;
    elf_file file = std::move(*head);
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

std::optional<elf_symbols> read_elf_symbols(const descriptor &from, std::size_t &bytes_left) {
    open_elf opened(from, bytes_left);
    if (!opened.handle || elf_kind(opened.handle) != ELF_K_ELF)
        return std::nullopt;
    elf_symbols file;
    read_extent(opened.handle, file);
    read_functions(opened, file);
    file.is_gos = has_note(opened, note_of_go);
    for (Elf_Scn *section = nullptr; (section = elf_nextscn(opened.handle, section));) {
        GElf_Shdr about;
        if (gelf_getshdr(section, &about) && (about.sh_type == SHT_DYNSYM || about.sh_type == SHT_SYMTAB))
            read_places(opened, section, about, file);
    }
    file.complete = opened.complete;
    std::ranges::stable_sort(file.symbols, {}, &elf_symbol::address);
    return file;
}

} // namespace holdfast::cli
