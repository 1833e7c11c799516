// SPDX-License-Identifier: MIT OR Apache-2.0

// In place of semaphore.kt, for versions of kotlinx.coroutines that have none.
val semaphoreWorkloads = emptyMap<String, (Options) -> Found>()
