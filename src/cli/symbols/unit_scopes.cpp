// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/symbols/unit_scopes.hpp"

#include <algorithm>
#include <cstdlib>
#include <dwarf.h>
#include <memory>
#include <optional>

namespace holdfast::cli {
namespace {

struct scopes_freed {
    void operator()(Dwarf_Die *scopes) const { std::free(scopes); }
};

constexpr unsigned depth_max = 32; // of namespaces and classes in each other; a file may say anything

// Calls visit(die) for each; true: no more. A file may say that the next one is before this one.
template <class Visit>
void visit_children(Dwarf_Die *of, const Visit &visit) {
    Dwarf_Die child, next;
    bool is_one = dwarf_child(of, &child) == 0;
    while (is_one && !visit(child)) {
        is_one = dwarf_siblingof(&child, &next) == 0 && dwarf_dieoffset(&next) > dwarf_dieoffset(&child);
        child = next;
    }
}

std::optional<Dwarf_Die> scope_in(Dwarf_Die *around, Dwarf_Addr address) {
    std::optional<Dwarf_Die> found;
    visit_children(around, [&](Dwarf_Die &child) {
        int tag = dwarf_tag(&child);
        bool is_scope = tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine || tag == DW_TAG_subprogram ||
                        tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
        if (is_scope && dwarf_haspc(&child, address) > 0)
            found = child;
        return found.has_value();
    });
    return found;
}

// As libdw finds them.
std::vector<Dwarf_Die> searched_scopes(Dwarf_Die *unit, Dwarf_Addr address) {
    Dwarf_Die *innermost = nullptr, *found = nullptr;
    int count = dwarf_getscopes(unit, address, &innermost);
    std::unique_ptr<Dwarf_Die, scopes_freed> at(innermost);
    // Around an inlined function the first asks for where it was written, the second for where it is.
    count = count > 0 ? dwarf_getscopes_die(innermost, &found) : 0;
    std::unique_ptr<Dwarf_Die, scopes_freed> scopes(found);
    return count > 0 ? std::vector<Dwarf_Die>(found, found + count) : std::vector<Dwarf_Die>();
}

} // namespace

// Those that are written inside of others are left out.
void unit_scopes::add_functions(Dwarf_Die *in, unsigned depth, functions &found) {
    visit_children(in, [depth, &found](Dwarf_Die &child) {
        int tag = dwarf_tag(&child);
        if (tag == DW_TAG_subprogram) {
            Dwarf_Addr base = 0, from = 0, to = 0;
            for (std::ptrdiff_t next = 0; (next = dwarf_ranges(&child, next, &base, &from, &to)) > 0;)
                found.push_back({.from = from, .to = to, .die = child});
        } else if (depth < depth_max &&
                   (tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_class_type ||
                    tag == DW_TAG_structure_type || tag == DW_TAG_union_type || tag == DW_TAG_enumeration_type)) {
            add_functions(&child, depth + 1, found);
        }
        return false;
    });
}

const unit_scopes::functions &unit_scopes::functions_of(Dwarf_Die *unit) {
    auto [place, is_new] = known_.try_emplace(dwarf_dieoffset(unit));
    if (is_new) {
        add_functions(unit, 0, place->second);
        std::ranges::stable_sort(place->second, {}, &function::from);
    }
    return place->second;
}

std::vector<Dwarf_Die> unit_scopes::at(Dwarf_Die *unit, Dwarf_Addr address) {
    const functions &all = functions_of(unit);
    auto behind = std::ranges::upper_bound(all, address, {}, &function::from);
    if (behind == all.begin() || address >= std::prev(behind)->to)
        return searched_scopes(unit, address);
    std::vector<Dwarf_Die> scopes = {std::prev(behind)->die};
    while (std::optional<Dwarf_Die> inner = scope_in(&scopes.back(), address))
        scopes.push_back(*inner);
    std::ranges::reverse(scopes);
    return scopes;
}

} // namespace holdfast::cli
