# SPDX-License-Identifier: MIT OR Apache-2.0
# What a program that links the library is compiled with: headers, and for each build system a way to find it:
#   pkg-config --cflags --libs holdfast
#   find_package(holdfast), then Holdfast::shared or Holdfast::static
include(CMakePackageConfigHelpers)
install(TARGETS holdfast_shared holdfast_static EXPORT holdfast)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/holdfast TYPE INCLUDE)

set(package_directory ${CMAKE_INSTALL_LIBDIR}/cmake/holdfast)
install(EXPORT holdfast NAMESPACE Holdfast:: FILE holdfast-config.cmake DESTINATION ${package_directory})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/holdfast-config-version.cmake
    COMPATIBILITY SameMinorVersion) # until 1.0
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/holdfast-config-version.cmake DESTINATION ${package_directory})

# Its prefix is known when it is installed, not before.
install(CODE "
    set(PREFIX \"\${CMAKE_INSTALL_PREFIX}\")
    set(LIBDIR \"${CMAKE_INSTALL_LIBDIR}\")
    set(INCLUDEDIR \"${CMAKE_INSTALL_INCLUDEDIR}\")
    set(PROJECT_VERSION \"${PROJECT_VERSION}\")
    set(PROJECT_DESCRIPTION \"${PROJECT_DESCRIPTION}\")
    configure_file(\"${PROJECT_SOURCE_DIR}/cmake/holdfast.pc.in\" \"${CMAKE_CURRENT_BINARY_DIR}/holdfast.pc\" @ONLY)")
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/holdfast.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
