# libtapml_compiler: the compiler as a shared library with its headers, for programs that add
# operators, passes and platforms or build modules in C++. find_package(tapml COMPONENTS compiler),
# target tapml::compiler. libtapml does not need it.

# Every component except those of the commands and of the protocol.
set(compiler_parts ${TAPML_COMPONENTS})
list(REMOVE_ITEM compiler_parts rpc net tracker template server llm topdown fuzz image audio app)

# Made of the components' objects, so that it has all of their functions; from static libraries, a
# linker takes only what is referenced.
add_library(tapml_compiler SHARED)
foreach(part IN LISTS compiler_parts)
  target_sources(tapml_compiler PRIVATE $<TARGET_OBJECTS:tapml_${part}>)
endforeach()
# For the third-party libraries of these components.
target_link_libraries(tapml_compiler PRIVATE tapml_pipeline tapml_frontend tapml_device)
target_compile_features(tapml_compiler PUBLIC cxx_std_23)
target_include_directories(
  tapml_compiler INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/tapml/compiler>
                           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
# Hides the static third-party libraries, binds the library's calls to its own functions, and fails
# if a component that it needs is missing.
target_link_options(tapml_compiler PRIVATE -Wl,--exclude-libs,ALL -Wl,-Bsymbolic-functions -Wl,-z,defs)
# C++ has no binary interface that is stable from one version to the next.
set_target_properties(
  tapml_compiler
  PROPERTIES EXPORT_NAME compiler LINKER_LANGUAGE CXX VERSION ${PROJECT_VERSION}
             SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
             LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")

install(TARGETS tapml_compiler EXPORT tapml_compiler LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT compiler)
install(EXPORT tapml_compiler NAMESPACE tapml:: FILE tapml-compiler.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tapml COMPONENT compiler)

# Its headers, without those that are private to a component or include a driver's headers.
foreach(part IN LISTS compiler_parts)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE "${CMAKE_SOURCE_DIR}/src" "${CMAKE_SOURCE_DIR}/src/${part}/*.h")
  list(FILTER headers EXCLUDE REGEX "_impl[.]h$|^device/(opencl|vulkan)/")
  foreach(header IN LISTS headers)
    file(STRINGS "${CMAKE_SOURCE_DIR}/src/${header}" private LIMIT_COUNT 1 REGEX "^//.*Private to")
    if(NOT private)
      get_filename_component(folder "${header}" DIRECTORY)
      install(FILES "${CMAKE_SOURCE_DIR}/src/${header}"
              DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tapml/compiler/${folder} COMPONENT compiler)
    endif()
  endforeach()
endforeach()
