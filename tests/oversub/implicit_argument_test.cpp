// SPDX-License-Identifier: MIT OR Apache-2.0
// A kernel whose type information shows functions of sched_ext with the argument that the verifier adds, as Debian's
// 7.1.13 and 7.2.12 do: the function is named, so that one sentence can say why no such scheduler loads.
//
// Shown able to fail, in a guest with 7.2.12: const not seen through, as the kernel's own functions have it.
#include "oversub/implicit_argument.hpp"

#include <bpf/btf.h>
#include <gtest/gtest.h>
#include <memory>

namespace holdfast::test {
namespace {

struct freed {
    void operator()(btf *types) const { btf__free(types); }
};

// Type information that is written by hand.
class types {
public:
    types() : all_(btf__new_empty()), number_(btf__add_int(all_.get(), "int", 4, BTF_INT_SIGNED)) {}

    const btf *get() const { return all_.get(); }

    // A function of a number and, if `last` is named, of a pointer to such a structure.
    types &with(const char *function, const char *last = nullptr) {
        int pointer = 0;
        if (last) // as in the kernel, to const
            pointer = btf__add_ptr(all_.get(), btf__add_const(all_.get(), btf__add_struct(all_.get(), last, 0)));
        int prototype = btf__add_func_proto(all_.get(), number_);
        EXPECT_EQ(btf__add_func_param(all_.get(), "first", number_), 0);
        EXPECT_TRUE(!last || btf__add_func_param(all_.get(), "last", pointer) == 0);
        EXPECT_GT(btf__add_func(all_.get(), function, BTF_FUNC_EXTERN, prototype), 0);
        return *this;
    }

private:
    std::unique_ptr<btf, freed> all_;
    int number_;
};

struct implicit_argument : testing::Test {
    types kernel, program;
    std::string found() const { return function_with_implicit_argument(program.get(), kernel.get()); }
};

TEST_F(implicit_argument, NamesTheFunction) {
    kernel.with("kick").with("create", "bpf_prog_aux");
    program.with("kick").with("create");
    EXPECT_EQ(found(), "create");
}

TEST_F(implicit_argument, OnesThatAreNotCalledDoNotMatter) {
    kernel.with("create", "bpf_prog_aux").with("peek", "bpf_prog_aux");
    program.with("kick");
    EXPECT_EQ(found(), "");
}

TEST_F(implicit_argument, OfAnotherTypeIsOrdinary) {
    kernel.with("move", "task_struct").with("create");
    program.with("move", "task_struct").with("create");
    EXPECT_EQ(found(), "");
}

TEST_F(implicit_argument, OfNoTypeInformationNothingIsKnown) {
    program.with("create");
    EXPECT_EQ(function_with_implicit_argument(program.get(), nullptr), "");
    EXPECT_EQ(function_with_implicit_argument(nullptr, program.get()), "");
}

} // namespace
} // namespace holdfast::test
