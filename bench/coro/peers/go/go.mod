// SPDX-License-Identifier: MIT OR Apache-2.0
module holdfast/coro-peer-go

go 1.19
