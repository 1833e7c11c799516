// SPDX-License-Identifier: MIT OR Apache-2.0
// Names of symbols, also such as a process has made to harm who looks at them.
//
// Shown able to fail: without a bound for references (Leaves…Doubles…), for packs (Leaves…Packs…), for conversions
// (Leaves…Conversions…), for bytes (CutsLongNames), without a look at how it begins (LeavesNamesOfC…).
#include <gtest/gtest.h>
#include <string>

#include "cli/symbols/symbol_name.hpp"

namespace holdfast::cli {
namespace {

// f(pair<P, P>), where P is the same again, so many times: each level has twice the length, for some 10 bytes.
std::string doubled(int levels) {
    const std::string digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    std::string name = "_Z1fSt4pairIiiE", last = "S0_";
    for (int i = 0; i < levels; i++) {
        name += "S_I" + last + last + "E";
        last = std::string("S") + digits[static_cast<std::size_t>(i) + 1] + "_";
    }
    return name;
}

std::string repeated(const std::string &text, int times) {
    std::string all;
    for (int i = 0; i < times; i++)
        all += text;
    return all;
}

TEST(symbol_name, IsAsInTheSource) {
    EXPECT_EQ(plain_symbol_name("_ZN8holdfast4lookEi"), "holdfast::look(int)");
    EXPECT_EQ(plain_symbol_name("_ZN4core9panicking5panic17h0123456789abcdefE"),
              "core::panicking::panic::h0123456789abcdef");
    EXPECT_EQ(plain_symbol_name("memcpy@GLIBC_2.14"), "memcpy");
}

// Of std::map<std::string, int>, as the standard library has it.
TEST(symbol_name, IsAsInTheSourceForTemplatesOfTemplates) {
    std::string plain = plain_symbol_name(
        "_ZNSt8_Rb_treeINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEESt4pairIKS5_iESt10_Select1stIS8_ESt4less"
        "IS5_ESaIS8_EE17_M_emplace_uniqueIJS6_IS5_iEEEES6_ISt17_Rb_tree_iteratorIS8_EbEDpOT_");
    EXPECT_NE(plain.find("::_M_emplace_unique<std::pair<"), std::string::npos) << plain;
}

TEST(symbol_name, LeavesNamesOfCAsTheyAre) {
    EXPECT_EQ(plain_symbol_name("i"), "i"); // a type, to who makes names plain
    EXPECT_EQ(plain_symbol_name(""), "");
}

TEST(symbol_name, LeavesAsItIsWhatDoublesWithEachLevel) {
    EXPECT_NE(plain_symbol_name(doubled(3)), doubled(3)) << "it could never be made plain";
    EXPECT_EQ(plain_symbol_name(doubled(14)), doubled(14));
}

TEST(symbol_name, LeavesAsItIsWhatExpandsPacksOfPacks) {
    std::string name = "_Z1fIJ" + repeated("i", 40) + "EEvDpDpDpDpT_";
    EXPECT_EQ(plain_symbol_name(name), name);
    EXPECT_NE(plain_symbol_name("_Z1fIJiiEEvDpT_"), "_Z1fIJiiEEvDpT_") << "it could never be made plain";
}

TEST(symbol_name, LeavesAsItIsWhatIsReadTwiceAtEachLevel) {
    std::string name = "_Z1fIX" + repeated("cvi", 20) + "Li1EEEvv", short_one = "_Z1fIXcvicviLi1EEEvv";
    EXPECT_EQ(plain_symbol_name(name), name);
    EXPECT_NE(plain_symbol_name(short_one), short_one) << "it could never be made plain";
}

TEST(symbol_name, CutsLongNames) {
    std::string mangled = "_Z5000" + std::string(5000, 'x') + "v", part = mangled.substr(0, symbol_name_bytes_max);
    EXPECT_EQ(plain_symbol_name(mangled), part);
    EXPECT_EQ(plain_symbol_name(std::string(5000, 'x')).size(), symbol_name_bytes_max);
}

TEST(symbol_name, LeavesOutWhatIsInParentheses) {
    EXPECT_EQ(without_parentheses("(anonymous namespace)::queue(  (anonymous namespace)::options const&)::lock"),
              "queue::lock");
    EXPECT_EQ(without_parentheses("plain"), "plain");
    EXPECT_EQ(without_parentheses(repeated("(anonymous namespace)::", 1000000) + "end"), "end"); // at once
}

} // namespace
} // namespace holdfast::cli
