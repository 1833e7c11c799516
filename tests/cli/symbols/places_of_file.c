// SPDX-License-Identifier: MIT OR Apache-2.0
// A library of one function, built under several names: those are all that differs.
int HF_PLACE_NAME(int number);

int HF_PLACE_NAME(int number) {
    return number * 3;
}
