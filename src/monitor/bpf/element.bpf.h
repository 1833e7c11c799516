// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// How the BPF programs reach an element of an array: by element(array, index) and in no other way (tools/lint).
//
// The verifier has to see a bound on the index at the very instruction that adds it to a pointer. A check in C does not
// give that: the compiler may check one copy of the index and use another, take it to the stack and back, or leave the
// check out since it knows better; and what verifiers still know of a number after that differs from one kernel to the
// next. Linux 6.1 to 6.12 forget it once the number was the key of a map, too. So the mask, the multiplication and the
// addition are one piece of assembly that no compiler looks into, and what comes out of it is a pointer: verifiers keep
// those over the stack. An index that is out of bounds is another element's.
#ifndef HF_MONITOR_BPF_ELEMENT_BPF_H
#define HF_MONITOR_BPF_ELEMENT_BPF_H

#define HF_ELEMENTS(array) (sizeof(array) / sizeof(*(array)))

// A pointer to it. `array` is an array, not a pointer, of a power of two of elements.
#define element(array, index)                                                                                          \
    ({                                                                                                                 \
        _Static_assert((HF_ELEMENTS(array) & (HF_ELEMENTS(array) - 1)) == 0, "masked: a power of two of elements");    \
        uint64_t place_ = (uint32_t)(index);                                                                           \
        asm volatile("%[place] &= %[mask]\n"                                                                           \
                     "%[place] *= %[size]\n"                                                                           \
                     "%[place] += %[base]\n"                                                                           \
                     : [place] "+&r"(place_)                                                                           \
                     : [mask] "i"(HF_ELEMENTS(array) - 1), [size] "i"(sizeof(*(array))), [base] "r"(&*(array)));       \
        (typeof(&*(array)))place_;                                                                                     \
    })

#endif
