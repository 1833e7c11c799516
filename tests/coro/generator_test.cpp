// SPDX-License-Identifier: MIT OR Apache-2.0
// Generators: values, their order, exceptions, and frames that are left early. Shown able to fail: without the frame's
// destruction, without the rethrow, with a value that is kept before it is yielded.
#include "holdfast/coro/generator.hpp"

#include <gtest/gtest.h>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace holdfast::coro;

generator<int> up_to(int last) {
    for (int i = 1; i <= last; i++)
        co_yield i;
}

TEST(CoroGenerator, GivesAllInOrder) {
    std::vector<int> got;
    for (int one : up_to(5))
        got.push_back(one);
    EXPECT_EQ(got, (std::vector<int>{1, 2, 3, 4, 5}));
    for (int one : up_to(0))
        ADD_FAILURE() << one;
}

generator<std::string> words(std::shared_ptr<int> held) {
    static_cast<void>(held);
    std::string kept = "kept";
    co_yield kept;
    co_yield kept + " no longer";
    throw std::runtime_error("the end");
}

TEST(CoroGenerator, ThrowsWhatItThrows) {
    std::vector<std::string> got;
    std::string thrown;
    try {
        for (std::string &one : words(nullptr))
            got.push_back(std::move(one));
    } catch (const std::runtime_error &one) {
        thrown = one.what();
    }
    EXPECT_EQ(thrown, "the end");
    EXPECT_EQ(got, (std::vector<std::string>{"kept", " no longer"})) << "the loop gets the variable itself";
}

TEST(CoroGenerator, GoesWithItsVariables) {
    auto held = std::make_shared<int>(1);
    {
        generator<std::string> one = words(held);
        EXPECT_EQ(*one.begin(), "kept");
        EXPECT_GT(held.use_count(), 1);
        generator<std::string> never = words(held);
        one = std::move(never);
    }
    EXPECT_EQ(held.use_count(), 1);
}

static_assert(std::input_iterator<generator<int>::iterator>);

} // namespace
