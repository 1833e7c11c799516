// SPDX-License-Identifier: MIT OR Apache-2.0
// LevelDB's readrandom by many tasks, with LevelDB's own locks replaced by locks of coroutines: what LevelDB does is
// not changed, it runs in fibers. That takes a LevelDB of our own building, another program (rebuilt.cpp). Here is what
// it is compared with: LevelDB as Debian ships it, by as many threads.
#include "coro/cell_main.hpp"
#include "coro/leveldb/random_reads.hpp"
#include "coro/thread_scene.hpp"

namespace {

using namespace holdfast::bench;

cell_result measure_threads(const cell_options &options) {
    random_reads rows;
    auto [result, reads] = run_threads(options, [&](unsigned number, const stop_sign &stop, bool) {
        random_reader own(rows, number);
        while (!stop.is_set())
            own.read();
        return own.reads();
    });
    rows.check(reads);
    return result;
}

} // namespace

int main(int argc, char **argv) {
    return coro_workload_main(argc, argv, inside_workload, {{"threads", measure_threads}}, inside_defaults(),
                              {"coro-leveldb-rebuilt",
                               {"ces", "dispatch", "inline"},
                               "'./dev bench' in Holdfast's source fetches LevelDB's and builds it"});
}
