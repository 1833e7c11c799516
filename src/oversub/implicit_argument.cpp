// SPDX-License-Identifier: MIT OR Apache-2.0
#include "oversub/implicit_argument.hpp"

#include <bpf/btf.h>
#include <string_view>

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

bool shows_implicit_argument(const btf *kernel, const char *name) {
    int id = btf__find_by_name_kind(kernel, name, BTF_KIND_FUNC);
    if (id <= 0)
        return false;
    const btf_type *prototype = btf__type_by_id(kernel, btf__type_by_id(kernel, static_cast<__u32>(id))->type);
    int arguments = prototype ? btf_vlen(prototype) : 0;
    return arguments > 0 && is_implicit(kernel, btf_params(prototype)[arguments - 1]);
}

} // namespace

std::string function_with_implicit_argument(const btf *program, const btf *kernel) {
    if (!program || !kernel)
        return "";
    for (__u32 id = 1; id < btf__type_cnt(program); id++) {
        const btf_type *type = btf__type_by_id(program, id);
        const char *name = btf__name_by_offset(program, type->name_off);
        if (btf_is_func(type) && shows_implicit_argument(kernel, name)) // its own are none of the kernel's
            return name;
    }
    return "";
}

} // namespace holdfast
