// SPDX-License-Identifier: MIT OR Apache-2.0
#include <holdfast/mutex.hpp>
#include <mutex>

int main() {
    static holdfast::mutex mutex;
    std::lock_guard<holdfast::mutex> guard(mutex);
    return mutex.try_lock() ? 1 : 0;
}
