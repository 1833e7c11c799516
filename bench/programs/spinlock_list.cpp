// SPDX-License-Identifier: MIT OR Apache-2.0
#include "programs/spinlock_list.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <iterator>
#include <new>
#include <stdexcept>

#include "holdfast/mcs.h"
#include "holdfast/ticket.h"

#include "peers/peer.hpp"

extern "C" {
extern const hf_peer hf_peer_array, hf_peer_clh, hf_peer_cna, hf_peer_malthusian_spin, hf_peer_partitioned_ticket,
    hf_peer_pthread_spin, hf_peer_shuffle_spin;
}

namespace holdfast::bench {
namespace {

template <class Lock, void (*take)(Lock *), void (*give)(Lock *)>
class of_functions {
public:
    void lock() { take(&lock_); }
    void unlock() { give(&lock_); }

private:
    Lock lock_;
};

// As programs have it: Holdfast's calls a function in its loop.
class test_and_test_and_set {
public:
    void lock() {
        while (word_.exchange(1, std::memory_order_acquire)) {
            while (word_.load(std::memory_order_relaxed))
                ;
        }
    }
    void unlock() { word_.store(0, std::memory_order_release); }

private:
    std::atomic<unsigned> word_;
};

struct named_spinlock {
    std::string name;
    hf_peer kind;
};

const std::vector<named_spinlock> &spinlocks() {
    static const std::vector<named_spinlock> all{
        {"array", hf_peer_array},
        {"clh", hf_peer_clh},
        {"cna", hf_peer_cna},
        {"malthusian", hf_peer_malthusian_spin},
        {"mcs", peer_of<of_functions<hf_mcs_t, hf_mcs_lock, hf_mcs_unlock>>()},
        {"partitioned-ticket", hf_peer_partitioned_ticket},
        {"pthread-spin", hf_peer_pthread_spin},
        {"shuffle", hf_peer_shuffle_spin},
        {"ticket", peer_of<of_functions<hf_ticket_t, hf_ticket_lock, hf_ticket_unlock>>()},
        {"ttas", peer_of<test_and_test_and_set>()}};
    return all;
}

constexpr std::align_val_t line{64};

const hf_peer &kind_called(const std::string &name) {
    auto found = std::ranges::find(spinlocks(), name, &named_spinlock::name);
    if (found == spinlocks().end())
        throw std::out_of_range("there is no spinlock '" + name + "'");
    return found->kind;
}

} // namespace

std::vector<std::string> spinlock_names() {
    std::vector<std::string> names;
    std::ranges::transform(spinlocks(), std::back_inserter(names), &named_spinlock::name);
    return names;
}

spinlock::spinlock(const std::string &name)
    : kind_(&kind_called(name)), memory_(std::memset(operator new(kind_->bytes, line), 0, kind_->bytes)) {}

void spinlock::free_memory::operator()(void *memory) const noexcept {
    operator delete(memory, line);
}

} // namespace holdfast::bench
