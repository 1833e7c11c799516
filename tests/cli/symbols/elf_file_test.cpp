// SPDX-License-Identifier: MIT OR Apache-2.0
// Files that a process has named to harm who looks at them.
//
// Shown able to fail: opened for reading at once (OpensNoFifo…); without a limit for tables (LeavesOut…Table); without
// names in the limit (LeavesOutNamesThat…), without symbols in it (LeavesOutSymbolsThat…); with packed tables
// (LeavesOutPacked…); without a look at a table's end (…WithoutAnEnd); without one at the file system (…OfTheKernels…).
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <string>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "cli/symbols/elf_file.hpp"

namespace holdfast::cli {
namespace {

class elf_file_test : public testing::Test {
protected:
    elf_file_test() {
        std::string name = testing::TempDir() + "/elf_file_test.XXXXXX";
        directory_ = mkdtemp(name.data());
    }
    ~elf_file_test() override { std::filesystem::remove_all(directory_); }

    std::filesystem::path directory_;
};

// A file with these sections of names and symbols. Of the symbols, so many, the first `named` have the name at 1; the
// rest is a hole.
void write_elf_of(const std::filesystem::path &path, std::size_t entries, std::size_t named, const std::string &strings,
                  std::uint64_t flags_of_strings = 0) {
    Elf64_Ehdr header{};
    memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_DYN;
    header.e_version = EV_CURRENT;
    header.e_ehsize = sizeof header;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = 3;
    header.e_shoff = sizeof header;
    Elf64_Shdr sections[3] = {};
    sections[1].sh_type = SHT_STRTAB;
    sections[1].sh_flags = flags_of_strings;
    sections[1].sh_offset = sizeof header + sizeof sections;
    sections[1].sh_size = strings.size();
    sections[2].sh_type = SHT_SYMTAB;
    sections[2].sh_offset = (sections[1].sh_offset + strings.size() + 7) / 8 * 8;
    sections[2].sh_size = entries * sizeof(Elf64_Sym);
    sections[2].sh_entsize = sizeof(Elf64_Sym);
    sections[2].sh_link = 1;
    std::vector<Elf64_Sym> symbols(named);
    for (Elf64_Sym &symbol : symbols) {
        symbol.st_name = 1;
        symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
        symbol.st_shndx = SHN_ABS;
    }
    int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    auto put = [fd](const void *what, std::size_t bytes, std::size_t where) {
        ASSERT_EQ(pwrite(fd, what, bytes, static_cast<off_t>(where)), static_cast<ssize_t>(bytes));
    };
    put(&header, sizeof header, 0);
    put(sections, sizeof sections, sizeof header);
    put(strings.data(), strings.size(), sections[1].sh_offset);
    put(symbols.data(), symbols.size() * sizeof symbols[0], sections[2].sh_offset);
    ASSERT_EQ(ftruncate(fd, static_cast<off_t>(sections[2].sh_offset + sections[2].sh_size)), 0);
    close(fd);
}

void write_elf(const std::filesystem::path &path, std::size_t entries, std::size_t named, const std::string &name) {
    write_elf_of(path, entries, named, std::string(1, '\0') + name + '\0');
}

// As zlib packs it without packing it: a header, one stored block, a checksum.
std::string packed(const std::string &bytes) {
    Elf64_Chdr about{.ch_type = ELFCOMPRESS_ZLIB, .ch_reserved = 0, .ch_size = bytes.size(), .ch_addralign = 1};
    auto size = static_cast<unsigned>(bytes.size()); // below 65536
    std::uint32_t low = 1, high = 0;
    for (char c : bytes) {
        low = (low + static_cast<unsigned char>(c)) % 65521;
        high = (high + low) % 65521;
    }
    std::string all(reinterpret_cast<const char *>(&about), sizeof about);
    for (unsigned byte : {0x78u, 0x01u, 0x01u, size & 255u, size >> 8u, ~size & 255u, (~size >> 8u) & 255u})
        all += static_cast<char>(byte);
    all += bytes;
    for (std::uint32_t byte : {high >> 8, high & 255, low >> 8, low & 255})
        all += static_cast<char>(byte);
    return all;
}

std::size_t symbols_in(const std::filesystem::path &path, std::size_t bytes_left = elf_bytes_max) {
    auto found = read_elf_symbols(open_regular_file(path), bytes_left);
    return found ? found->symbols.size() : SIZE_MAX;
}

// What is opened is seen with inotify; the FIFO has a writer, so that a wrong open does not wait.
TEST_F(elf_file_test, OpensNoFifoNorWhatALinkLeadsTo) {
    std::filesystem::path fifo = directory_ / "lib.so (deleted)", link = directory_ / "link.so";
    ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
    std::filesystem::create_symlink(fifo, link);
    int writer = open(fifo.c_str(), O_RDWR | O_CLOEXEC);
    int events = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    ASSERT_GE(inotify_add_watch(events, fifo.c_str(), IN_OPEN), 0);
    for (const auto &path : {fifo, link}) {
        EXPECT_FALSE(read_elf(path));
        EXPECT_FALSE(open_regular_file(path));
    }
    char event[512];
    EXPECT_LT(read(events, event, sizeof event), 0) << "it was opened";
    close(open(fifo.c_str(), O_RDWR | O_CLOEXEC));
    EXPECT_GT(read(events, event, sizeof event), 0) << "an open would not have been seen";
    close(events);
    close(writer);
}

TEST_F(elf_file_test, ReadsThroughLinks) {
    write_elf(directory_ / "file", 8, 3, "name");
    std::filesystem::create_symlink("file", directory_ / "link");
    EXPECT_EQ(symbols_in(directory_ / "link"), 3u);
}

TEST_F(elf_file_test, LeavesOutATooLargeTable) {
    write_elf(directory_ / "file", (std::size_t{300} << 20) / sizeof(Elf64_Sym), 3, "name");
    EXPECT_EQ(symbols_in(directory_ / "file"), 0u);
}

TEST_F(elf_file_test, LeavesOutNamesThatAreTooMuchTogether) {
    write_elf(directory_ / "file", 100, 100, std::string(std::size_t{4} << 20, 'x'));
    EXPECT_GT(symbols_in(directory_ / "file"), 40u);
    EXPECT_LT(symbols_in(directory_ / "file"), 64u);
}

// A packed table may have a thousand times its size in the file.
TEST_F(elf_file_test, LeavesOutPackedNames) {
    std::string strings = std::string(1, '\0') + "name" + '\0';
    write_elf_of(directory_ / "names", 3, 3, packed(strings), SHF_COMPRESSED);
    EXPECT_EQ(symbols_in(directory_ / "names"), 0u);
    write_elf_of(directory_ / "plain", 3, 3, strings);
    EXPECT_EQ(symbols_in(directory_ / "plain"), 3u);
}

// Its end would have to be looked for with each symbol.
TEST_F(elf_file_test, LeavesOutNamesWithoutAnEnd) {
    std::string strings = std::string(1, '\0') + "name" + '\0' + "rest";
    write_elf_of(directory_ / "file", 3, 3, strings);
    EXPECT_EQ(symbols_in(directory_ / "file"), 0u);
    write_elf_of(directory_ / "whole", 3, 3, strings + '\0');
    EXPECT_EQ(symbols_in(directory_ / "whole"), 3u);
}

TEST_F(elf_file_test, LeavesOutSymbolsThatAreTooManyTogether) {
    write_elf(directory_ / "file", 40'000, 40'000, "x");
    EXPECT_EQ(symbols_in(directory_ / "file"), 40'000u);
    EXPECT_GT(symbols_in(directory_ / "file", 2'000'000), 1'000u);
    EXPECT_LT(symbols_in(directory_ / "file", 2'000'000), 20'000u);
}

TEST_F(elf_file_test, TakesFromOneAllowanceForAllFiles) {
    write_elf(directory_ / "file", 1'000, 1'000, "x");
    std::size_t bytes_left = 250'000;
    std::vector<bool> complete;
    for (int i = 0; i < 4; i++)
        complete.push_back(read_elf_symbols(open_regular_file(directory_ / "file"), bytes_left)->complete);
    EXPECT_EQ(complete, (std::vector<bool>{true, true, false, false}));
}

// /proc/kmsg is one that says that it is regular, and a process that reads it takes it from others.
TEST_F(elf_file_test, OpensNothingOfTheKernelsThatALinkLeadsTo) {
    std::filesystem::create_symlink("/proc/self/maps", directory_ / "link.so");
    EXPECT_FALSE(open_regular_file(directory_ / "link.so"));
    EXPECT_TRUE(open_regular_file("/proc/self/exe")) << "a link to a file";
}

} // namespace
} // namespace holdfast::cli
