/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <holdfast/holdfast.h>

int main(void) {
    hf_flexguard_t lock = HF_FLEXGUARD_INIT;
    hf_flexguard_lock(&lock);
    hf_flexguard_unlock(&lock);
    return hf_flexguard_trylock(&lock) ? 0 : 1;
}
