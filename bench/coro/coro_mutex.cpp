// SPDX-License-Identifier: MIT OR Apache-2.0
// Primes counted in a map under one mutex (CES paper, Figure 8); unlocked: how fast it were if that cost nothing.
#include "coro/mutex_contenders.hpp"

int main(int argc, char **argv) {
    using namespace holdfast::bench;
    std::vector<contender> contenders = mutex_contenders();
    contenders.push_back(unlocked_contender());
    return coro_workload_main(argc, argv, "coro-mutex", contenders);
}
