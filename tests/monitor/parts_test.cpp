// SPDX-License-Identifier: MIT OR Apache-2.0
// A kernel that refuses parts of the monitor: they are left out, with the verifier's reason, and the rest works. The
// running kernel is made to refuse them (HOLDFAST_REFUSED_PARTS).
//
// Shown able to fail: a loader that tries no part again after the core (OthersStay, TheVerifiersLastLineIsTheReason); a
// heart that nobody starts in user space (BeatsFromUserSpace).
#include <cstdlib>
#include <string>

#include "holdfast/flexguard.h"
#include "monitor/followed_child.hpp"

namespace holdfast::test {
namespace {

class parts : public testing::TestWithParam<const char *> {
protected:
    ~parts() override { unsetenv("HOLDFAST_REFUSED_PARTS"); }

    static std::unique_ptr<monitor> monitor_without(const char *names) {
        monitor_or_skip(); // else this kernel may refuse something by itself
        setenv("HOLDFAST_REFUSED_PARTS", names, 1);
        return std::make_unique<monitor>();
    }

    static std::string left_out_of(const monitor &watcher) {
        std::uint32_t bits = 0;
        for (const left_out_part &each : watcher.left_out())
            bits |= each.part.bit;
        return names_of_parts(bits);
    }

    // What the core is there for.
    static void expect_that_it_counts(monitor &watcher) {
        followed_child holder(watcher, [] {
            static hf_flexguard_t lock;
            hf_flexguard_lock(&lock);
            raise(SIGSTOP);
            hf_flexguard_unlock(&lock);
            busy_forever();
        });
        holder.wait_until_stopped();
        EXPECT_EQ(count_becomes(watcher, 1), 1u);
        holder.send(SIGCONT);
        EXPECT_EQ(count_becomes(watcher, 0), 0u);
    }
};

TEST_P(parts, OthersStay) {
    std::unique_ptr<monitor> watcher = monitor_without(GetParam());
    EXPECT_EQ(left_out_of(*watcher), GetParam());
    for (const left_out_part &each : watcher->left_out())
        EXPECT_NE(each.why, "") << each.part.name;
    expect_that_it_counts(*watcher);
}

INSTANTIATE_TEST_SUITE_P(each, parts,
                         testing::Values("switch_state", "heart", "company", "census", "absences, stacks", "stacks",
                                         "storms", "switch_state, heart, company, census, absences, stacks, storms"),
                         [](const auto &named) { return "case_" + std::to_string(named.index); });

TEST_F(parts, TheVerifiersLastLineIsTheReason) {
    std::unique_ptr<monitor> watcher = monitor_without("storms");
    ASSERT_EQ(watcher->left_out().size(), 1u);
    const left_out_part &storms = watcher->left_out().front();
    EXPECT_NE(storms.why.find("at_switch"), std::string::npos) << storms.why;
    EXPECT_NE(storms.why.find("stack"), std::string::npos) << storms.why;
    EXPECT_NE(storms.log.find("processed"), std::string::npos) << storms.log;
}

TEST_F(parts, BeatsFromUserSpace) {
    std::unique_ptr<monitor> watcher = monitor_without("heart");
    std::uint64_t first = hf_load_relaxed(&watcher->page().heartbeat_ns);
    EXPECT_TRUE(comes_true([&] { return hf_load_relaxed(&watcher->page().heartbeat_ns) > first + HF_HEARTBEAT_NS; }));
}

TEST_F(parts, WithoutACensusThereIsNoAudit) {
    std::unique_ptr<monitor> watcher = monitor_without("census");
    EXPECT_FALSE(watcher->audit());
    EXPECT_FALSE(watcher->take_census());
}

TEST_F(parts, ARefusedCoreIsSaidWithProgramAndKernel) {
    monitor_or_skip();
    setenv("HOLDFAST_REFUSED_PARTS", "core", 1);
    try {
        monitor watcher;
        ADD_FAILURE() << "it loads";
    } catch (const monitor_unavailable &unavailable) {
        std::string said = unavailable.what();
        for (const char *part : {"Linux ", "at_switch", "stack", "report"})
            EXPECT_NE(said.find(part), std::string::npos) << said;
        EXPECT_EQ(said.find("run as root"), std::string::npos) << said;
        EXPECT_NE(unavailable.log().find("BEGIN PROG LOAD LOG"), std::string::npos);
    }
}

} // namespace
} // namespace holdfast::test
