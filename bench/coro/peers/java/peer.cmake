# SPDX-License-Identifier: MIT OR Apache-2.0
# coro-peer-java and coro-peer-java-ces, one program: our lock for Java (java/), the cells of its own benchmark, and
# what makes records of them, with the JDK that java/with-jdk finds.
execute_process(COMMAND ${PROJECT_SOURCE_DIR}/java/with-jdk sh -c "echo $JAVA_HOME"
    OUTPUT_VARIABLE HF_JDK OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE status)
find_program(HF_PYTHON NAMES python3 PATHS /usr/bin NO_DEFAULT_PATH)
if(NOT status EQUAL 0 OR NOT HF_PYTHON)
    return()
endif()
set(built ${CMAKE_CURRENT_BINARY_DIR}/java)
configure_file(java/launch.in ${built}/launch @ONLY)
file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/java/src/main/java/io/holdfast/[A-Z]*.java)
list(APPEND sources ${PROJECT_SOURCE_DIR}/java/src/test/java/io/holdfast/bench/Cell.java
    ${CMAKE_CURRENT_SOURCE_DIR}/java/Peer.java)
set(programs ${HF_LIBEXEC_DIR}/coro-peer-java ${HF_LIBEXEC_DIR}/coro-peer-java-ces)
list(GET programs 0 first)
list(GET programs 1 second)
add_custom_command(
    OUTPUT ${programs}
    COMMAND ${HF_JDK}/bin/javac -d ${built}/classes ${sources}
    COMMAND ${HF_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/kotlin/pack ${first} ${built}/launch ${built}/classes
    COMMAND ${CMAKE_COMMAND} -E copy ${first} ${second}
    DEPENDS ${sources} ${CMAKE_CURRENT_SOURCE_DIR}/kotlin/pack ${built}/launch
    COMMENT "Building coro-peer-java"
    VERBATIM)
add_custom_target(coro_peer_java ALL DEPENDS ${programs})
install(PROGRAMS ${programs} DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/holdfast)
