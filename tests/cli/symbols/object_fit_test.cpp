// SPDX-License-Identifier: MIT OR Apache-2.0
// What users are told of objects that can't be Holdfast's.
//
// Shown able to fail: a sentence about those that fit; commas alone between three.
#include <algorithm>
#include <gtest/gtest.h>

#include "cli/symbols/object_fit.hpp"

namespace holdfast::cli::test {
namespace {

TEST(object_fit, nothing_is_said_when_all_are_holdfasts) {
    EXPECT_EQ(about_objects_left(find_object_fits([](hf_object) { return true; })), "");
    EXPECT_EQ(about_objects_left(find_object_fits()), "");
}

TEST(object_fit, one_sentence_names_what_is_left) {
    auto without = [](std::initializer_list<hf_object> left) {
        return about_objects_left(find_object_fits(
            [&](hf_object object) { return std::find(left.begin(), left.end(), object) == left.end(); }));
    };
    std::string why = " stay glibc's: " + name_of_c_library() +
                      " lays them out in a way that this Holdfast does not know; look for a newer one";
    EXPECT_EQ(without({HF_OBJECT_COND}), "condition variables" + why);
    EXPECT_EQ(without({HF_OBJECT_COND, HF_OBJECT_BARRIER}), "condition variables and barriers" + why);
    EXPECT_EQ(without({HF_OBJECT_MUTEX, HF_OBJECT_RWLOCK, HF_OBJECT_SPIN}),
              "mutexes, reader-writer locks and spinlocks" + why);
}

} // namespace
} // namespace holdfast::cli::test
