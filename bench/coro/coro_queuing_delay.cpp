// SPDX-License-Identifier: MIT OR Apache-2.0
// As coro-mutex, with the clock read in each section: for how long nobody was inside while the next owner waited.
#include "coro/mutex_contenders.hpp"

int main(int argc, char **argv) {
    using namespace holdfast::bench;
    return coro_workload_main(argc, argv, "coro-queuing-delay", mutex_contenders());
}
