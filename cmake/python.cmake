# The Python package: compiles python/src to the extension module <build>/python/tapml/_tapml.so
# next to the package's own files, so that PYTHONPATH=<build>/python runs it from the build. See
# docs/python.md.

set(TAPML_PYTHON "" CACHE FILEPATH "Python that the package is built for; empty: the system's python3")
mark_as_advanced(TAPML_PYTHON)
if(NOT TAPML_PYTHON)
  # The tests need packages of the system's Python, so do not use another one that is first in PATH.
  find_program(TAPML_SYSTEM_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
  mark_as_advanced(TAPML_SYSTEM_PYTHON)
  set(python_program "${TAPML_SYSTEM_PYTHON}")
else()
  set(python_program "${TAPML_PYTHON}")
endif()
find_path(TAPML_PYBIND11_INCLUDE pybind11/pybind11.h)
mark_as_advanced(TAPML_PYBIND11_INCLUDE)
tapml_require("${TAPML_PYBIND11_INCLUDE}" pybind11-dev "pybind11/pybind11.h")
tapml_require("${python_program}" python3 "python3")
execute_process(
  COMMAND "${python_program}" -c
          "import sysconfig as s; print(s.get_paths()['include'], s.get_config_var('EXT_SUFFIX'), sep=';')"
  OUTPUT_VARIABLE python_facts OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
list(GET python_facts 0 python_include)
list(GET python_facts 1 python_suffix)
if(NOT EXISTS "${python_include}/Python.h")
  message(FATAL_ERROR "Python.h was not found in ${python_include}; install the Debian package python3-dev, or run scripts/setup")
endif()

file(GLOB python_sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/python/src/*.cpp")
add_library(tapml_python MODULE ${python_sources})
target_include_directories(tapml_python PRIVATE "${CMAKE_SOURCE_DIR}/python/src")
target_include_directories(
  tapml_python SYSTEM PRIVATE "${TAPML_PYBIND11_INCLUDE}" "${python_include}")
target_link_libraries(tapml_python PRIVATE tapml_app)
target_compile_options(tapml_python PRIVATE ${TAPML_WAITING_OPTIONS})
tapml_unity(tapml_python ${python_sources})
target_compile_definitions(tapml_python PRIVATE TAPML_VERSION="${PROJECT_VERSION}")
if(TAPML_PCH)
  target_precompile_headers(
    tapml_python PRIVATE ${standard_headers} <pybind11/pybind11.h> <pybind11/stl.h>)
endif()
# Export only the module's entry: other extensions bring their own libraries.
target_link_options(tapml_python PRIVATE -Wl,--exclude-libs,ALL)
set_target_properties(
  tapml_python
  PROPERTIES PREFIX "" OUTPUT_NAME _tapml SUFFIX "${python_suffix}" CXX_VISIBILITY_PRESET hidden
             LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/python/tapml")
if(NOT TAPML_TESTS)
  set_target_properties(tapml_python PROPERTIES EXCLUDE_FROM_ALL ON)  # built by make wheel
endif()

# Copy the Python files next to the module.
file(GLOB python_files CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/python/tapml/*.py"
     "${CMAKE_SOURCE_DIR}/python/tapml/*.pyi" "${CMAKE_SOURCE_DIR}/python/tapml/py.typed")
foreach(file IN LISTS python_files)
  get_filename_component(name "${file}" NAME)
  add_custom_command(
    OUTPUT "${CMAKE_BINARY_DIR}/python/tapml/${name}"
    COMMAND "${CMAKE_COMMAND}" -E copy "${file}" "${CMAKE_BINARY_DIR}/python/tapml/${name}"
    DEPENDS "${file}" VERBATIM)
  list(APPEND staged_files "${CMAKE_BINARY_DIR}/python/tapml/${name}")
endforeach()
add_custom_target(tapml_python_files DEPENDS ${staged_files})
add_dependencies(tapml_python tapml_python_files)
