// SPDX-License-Identifier: MIT OR Apache-2.0
#include "oversub/implicit_argument.hpp"

#include <bpf/btf.h>
#include <string_view>
#include <unordered_set>

namespace holdfast {
namespace {

// The type of the only argument that sched_ext's functions get in this way: a pointer to it.
constexpr std::string_view implicit = "bpf_prog_aux";

bool is_implicit(const btf *types, const btf_param &argument) {
    const btf_type *pointer = btf__type_by_id(types, argument.type);
    if (!pointer || !btf_is_ptr(pointer))
        return false;
    const btf_type *to = btf__type_by_id(types, pointer->type);
    while (to && btf_is_mod(to))
        to = btf__type_by_id(types, to->type);
    return to && btf__name_by_offset(types, to->name_off) == implicit;
}

bool shows_implicit_argument(const btf *kernel, const btf_type *function) {
    const btf_type *prototype = btf__type_by_id(kernel, function->type);
    int arguments = prototype ? btf_vlen(prototype) : 0;
    return arguments > 0 && is_implicit(kernel, btf_params(prototype)[arguments - 1]);
}

// Its own, which are none of the kernel's, and those that it calls.
std::unordered_set<std::string_view> functions_of(const btf *program) {
    std::unordered_set<std::string_view> names;
    for (__u32 id = 1; id < btf__type_cnt(program); id++) {
        const btf_type *type = btf__type_by_id(program, id);
        if (btf_is_func(type))
            names.insert(btf__name_by_offset(program, type->name_off));
    }
    return names;
}

} // namespace

std::string function_with_implicit_argument(const btf *program, const btf *kernel) {
    if (!program || !kernel)
        return "";
    auto called = functions_of(program);
    for (__u32 id = 1; id < btf__type_cnt(kernel); id++) { // once, not for each name: the kernel's are 100,000s
        const btf_type *type = btf__type_by_id(kernel, id);
        if (!btf_is_func(type))
            continue;
        const char *name = btf__name_by_offset(kernel, type->name_off);
        if (called.contains(name) && shows_implicit_argument(kernel, type))
            return name;
    }
    return "";
}

} // namespace holdfast
