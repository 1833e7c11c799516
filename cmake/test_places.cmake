# SPDX-License-Identifier: MIT OR Apache-2.0
# How many tests run at a time: `./dev test` gives ctest three places for each CPU and two more. A test that says
# nothing takes one, since most tests sleep most of the time.

# hf_keeps_a_cpu_busy(test...): takes the places of one CPU.
function(hf_keeps_a_cpu_busy)
    set_tests_properties(${ARGN} PROPERTIES PROCESSORS 3)
endfunction()

# hf_runs_alone(test...): measures the machine, or looks for what shows only where threads have a CPU each.
function(hf_runs_alone)
    set_tests_properties(${ARGN} PROPERTIES RUN_SERIAL TRUE)
    set_property(TEST ${ARGN} APPEND PROPERTY LABELS alone) # by which `./dev test` builds nothing meanwhile
endfunction()
