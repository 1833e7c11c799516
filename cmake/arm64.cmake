# SPDX-License-Identifier: MIT OR Apache-2.0
# Builds for arm64 on a machine of another kind, with Debian's cross compiler: ./dev build arm64. Libraries are arm64's
# own packages, unpacked into a folder (tools/debian-root). Programs that the build's tests run are emulated.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

get_filename_component(HF_ARM64_ROOT ${CMAKE_CURRENT_LIST_DIR}/../build/arm64-root ABSOLUTE)
set(CMAKE_SYSROOT ${HF_ARM64_ROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_LIBDIR} ${HF_ARM64_ROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${HF_ARM64_ROOT}/usr/share/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${HF_ARM64_ROOT})

set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L ${HF_ARM64_ROOT})
