// SPDX-License-Identifier: MIT OR Apache-2.0
// Which functions an address lies in, by debugging information: libdw's own search goes through all that is declared in
// the unit, twice for each address, which takes milliseconds for one of C++.
#pragma once

#include <cstdint>
#include <elfutils/libdw.h>
#include <map>
#include <vector>

namespace holdfast::cli {

class unit_scopes {
public:
    // The scopes around the address, innermost first, up to the function: blocks, what is inlined, the function itself.
    // Empty where there is none. Addresses as the file has them.
    std::vector<Dwarf_Die> at(Dwarf_Die *unit, Dwarf_Addr address);

private:
    struct function {
        Dwarf_Addr from = 0, to = 0;
        Dwarf_Die die{};
    };
    using functions = std::vector<function>; // in ascending order

    static void add_functions(Dwarf_Die *in, unsigned depth, functions &found);
    const functions &functions_of(Dwarf_Die *unit);

    std::map<Dwarf_Off, functions> known_; // by the unit
};

} // namespace holdfast::cli
