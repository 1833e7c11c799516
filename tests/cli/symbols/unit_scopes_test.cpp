// SPDX-License-Identifier: MIT OR Apache-2.0
// The scopes around each address of this program are those that libdw finds by its own, slow, search.
//
// Shown able to fail: with the innermost scope last.
#include "cli/symbols/unit_scopes.hpp"

#include <cstdlib>
#include <dwarf.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <unistd.h>
#include <vector>

#include "base/descriptor.hpp"

namespace holdfast::cli {
namespace {

std::vector<std::string> in_words(const Dwarf_Die *scopes, int count) {
    std::vector<std::string> found;
    for (int i = 0; i < count; i++) {
        Dwarf_Die scope = scopes[i];
        int tag = dwarf_tag(&scope);
        found.push_back(std::to_string(tag) + " at " + std::to_string(dwarf_dieoffset(&scope)));
        if (tag == DW_TAG_subprogram)
            break;
    }
    return found;
}

std::vector<std::string> searched(Dwarf_Die *unit, Dwarf_Addr address) {
    Dwarf_Die *innermost = nullptr, *scopes = nullptr;
    int count = dwarf_getscopes(unit, address, &innermost);
    count = count > 0 ? dwarf_getscopes_die(innermost, &scopes) : 0;
    auto found = in_words(scopes, count);
    if (!found.empty() && found.back().starts_with(std::to_string(DW_TAG_compile_unit) + " "))
        found.pop_back(); // the address is in no function
    std::free(innermost);
    std::free(scopes);
    return found;
}

TEST(unit_scopes, AreThoseOfTheLongSearch) {
    descriptor file(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
    Dwarf *all = dwarf_begin(file.get(), DWARF_C_READ);
    if (!all)
        GTEST_SKIP() << "this program has no debugging information";
    unit_scopes scopes;
    std::size_t compared = 0, inlined = 0;
    Dwarf_CU *next = nullptr;
    Dwarf_Die unit;
    while (dwarf_get_units(all, next, &next, nullptr, nullptr, &unit, nullptr) == 0) {
        Dwarf_Addr base = 0, from = 0, to = 0;
        for (std::ptrdiff_t at = 0; (at = dwarf_ranges(&unit, at, &base, &from, &to)) > 0;) {
            // What the linker has discarded is at 0.
            for (Dwarf_Addr address = from; from != 0 && address < to && compared < 4000; address += 37) {
                std::vector<Dwarf_Die> told = scopes.at(&unit, address);
                auto words = in_words(told.data(), static_cast<int>(told.size()));
                EXPECT_EQ(words, searched(&unit, address)) << std::hex << address;
                compared++;
                inlined += words.size() > 1;
            }
        }
    }
    dwarf_end(all);
    EXPECT_GT(compared, 50u);
    EXPECT_GT(inlined, 5u);
}

} // namespace
} // namespace holdfast::cli
