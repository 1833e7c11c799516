# SPDX-License-Identifier: MIT OR Apache-2.0
# What is built. Without any option: the command, the libraries, and nothing else, from what every distribution has.
# Each option brings dependencies of its own (packaging/packages.txt), and what lacks one of them is left out with one
# line. The presets for developers (CMakePresets.json) turn all of them on.
include(CMakeDependentOption)
option(HF_TESTS "Build the tests" OFF)
cmake_dependent_option(HF_FUZZ "Build the fuzzers, with clang's libFuzzer" ON "HF_TESTS" OFF)
option(HF_BENCH "Build the workloads of 'holdfast bench' and programs for 'holdfast compare'" OFF)
cmake_dependent_option(HF_PEERS "Other libraries' locks, to compare with" ON "HF_BENCH" OFF)
cmake_dependent_option(HF_DATABASES "Programs that use LevelDB, RocksDB and Kyoto Cabinet" ON "HF_BENCH" OFF)
option(HF_FIBER "The locks for Boost.Fiber: headers" ON)
option(HF_COMPLETE "What an option asks for and can't be built is an error, and not left out" OFF)
option(HF_CHECKS "Compile the invariants' assertions in" OFF)
set(HF_SANITIZER "" CACHE STRING "Sanitizer to build with: address or thread")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Release, RelWithDebInfo or Debug" FORCE)
endif()

# hf_leave_out(what needs): says that it is not built, and what for.
function(hf_leave_out what needs)
    if(HF_COMPLETE)
        message(SEND_ERROR "${what} can't be built: ${needs} is missing")
    else()
        message(NOTICE "left out: ${what}: ${needs} is missing")
    endif()
endfunction()

# hf_return_without(what needs VARIABLE...): leaves this file unless all of them have a value.
macro(hf_return_without what needs)
    foreach(variable ${ARGN})
        if(NOT ${variable})
            hf_leave_out("${what}" "${needs}")
            return()
        endif()
    endforeach()
endmacro()
