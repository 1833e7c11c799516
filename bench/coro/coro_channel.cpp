// SPDX-License-Identifier: MIT OR Apache-2.0
// The library's channel as "ces". It has no other policies: what it is compared with is a buffer made of a mutex and
// condition variables under each.
#include "coro/cell_main.hpp"
#include "coro/conveyor.hpp"
#include "coro/prime_buffer.hpp"
#include "holdfast/coro/channel.hpp"

namespace {

using namespace holdfast;
using namespace holdfast::bench;

class prime_channel {
public:
    auto put(unsigned prime) { return primes_.send(prime); }
    auto take() { return primes_.receive(); }
    coro::task<> close() {
        primes_.close();
        co_return;
    }

private:
    coro::channel<unsigned> primes_{buffer_size};
};

cell_result measure_channel(const cell_options &options) {
    prime_channel channel;
    return measure_conveyor(options, channel);
}

template <coro::policy Policy>
cell_result measure_buffer(const cell_options &options) {
    prime_buffer<Policy> buffer;
    return measure_conveyor(options, buffer);
}

} // namespace

int main(int argc, char **argv) {
    return coro_workload_main(argc, argv, "coro-channel",
                              {{"ces", measure_channel},
                               {"dispatch", measure_buffer<coro::policy::dispatch>},
                               {"inline", measure_buffer<coro::policy::inline_>}});
}
