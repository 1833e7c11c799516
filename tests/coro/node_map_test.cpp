// SPDX-License-Identifier: MIT OR Apache-2.0
// Memory nodes as the kernel's directory tells of them, on machines that are invented here.
//
// Shown able to fail: see docs/coroutines-checks.md.
#include "node_map.hpp"

#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>

namespace {

using holdfast::coro::node_map;
using numbers = std::vector<std::size_t>;

class CoroNodes : public testing::Test {
protected:
    CoroNodes() : directory_(std::filesystem::path(testing::TempDir()) / ("nodes." + std::to_string(getpid()))) {
        std::filesystem::remove_all(directory_);
        std::filesystem::create_directories(directory_);
    }
    ~CoroNodes() override { std::filesystem::remove_all(directory_); }

    void add_node(const std::string &name, const std::string &cpus, const std::string &distances) {
        std::filesystem::create_directories(directory_ / name);
        std::ofstream(directory_ / name / "cpulist") << cpus << '\n';
        std::ofstream(directory_ / name / "distance") << distances << '\n';
    }
    node_map read(unsigned cpus = 64) const {
        cpu_set_t usable;
        CPU_ZERO(&usable);
        for (unsigned cpu = 0; cpu < cpus; cpu++)
            CPU_SET(cpu, &usable);
        return node_map::read(usable, directory_);
    }

    std::filesystem::path directory_;
};

TEST_F(CoroNodes, WorkersStealFromTheNearestFirst) {
    add_node("node0", "0-1,6", "10 31 21");
    add_node("node1", "2-3", "31 10 21");
    add_node("node2", "4-5", "21 21 10");
    node_map map = read();
    ASSERT_EQ(map.nodes().size(), 3u);
    EXPECT_EQ(map.nodes()[0].cpus, (std::vector<unsigned>{0, 1, 6}));
    numbers homes = map.homes(7);
    EXPECT_EQ(homes, (numbers{0, 0, 0, 1, 1, 2, 2}));
    EXPECT_EQ(map.victims(0, 7, homes), (numbers{1, 2, 5, 6, 3, 4}));
    EXPECT_EQ(map.victims(4, 7, homes), (numbers{3, 5, 6, 0, 1, 2}));
}

TEST_F(CoroNodes, MoreWorkersThanCpusBeginAgain) {
    add_node("node0", "0", "10 20");
    add_node("node1", "1", "20 10");
    EXPECT_EQ(read().homes(5), (numbers{0, 1, 0, 1, 0}));
}

TEST_F(CoroNodes, OneNodeAndFewWorkersAreLeftToTheKernel) {
    add_node("node0", "0-3", "10");
    EXPECT_TRUE(read().homes(4).empty());
    EXPECT_EQ(read().victims(2, 4, {}), (numbers{3, 0, 1}));
    add_node("node1", "4-7", "20 10");
    EXPECT_TRUE(read().homes(7).empty());
    EXPECT_FALSE(read().homes(8).empty());
}

// Nodes of memory alone, CPUs that the program may not use, gaps in the numbers.
TEST_F(CoroNodes, NodesWithoutUsableCpusAreLeftOut) {
    add_node("node0", "0-1", "10 15 40");
    add_node("node2", "", "15 10 50");
    add_node("node10", "2-70", "40 50 10");
    node_map map = read(4);
    ASSERT_EQ(map.nodes().size(), 2u);
    EXPECT_EQ(map.nodes()[1].cpus, (std::vector<unsigned>{2, 3}));
    EXPECT_EQ(map.nodes()[0].distances, (std::vector<unsigned>{10, 40}));
    EXPECT_EQ(map.nodes()[1].distances, (std::vector<unsigned>{40, 10}));
}

TEST_F(CoroNodes, WhatCantBeReadIsNoNode) {
    add_node("node0", "here are no numbers", "");
    add_node("nodes", "0", "10");
    EXPECT_TRUE(read().nodes().empty());
    std::filesystem::remove_all(directory_);
    EXPECT_TRUE(read().nodes().empty());
}

} // namespace
