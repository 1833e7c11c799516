// SPDX-License-Identifier: MIT OR Apache-2.0
// The workloads of boost_fiber.cpp that take a mutex, with holdfast::fibers::mutex under ces<> around the same
// scheduler.
#include <boost/fiber/algo/shared_work.hpp>

#include "coro/cell_main.hpp"
#include "coro/peers/fiber_mutex.hpp"
#include "coro/peers/fiber_scene.hpp"
#include "holdfast/fibers/ces.hpp"
#include "holdfast/fibers/mutex.hpp"

namespace {

using namespace holdfast::bench;

cell_result measure_mutex(const cell_options &options) {
    fiber_scene at(options, use_shared_work<holdfast::fibers::ces<boost::fibers::algo::shared_work>>);
    return measure_fiber_mutex<holdfast::fibers::mutex>(at);
}

} // namespace

int main(int argc, char **argv) {
    return coro_peer_main(argc, argv, "boost-fiber-ces",
                          {{"coro-mutex", measure_mutex}, {"coro-queuing-delay", measure_mutex}});
}
