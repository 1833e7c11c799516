// SPDX-License-Identifier: MIT OR Apache-2.0
// coro-leveldb-inside with the LevelDB whose locks are ours: each reader is a fiber.
#include "coro/cell_main.hpp"
#include "coro/leveldb/inner_locks.hpp"
#include "coro/leveldb/random_reads.hpp"
#include "coro/scene.hpp"
#include "holdfast/coro/fiber.hpp"
#include "holdfast/coro/spawn.hpp"

namespace {

using namespace holdfast;
using namespace holdfast::bench;

template <coro::policy Policy>
cell_result measure(const cell_options &options) {
    choose_inner_locks(Policy);
    random_reads rows;
    scene at(options);
    cell_result result = at.run([&](coro::pool &pool) {
        for (unsigned i = 0; i < options.tasks; i++)
            coro::spawn(pool, coro::fiber([&, i] {
                            random_reader own(rows, i);
                            for (; !at.over(); at.count())
                                own.read();
                            at.ended(own.reads());
                        }));
    });
    rows.check(at.operations());
    return result;
}

} // namespace

int main(int argc, char **argv) {
    return coro_workload_main(argc, argv, inside_workload,
                              {{"ces", measure<coro::policy::ces>},
                               {"dispatch", measure<coro::policy::dispatch>},
                               {"inline", measure<coro::policy::inline_>}},
                              inside_defaults());
}
