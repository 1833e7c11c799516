# SPDX-License-Identifier: MIT OR Apache-2.0
include(CMakeFindDependencyMacro)
find_dependency(Threads)
find_dependency(Boost 1.74 CONFIG COMPONENTS fiber)
include(${CMAKE_CURRENT_LIST_DIR}/holdfast-fiber-targets.cmake)
