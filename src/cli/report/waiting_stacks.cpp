// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/report/waiting_stacks.hpp"

#include <algorithm>
#include <fmt/core.h>
#include <map>

namespace holdfast::cli::report {
namespace {

// What libraries do on the way to the lock is left out, but for the function that the program called.
std::vector<stack_level> levels_of(const recording &of, const lock_wait &wait, const std::string &lock) {
    std::vector<stack_level> levels{{stack_level::kind::program, of.process_name(wait.process)}};
    const call_chain &chain = of.chain(wait.waits_at);
    const call_frame *place = place_in_program(chain);
    if (!place)
        levels.push_back({stack_level::kind::call, "[not known]"});
    for (auto each = chain.rbegin(); each != chain.rend(); ++each) {
        levels.push_back({stack_level::kind::call, each->function});
        if (&*each == place)
            break;
    }
    if (std::string function = lock_function_in(chain); !function.empty())
        levels.push_back({stack_level::kind::call, function});
    levels.push_back({stack_level::kind::lock, "[lock] " + lock});
    return levels;
}

void add_holder(const recording &of, const lock_wait &wait, const wait_for_holder &holder, bool is_held,
                std::vector<stack_level> &levels) {
    std::string name = of.thread_name(wait.process, holder.thread);
    levels.push_back({stack_level::kind::holder,
                      fmt::format("[{} by] {}", is_held ? "held" : "woken", name.empty() ? "thread" : name)});
    if (const call_frame *release = place_in_program(of.chain(holder.released_at)))
        levels.push_back({stack_level::kind::holder, "[in] " + release->function});
}

class stack_sums {
public:
    void add(const std::vector<stack_level> &levels, std::uint64_t waits, std::uint64_t waited_ns) {
        waiting_stack &stack = found_[levels];
        stack.waits += waits;
        stack.waited_ns += waited_ns;
    }

    std::vector<waiting_stack> all() && {
        std::vector<waiting_stack> stacks;
        for (auto &[levels, stack] : found_) {
            stack.levels = levels;
            stacks.push_back(std::move(stack));
        }
        return stacks;
    }

private:
    std::map<std::vector<stack_level>, waiting_stack> found_;
};

} // namespace

std::vector<waiting_stack> waiting_stacks(const recording &of, const waited_things &things) {
    stack_sums sums;
    for (const lock_wait &wait : of.waits()) {
        const waited_things::thing &thing = things.of(wait);
        auto levels = levels_of(of, wait, thing.name);
        std::uint64_t left_ns = wait.took_ns();
        for (const wait_for_holder &holder : wait.held_by) {
            auto with_holder = levels;
            add_holder(of, wait, holder, thing.is_held, with_holder);
            std::uint64_t ns = std::min(holder.ns, left_ns);
            sums.add(with_holder, 0, ns * wait.weight);
            left_ns -= ns;
        }
        sums.add(levels, wait.weight, left_ns * wait.weight);
    }
    return std::move(sums).all();
}

std::string folded(const std::vector<waiting_stack> &stacks) {
    std::string text;
    for (const waiting_stack &stack : stacks) {
        std::string line;
        for (const stack_level &each : stack.levels) {
            std::string level = each.text;
            std::ranges::replace(level, ';', ':'); // it stands between levels
            line += (line.empty() ? "" : ";") + level;
        }
        text += fmt::format("{} {}\n", line, (stack.waited_ns + 500) / 1000);
    }
    return text;
}

} // namespace holdfast::cli::report
