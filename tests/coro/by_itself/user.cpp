// SPDX-License-Identifier: MIT OR Apache-2.0
#include "holdfast/coro/coro.hpp"

using namespace holdfast::coro;

int main() {
    pool workers(2u);
    mutex guard;
    int entered = 0;
    auto enter = [&]() -> task<> { co_await guard.with([&] { entered++; }); };
    auto enter_all = [&]() -> task<> { co_await when_all(enter(), enter(), enter()); };
    sync_wait(workers, enter_all());
    return entered == 3 ? 0 : 1;
}
