// SPDX-License-Identifier: MIT OR Apache-2.0
// What HOLDFAST_CONF may say, and the sentence for each way to say it wrong.
//
// Shown able to fail: read_slice that does not look at the unit, or at its greatest value; rule_for that never finds
// the place again; length_of_pair that stops at every comma; parameters taken although a later one is wrong;
// read_inactive without its greatest value.
#include <gtest/gtest.h>
#include <string>

#include "config/policy_text.h"

namespace holdfast::test {
namespace {

hf_policy_text read(const std::string &text) {
    hf_policy_text policy{};
    char complaint[512] = "";
    EXPECT_TRUE(hf_policy_text_read(text.c_str(), &policy, complaint, sizeof(complaint))) << text << ": " << complaint;
    return policy;
}

// The sentence. Nothing may have changed.
std::string complaint_about(const std::string &text) {
    hf_policy_text policy{};
    char complaint[512] = "";
    EXPECT_FALSE(hf_policy_text_read(text.c_str(), &policy, complaint, sizeof(complaint))) << text;
    EXPECT_EQ(policy.rules, 0u) << text;
    for (const hf_policy_value &value : policy.value)
        EXPECT_EQ(value.lock, nullptr) << text;
    return complaint;
}

TEST(policy_text, NamesTheLockOfEachKind) {
    hf_policy_text policy = read("mutex:mcs,rwlock:glibc,,cond:default,mutex:ttas");
    EXPECT_STREQ(policy.value[HF_OBJECT_MUTEX].lock, "ttas") << "the last one counts";
    EXPECT_STREQ(policy.value[HF_OBJECT_RWLOCK].lock, "glibc");
    EXPECT_STREQ(policy.value[HF_OBJECT_COND].lock, "flexguard");
    EXPECT_EQ(policy.value[HF_OBJECT_SPIN].lock, nullptr);
    EXPECT_STREQ(read("mutex:u-scl").value[HF_OBJECT_MUTEX].lock, "uscl");
    EXPECT_STREQ(read("mutex:uscl").value[HF_OBJECT_MUTEX].lock, "uscl");
}

TEST(policy_text, ReadsParameters) {
    auto slice = [](const std::string &text) {
        return read("mutex:u-scl(slice=" + text + "),cond:glibc").value[HF_OBJECT_MUTEX].parameters.slice_us_plus_1;
    };
    EXPECT_EQ(read("mutex:u-scl").value[HF_OBJECT_MUTEX].parameters.slice_us_plus_1, 0u) << "nothing was said";
    EXPECT_EQ(slice("0"), 1u);
    EXPECT_EQ(slice("7us"), 8u);
    EXPECT_EQ(slice("2ms"), 2001u);
    EXPECT_EQ(slice("100ms"), 100001u);
    hf_lock_parameters both = read("mutex:uscl(work-conserving=yes,slice=1ms)").value[HF_OBJECT_MUTEX].parameters;
    EXPECT_TRUE(both.work_conserving);
    EXPECT_EQ(both.inactive_ms, 0u) << "nothing was said";
    EXPECT_EQ(both.slice_us_plus_1, 1001u);
    EXPECT_FALSE(both.class_by_name);
    EXPECT_TRUE(read("mutex:u-scl(class=name)").value[HF_OBJECT_MUTEX].parameters.class_by_name);
    EXPECT_FALSE(read("mutex:u-scl(class=thread)").value[HF_OBJECT_MUTEX].parameters.class_by_name);
    EXPECT_TRUE(read("mutex:flexguard(bias=latency)").value[HF_OBJECT_MUTEX].parameters.latency);
    EXPECT_FALSE(read("mutex:default(bias=throughput)").value[HF_OBJECT_MUTEX].parameters.latency);
    EXPECT_TRUE(read("mutex:flexguard(slice-extension=yes)").value[HF_OBJECT_MUTEX].parameters.slice_extension);
    EXPECT_FALSE(read("mutex:flexguard(slice-extension=no)").value[HF_OBJECT_MUTEX].parameters.slice_extension);
    hf_policy_value again = read("mutex:uscl(slice=1ms),mutex:uscl").value[HF_OBJECT_MUTEX];
    EXPECT_EQ(again.parameters.slice_us_plus_1, 0u) << "the last one counts, with all that it says";
}

TEST(policy_text, ReadsAfterWhatTimeAClassIsInactive) {
    auto inactive = [](const std::string &text) {
        return read("mutex@place:u-scl(slice=0,inactive=" + text + ")").rule[0].value.parameters.inactive_ms;
    };
    EXPECT_EQ(inactive("1ms"), 1u);
    EXPECT_EQ(inactive("1s"), 1000u);
    EXPECT_EQ(inactive("10000ms"), 10'000u);
    EXPECT_EQ(inactive("10s"), 10'000u);
}

TEST(policy_text, KnowsOneMoreReaderWriterLock) {
    for (const char *name : {"rwscl", "rw-scl"}) {
        hf_policy_value value = read(std::string("rwlock:") + name + "(ratio=9:1,slice=500us)").value[HF_OBJECT_RWLOCK];
        EXPECT_STREQ(value.lock, "rwscl");
        EXPECT_EQ(value.parameters.read_share, 9u);
        EXPECT_EQ(value.parameters.write_share, 1u);
        EXPECT_EQ(value.parameters.slice_us_plus_1, 501u);
    }
}

TEST(policy_text, ReadsRatios) {
    auto ratio = [](const char *text, hf_lock_parameters &parameters) {
        char complaint[256];
        return hf_lock_parameters_read("rwscl", {text, std::char_traits<char>::length(text)}, &parameters, complaint,
                                       sizeof(complaint));
    };
    hf_lock_parameters said{};
    ASSERT_TRUE(ratio("ratio=9:1,slice=2ms", said));
    EXPECT_EQ(said.read_share, 9u);
    EXPECT_EQ(said.write_share, 1u);
    EXPECT_EQ(said.slice_us_plus_1, 2001u);
    for (const char *wrong : {"ratio=9", "ratio=9:", "ratio=:1", "ratio=0:1", "ratio=1:1001", "ratio=9:1x", "ratio"}) {
        hf_lock_parameters unchanged{};
        EXPECT_FALSE(ratio(wrong, unchanged)) << wrong;
        EXPECT_EQ(unchanged.read_share, 0u) << wrong;
    }
}

TEST(policy_text, HasRulesForSingleMutexes) {
    hf_policy_text policy = read("mutex@db+16:u-scl(slice=500us),mutex@libx.so:mcs,mutex@db+16:glibc");
    ASSERT_EQ(policy.rules, 2u);
    EXPECT_STREQ(policy.rule[0].place, "db+16");
    EXPECT_STREQ(policy.rule[0].value.lock, "glibc") << "the last one of a place counts";
    EXPECT_EQ(policy.rule[0].value.parameters.slice_us_plus_1, 0u);
    EXPECT_STREQ(policy.rule[1].place, "libx.so");
    EXPECT_EQ(policy.value[HF_OBJECT_MUTEX].lock, nullptr);
}

// The place alone does not make a rule: a library has locks of both kinds.
TEST(policy_text, HasRulesForSingleReaderWriterLocks) {
    hf_policy_text policy =
        read("rwlock@libx.so:rw-scl(ratio=9:1),mutex@libx.so:u-scl,rwlock@x:glibc,rwlock@x:default");
    ASSERT_EQ(policy.rules, 3u);
    EXPECT_EQ(policy.rule[0].kind, HF_OBJECT_RWLOCK);
    EXPECT_STREQ(policy.rule[0].value.lock, "rwscl");
    EXPECT_EQ(policy.rule[0].value.parameters.read_share, 9u);
    EXPECT_EQ(policy.rule[1].kind, HF_OBJECT_MUTEX);
    EXPECT_STREQ(policy.rule[1].value.lock, "uscl");
    EXPECT_STREQ(policy.rule[2].value.lock, "flexguard") << "the last one of a kind and place counts";
    EXPECT_EQ(policy.value[HF_OBJECT_RWLOCK].lock, nullptr);
}

TEST(policy_text, SaysWhatIsWrong) {
    const struct {
        std::string text;
        const char *part;
    } wrong[] = {
        {"mutex", "mutex has no lock behind a colon: write mutex:flexguard"},
        {"mutex@a::b", "mutex has no lock"},
        {"mutex:magic", "mutex can't be 'magic': use one of glibc, default, flexguard"},
        {"mutex:flexgaurd", "mutex can't be 'flexgaurd': did you mean 'flexguard'? use one of glibc"},
        {"mutex:default2", "did you mean 'default'?"},
        {"rwlock:rw-slc", "did you mean 'rw-scl'?"},
        {"cond:flex", "did you mean 'flexguard'?"},
        {"mutex:" + std::string(300, 'm'), "use one of glibc"},
        {"barier:glibc", "no kind of object 'barier': did you mean 'barrier'? use mutex"},
        {"mutex:uscl(inactiv=1s)", "no parameter 'inactiv': did you mean 'inactive'? use slice"},
        {"cond:mcs", "cond can't be 'mcs': use one of glibc, default, flexguard"},
        {"rwlock:mcs", "rwlock can't be 'mcs': use one of glibc, default, flexguard, rwscl"},
        {"mutex:rw-scl", "mutex can't be 'rw-scl'"},
        {"rwlock:rw-scl(work-conserving=yes)", "rwscl has no parameter 'work-conserving': use ratio, slice"},
        {"door:glibc", "no kind of object 'door'"},
        {"mutex:uscl(slice=2)", "uscl's slice can't be '2': give a time"},
        {"mutex:uscl(slice=101ms)", "can't be '101ms'"},
        {"mutex:uscl(slice=99999999999ms)", "can't be '99999999999ms'"},
        {"mutex:uscl(slice=-1ms)", "can't be '-1ms'"},
        {"mutex:uscl(slice)", "can't be ''"},
        {"mutex:uscl(slice=1ms,work-conserving=perhaps)", "work-conserving can't be 'perhaps': use yes or no"},
        {"mutex:uscl(bias=latency)", "uscl has no parameter 'bias': use slice, inactive, work-conserving, class"},
        {"mutex:uscl(inactive=0ms)", "uscl's inactive can't be '0ms': give a time from 1ms to 10s"},
        {"mutex:uscl(inactive=10001ms)", "can't be '10001ms'"},
        {"mutex:uscl(inactive=11s)", "can't be '11s'"},
        {"mutex:uscl(inactive=1000000s)", "can't be '1000000s'"},
        {"mutex:uscl(inactive=5us)", "can't be '5us'"},
        {"mutex:uscl(inactive=1)", "can't be '1'"},
        {"rwlock:rw-scl(inactive=1s)", "rwscl has no parameter 'inactive': use ratio, slice"},
        {"mutex:uscl(class=group)", "class can't be 'group': use thread or name"},
        {"mutex:uscl()", "uscl has no parameter ''"},
        {"mutex:flexguard(bias=speed)", "bias can't be 'speed': use throughput or latency"},
        {"mutex:flexguard(slice-extension=1)", "slice-extension can't be '1': use yes or no"},
        {"mutex:mcs(slice=1ms)", "mcs takes no parameters"},
        {"mutex:uscl(slice=1ms", "has no ')' at its end"},
        {"mutex:uscl(slice=1ms)x", "has no ')' at its end"},
        {"mutex@:uscl", "no symbol or library"},
        {"mutex@" + std::string(128, 'x') + ":uscl", "no symbol or library of 1 to 127"},
        {"cond@x:glibc", "a cond can't be told from others: only mutex@PLACE and rwlock@PLACE are known"},
        {"rwlock@:glibc", "no symbol or library"},
        {"rwlock@x:u-scl", "rwlock can't be 'u-scl': use one of glibc, default, flexguard, rwscl"},
        {"rwlock@x:rw-scl(ratio=9)", "rwscl's ratio can't be '9'"},
        {"mutex@x:rw-scl", "mutex can't be 'rw-scl'"},
    };
    for (const auto &[text, part] : wrong)
        EXPECT_NE(complaint_about(text).find(part), std::string::npos) << text << ": " << complaint_about(text);
    std::string rules;
    for (int i = 0; i <= HF_RULES_MAX; i++)
        rules += (i % 2 ? "mutex@place" : "rwlock@place") + std::to_string(i) + ":glibc,";
    EXPECT_NE(complaint_about(rules).find("more than 15 rules"), std::string::npos);
}

} // namespace
} // namespace holdfast::test
