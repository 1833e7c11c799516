# SPDX-License-Identifier: MIT OR Apache-2.0
# coro-peer-kotlin, with Debian's Kotlin or with what HF_KOTLIN_JARS has (docs/benchmarks.md). One file has the
# launcher, our classes, and the libraries: but for Java, nothing else is needed to run it.
set(HF_KOTLIN_JARS "" CACHE PATH "Folder with the jars of a Kotlin compiler and of kotlinx.coroutines; empty: Debian's")
find_program(HF_JAVA java PATHS /usr/bin NO_DEFAULT_PATH)
find_program(HF_KOTLINC kotlinc PATHS /usr/bin NO_DEFAULT_PATH)
find_program(HF_PYTHON NAMES python3 PATHS /usr/bin NO_DEFAULT_PATH)

set(sources main.kt histogram.kt primes.kt scene.kt workloads.kt)
set(built ${CMAKE_CURRENT_BINARY_DIR}/kotlin)
set(pack ${HF_PYTHON} pack ${HF_LIBEXEC_DIR}/coro-peer-kotlin launch ${built}/peer.jar)

if(HF_KOTLIN_JARS)
    file(GLOB compiler ${HF_KOTLIN_JARS}/*.jar)
    file(GLOB library ${HF_KOTLIN_JARS}/kotlin-stdlib-[0-9]*.jar)
    file(GLOB coroutines ${HF_KOTLIN_JARS}/kotlinx-coroutines-core-jvm-*.jar)
    list(LENGTH library libraries)
    list(LENGTH coroutines versions)
    if(NOT libraries EQUAL 1 OR NOT versions EQUAL 1 OR NOT compiler MATCHES "kotlin-compiler-embeddable-")
        message(FATAL_ERROR "HF_KOTLIN_JARS: there must be one kotlin-compiler-embeddable, one kotlin-stdlib and one "
            "kotlinx-coroutines-core-jvm in ${HF_KOTLIN_JARS}: docs/benchmarks.md says how to get them")
    endif()
    if(NOT HF_JAVA OR NOT HF_PYTHON)
        message(FATAL_ERROR "HF_KOTLIN_JARS: Kotlin needs /usr/bin/java and /usr/bin/python3: install a JRE and Python")
    endif()
    list(JOIN compiler ":" compiler)
    list(APPEND sources semaphore.kt)
    hf_add_coro_peer(kotlin "${sources};launch;pack"
        COMMAND ${HF_JAVA} -cp ${compiler} org.jetbrains.kotlin.cli.jvm.K2JVMCompiler -no-stdlib -no-reflect
            -cp ${library}:${coroutines} -d ${built}/peer.jar ${sources}
        COMMAND ${pack} ${library} ${coroutines})
    return()
endif()

# Debian's kotlinx.coroutines 1.0.1 has not gone through AtomicFU's transformer, but for one class: its mutex throws
# NoSuchFieldError when somebody has to wait. So it goes through it here. It has no semaphore.
set(jars /usr/share/java)
set(library ${jars}/kotlin-stdlib.jar)
set(coroutines ${jars}/kotlinx-coroutines-core.jar)
set(transformer atomicfu-transformer.jar atomicfu.jar kotlin-stdlib.jar kotlinx-coroutines-core.jar
    kotlinx-metadata-jvm.jar asm-all.jar slf4j-api.jar slf4j-nop.jar)
list(TRANSFORM transformer PREPEND ${jars}/)
foreach(jar ${transformer})
    if(NOT EXISTS ${jar})
        return()
    endif()
endforeach()
if(NOT HF_JAVA OR NOT HF_KOTLINC OR NOT HF_PYTHON)
    return()
endif()
list(JOIN transformer ":" transformer)
list(APPEND sources no_semaphore.kt)
hf_add_coro_peer(kotlin "${sources};launch;pack"
    COMMAND ${CMAKE_COMMAND} -E make_directory ${built}/library
    COMMAND ${CMAKE_COMMAND} -E chdir ${built}/library ${CMAKE_COMMAND} -E tar xf ${coroutines}
    COMMAND ${HF_JAVA} -cp ${transformer} kotlinx.atomicfu.transformer.AtomicFUTransformerKt ${built}/library
        ${built}/transformed FU
    COMMAND ${CMAKE_COMMAND} -E env JAVACMD=${HF_JAVA} JAVA_OPTS=-Xmx512M ${HF_KOTLINC} -no-stdlib -no-reflect
        -jvm-target 1.8 -cp ${library}:${built}/transformed -d ${built}/peer.jar ${sources}
    COMMAND ${pack} ${library} ${built}/transformed)
