// SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once

// Ends the threads that the library's constructor has made.
__attribute__((visibility("default"))) void early_threads_end(void);
