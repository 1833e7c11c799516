// SPDX-License-Identifier: MIT OR Apache-2.0
#include "holdfast/coro/waits.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <mutex>
#include <new>
#include <unordered_map>

#include "holdfast/coro/statistics.hpp"

namespace holdfast::coro {
namespace {

struct coroutine {
    const char *function = nullptr; // null: it began while nobody watched
    const char *file = nullptr;
    unsigned line = 0;
    const void *awaited_by = nullptr;
    const void *primitive = nullptr; // null: it does not wait
    primitive_kind kind{};
    std::uint64_t since_ns = 0;
    std::optional<std::chrono::steady_clock::time_point> deadline; // of the wait
};

// By the address of the frame, from its coroutine's first note until note_gone(). Lives until the process ends.
struct table {
    std::mutex lock;
    std::unordered_map<const void *, coroutine> coroutines;
};
table &all() {
    static table *one = new table;
    return *one;
}

// What finds no memory is not noted.
template <class Change>
void change(const void *frame, Change to) noexcept {
    try {
        table &of = all();
        std::lock_guard held(of.lock);
        to(of.coroutines[frame]);
    } catch (const std::bad_alloc &) { // NOLINT(bugprone-empty-catch)
    }
}

template <class Change>
void change_known(const void *frame, Change to) noexcept {
    table &of = all();
    std::lock_guard held(of.lock);
    if (auto found = of.coroutines.find(frame); found != of.coroutines.end())
        to(found->second);
}

std::optional<std::uint64_t> left_until(std::optional<std::chrono::steady_clock::time_point> deadline) {
    if (!deadline)
        return std::nullopt;
    auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(*deadline - std::chrono::steady_clock::now());
    return static_cast<std::uint64_t>(std::max<std::int64_t>(left.count(), 0));
}

// g++ says of a coroutine `void name(name(arguments)::_Zname.Frame*)`: what stands there for arguments goes.
std::string readable(std::string function) {
    if (!function.ends_with(".Frame*)"))
        return function;
    int depth = 0;
    for (std::size_t i = function.size(); i-- > 0;) {
        depth += function[i] == ')' ? 1 : function[i] == '(' ? -1 : 0;
        if (depth > 0)
            continue;
        function.resize(i);
        break;
    }
    return function.starts_with("void ") ? function.substr(5) : function;
}

std::vector<coroutine_name> stack_of(const table &of, const void *frame) {
    std::vector<coroutine_name> stack;
    // A frame that went unseen may lead in a circle.
    for (std::size_t steps = of.coroutines.size(); frame && steps > 0; steps--) {
        auto found = of.coroutines.find(frame);
        if (found == of.coroutines.end())
            break;
        const coroutine &one = found->second;
        if (one.function)
            stack.push_back({readable(one.function), one.file, one.line});
        frame = one.awaited_by;
    }
    return stack;
}

} // namespace

namespace detail {

void note_coroutine(const void *frame, const char *function, const char *file, unsigned line) noexcept {
    change(frame, [&](coroutine &one) {
        one = {};
        one.function = function;
        one.file = file;
        one.line = line;
    });
}

void note_awaited(const void *frame, const void *by) noexcept {
    change(frame, [&](coroutine &one) { one.awaited_by = by; });
}

void note_gone(const void *frame) noexcept {
    table &of = all();
    std::lock_guard held(of.lock);
    of.coroutines.erase(frame);
}

void note_waiting(const void *frame, primitive_kind kind, const void *primitive) noexcept {
    std::uint64_t now_ns = observation_clock_ns();
    change(frame, [&](coroutine &one) {
        one.kind = kind;
        one.primitive = primitive;
        one.since_ns = now_ns;
    });
}

void note_deadline(const void *frame, std::chrono::steady_clock::time_point at) noexcept {
    change_known(frame, [&](coroutine &one) { one.deadline = at; });
}

void note_waits_no_more(const void *frame) noexcept {
    change_known(frame, [](coroutine &one) {
        one.primitive = nullptr;
        one.deadline.reset();
    });
}

} // namespace detail

namespace waits {

void watch(bool on) noexcept {
    table &of = all();
    std::lock_guard held(of.lock);
    of.coroutines.clear();
    detail::set_noting(detail::watching, on);
}

bool watching() noexcept {
    return detail::noting(detail::watching);
}

std::vector<waiting_task> read() {
    std::vector<waiting_task> found;
    {
        table &of = all();
        std::uint64_t now_ns = detail::observation_clock_ns();
        std::lock_guard held(of.lock);
        for (const auto &[frame, one] : of.coroutines) {
            if (!one.primitive)
                continue;
            std::uint64_t waits_ns = now_ns > one.since_ns ? now_ns - one.since_ns : 0;
            const void *address = one.kind == primitive_kind::sleep ? nullptr : one.primitive;
            found.push_back({one.kind, address, {}, waits_ns, left_until(one.deadline), stack_of(of, frame)});
        }
    }
    for (waiting_task &one : found)
        if (one.address)
            one.name = statistics::name_of_address(one.address);
    std::stable_sort(found.begin(), found.end(), [](const auto &a, const auto &b) { return a.waits_ns > b.waits_ns; });
    return found;
}

void print(std::FILE *to) {
    for (const waiting_task &one : read()) {
        std::string what(name_of(one.kind));
        if (one.address) {
            std::array<char, 32> address{};
            std::snprintf(address.data(), address.size(), "%p", one.address);
            what += ' ';
            what += one.name.empty() ? address.data() : one.name;
        }
        std::fprintf(to, "%s, for %.3f s", what.c_str(), static_cast<double>(one.waits_ns) / 1e9);
        if (one.left_ns)
            std::fprintf(to, ", at most %.3f s more", static_cast<double>(*one.left_ns) / 1e9);
        std::fputc('\n', to);
        for (const coroutine_name &in : one.stack)
            std::fprintf(to, "    %s (%s:%u)\n", in.function.c_str(), in.file.c_str(), in.line);
    }
}

} // namespace waits
} // namespace holdfast::coro
