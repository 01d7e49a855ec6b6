# libtapml: the C interface of include/tapml/ for applications, without the compiler; and the files
# of `make install`. find_package(tapml), target tapml::tapml, and pkg-config find an installed
# tree. compiler_library.cmake adds the compiler.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

file(GLOB api_sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/api/*.cpp")
add_library(tapml_embed SHARED ${api_sources})
target_include_directories(
  tapml_embed
  PRIVATE "${CMAKE_SOURCE_DIR}/src"
  PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
target_link_libraries(tapml_embed PRIVATE tapml_device tapml_llm)
target_compile_definitions(tapml_embed PRIVATE TAPML_VERSION="${PROJECT_VERSION}")
# Export only the C interface.
target_link_options(tapml_embed PRIVATE -Wl,--exclude-libs,ALL)
set_target_properties(
  tapml_embed
  PROPERTIES OUTPUT_NAME tapml EXPORT_NAME tapml VERSION ${PROJECT_VERSION}
             SOVERSION ${PROJECT_VERSION_MAJOR} CXX_VISIBILITY_PRESET hidden
             LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")

# Component `library` is what applications need to build; `compiler` is what the compiler adds.
install(TARGETS tapml RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS tapml_embed EXPORT tapml LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
install(DIRECTORY "${CMAKE_SOURCE_DIR}/include/tapml" DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library)
install(FILES "${CMAKE_SOURCE_DIR}/LICENSE" "${CMAKE_SOURCE_DIR}/THIRD_PARTY.md"
        DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(EXPORT tapml NAMESPACE tapml:: FILE tapml-library.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tapml COMPONENT library)
write_basic_package_version_file(
  "${CMAKE_BINARY_DIR}/tapml-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_SOURCE_DIR}/cmake/tapml-config.cmake" "${CMAKE_BINARY_DIR}/tapml-config-version.cmake"
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tapml COMPONENT library)

# The folder is relative to the file's location, so that an installed tree may be moved.
file(RELATIVE_PATH TAPML_PREFIX_FROM_PC "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
configure_file("${CMAKE_SOURCE_DIR}/cmake/tapml.pc.in" "${CMAKE_BINARY_DIR}/tapml.pc" @ONLY)
install(FILES "${CMAKE_BINARY_DIR}/tapml.pc" DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT library)

# The WebAssembly program, if `make wasm` has built it.
install(DIRECTORY "${CMAKE_SOURCE_DIR}/build/wasm/" DESTINATION lib/tapml/wasm OPTIONAL
        FILES_MATCHING PATTERN "tapml_worker.wasm" PATTERN "*.mjs" PATTERN "*.html" PATTERN "*.css"
        PATTERN "include" EXCLUDE PATTERN "obj" EXCLUDE)
# The program for web pages, with the types of its interface.
install(DIRECTORY "${CMAKE_SOURCE_DIR}/build/wasm/" DESTINATION lib/tapml/wasm OPTIONAL
        FILES_MATCHING PATTERN "tapml_engine.wasm" PATTERN "tapml.d.ts"
        PATTERN "include" EXCLUDE PATTERN "obj" EXCLUDE)
