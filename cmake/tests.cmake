# One GoogleTest program for each folder of tests/ with *_test.cpp files. Each is one CTest entry,
# so that its cases share one process start (LLVM and OpenCL start slowly).

find_package(GTest REQUIRED)

# Most tests wait for what they call: their own code is compiled without optimization, which takes
# less time. These compute.
set(computing_tests accuracy schedule)

# PoCL, which runs OpenCL here, takes three times as long to compile a kernel with its optimizer as
# without it, which pays where kernels run long. These tests, the tutorials and the Python package's
# have it as users do; the others run small kernels once. `make test-ops` optimizes everything.
set(tests_with_optimized_opencl conformance topdown extension e2e)
set(plain_opencl POCL_WORK_GROUP_METHOD=loops POCL_EXTRA_BUILD_FLAGS=-cl-opt-disable)

if(TAPML_PCH)
  add_executable(tapml_pch_test "${CMAKE_BINARY_DIR}/pch/empty.cpp")
  target_link_libraries(tapml_pch_test PRIVATE GTest::gtest)
  target_compile_options(tapml_pch_test PRIVATE ${TAPML_WAITING_OPTIONS})
  target_precompile_headers(tapml_pch_test PRIVATE ${standard_headers} <gtest/gtest.h>)
endif()

# Test helpers.
file(GLOB_RECURSE support_sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/tests/support/*.cpp")
set(all_components ${TAPML_COMPONENTS})
list(TRANSFORM all_components PREPEND tapml_)
if(support_sources)
  add_library(tapml_test_support STATIC ${support_sources})
  target_link_libraries(tapml_test_support PUBLIC ${all_components} GTest::gtest)
  set(support_scope PUBLIC)
else()
  add_library(tapml_test_support INTERFACE)
  set(support_scope INTERFACE)
endif()
target_include_directories(
  tapml_test_support ${support_scope} "${CMAKE_SOURCE_DIR}/tests" "${CMAKE_SOURCE_DIR}/src")
target_compile_definitions(
  tapml_test_support ${support_scope} TAPML_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
  TAPML_WASM_FOLDER="${CMAKE_SOURCE_DIR}/build/wasm")

# The program for the WebAssembly device, shared by all builds of this tree.
file(GLOB_RECURSE wasm_sources CONFIGURE_DEPENDS
     "${CMAKE_SOURCE_DIR}/src/base/*" "${CMAKE_SOURCE_DIR}/src/tensor/*" "${CMAKE_SOURCE_DIR}/src/abi/*"
     "${CMAKE_SOURCE_DIR}/src/io/*" "${CMAKE_SOURCE_DIR}/src/exec/*" "${CMAKE_SOURCE_DIR}/src/runtime/*"
     "${CMAKE_SOURCE_DIR}/src/rpc/session/*" "${CMAKE_SOURCE_DIR}/src/device/null/*"
     "${CMAKE_SOURCE_DIR}/src/device/inline/*" "${CMAKE_SOURCE_DIR}/src/device/wasm/*"
     "${CMAKE_SOURCE_DIR}/src/device/webgpu/*" "${CMAKE_SOURCE_DIR}/src/worker/*"
     "${CMAKE_SOURCE_DIR}/src/template/*" "${CMAKE_SOURCE_DIR}/src/llm/*" "${CMAKE_SOURCE_DIR}/src/browser/*"
     "${CMAKE_SOURCE_DIR}/src/web/*")
list(FILTER wasm_sources EXCLUDE REGEX "/host/")
add_custom_command(
  OUTPUT "${CMAKE_SOURCE_DIR}/build/wasm/tapml_worker.wasm"
         "${CMAKE_SOURCE_DIR}/build/wasm/tapml_engine.wasm"
  COMMAND "${CMAKE_SOURCE_DIR}/scripts/build_wasm"
  DEPENDS ${wasm_sources} "${CMAKE_SOURCE_DIR}/scripts/build_wasm" "${CMAKE_SOURCE_DIR}/scripts/setup_wasm"
  COMMENT "Building build/wasm/tapml_worker.wasm"
  VERBATIM)
add_custom_target(tapml_wasm_worker DEPENDS "${CMAKE_SOURCE_DIR}/build/wasm/tapml_worker.wasm")

# tapml_test(<folder> LABEL <label> LINK <target>... [TIMEOUT <seconds>] [PROGRAM])
# PROGRAM: the tests start the tapml program, whose path is the definition TAPML_PROGRAM.
function(tapml_test folder)
  cmake_parse_arguments(PARSE_ARGV 1 test "PROGRAM" "LABEL;TIMEOUT" "LINK")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/tests/${folder}/*.cpp")
  # Harnesses of libFuzzer: fuzz_readers.cmake.
  list(FILTER sources EXCLUDE REGEX "/tests/fuzz/(readers|programs)/")
  if(NOT sources OR (test_PROGRAM AND NOT TARGET tapml))
    return()
  endif()
  if(NOT test_TIMEOUT)
    set(test_TIMEOUT 600)
  endif()
  if(TAPML_SANITIZE)
    math(EXPR test_TIMEOUT "3 * ${test_TIMEOUT}")
  endif()
  add_executable(test_${folder} ${sources})
  # tests/<folder> may contain private helpers.
  target_include_directories(test_${folder} PRIVATE "${CMAKE_SOURCE_DIR}/tests/${folder}")
  target_link_libraries(
    test_${folder} PRIVATE tapml_dep_allocator tapml_test_support ${test_LINK} GTest::gtest GTest::gtest_main)
  if(NOT (TAPML_OPTIMIZE AND folder IN_LIST computing_tests))
    target_compile_options(test_${folder} PRIVATE ${TAPML_WAITING_OPTIONS})
    tapml_precompile(test_${folder} tapml_pch_test)
  endif()
  tapml_unity(test_${folder} ${sources})
  set_target_properties(
    test_${folder} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  if(test_PROGRAM)
    target_compile_definitions(test_${folder} PRIVATE TAPML_PROGRAM="$<TARGET_FILE:tapml>")
    add_dependencies(test_${folder} tapml)
  endif()
  add_dependencies(test_${folder} tapml_wasm_worker)
  add_test(NAME ${folder} COMMAND test_${folder})
  set(environment TAPML_CACHE=${CMAKE_BINARY_DIR}/test-cache
                  GTEST_OUTPUT=json:${CMAKE_BINARY_DIR}/test-results/${folder}.json)
  if(NOT folder IN_LIST tests_with_optimized_opencl)
    list(APPEND environment ${plain_opencl})
  endif()
  set_tests_properties(
    ${folder} PROPERTIES LABELS ${test_LABEL} TIMEOUT ${test_TIMEOUT}
                         WORKING_DIRECTORY "${CMAKE_BINARY_DIR}" ENVIRONMENT "${environment}")
  set_property(GLOBAL APPEND PROPERTY TAPML_${test_LABEL}_TARGETS test_${folder})
endfunction()

# Tests of these components run what they compile.
set(components_with_devices schedule library passes codegen pipeline models frontend llm rpc server topdown fuzz)
foreach(component IN LISTS TAPML_COMPONENTS)
  set(links tapml_${component})
  if(component IN_LIST components_with_devices)
    list(APPEND links tapml_device tapml_pipeline tapml_frontend tapml_models tapml_llm)
  endif()
  if(component STREQUAL "library")
    list(APPEND links tapml_topdown)
  endif()
  tapml_test(${component} LABEL unit LINK ${links})
endforeach()
# Protocol tests send and receive messages themselves.
if(TARGET test_rpc)
  target_include_directories(test_rpc SYSTEM PRIVATE "${CMAKE_BINARY_DIR}/generated")
endif()
# A browser's WebSocket is played by Boost.Beast.
if(TARGET test_tracker)
  target_link_libraries(test_tracker PRIVATE tapml_device tapml_dep_boost)
endif()
tapml_test(api LABEL unit LINK tapml_embed ${all_components})
tapml_test(language LABEL unit LINK ${all_components})
# Whole models, and outputs of real width, against the reference.
tapml_test(accuracy LABEL ops LINK ${all_components})
# An out-of-tree platform.
tapml_test(extension LABEL unit LINK ${all_components})
tapml_test(walk LABEL ops LINK ${all_components} TIMEOUT 1200)
# Random programs on every platform of this machine (docs/fuzzing.md).
tapml_test(campaign LABEL ops LINK ${all_components} PROGRAM TIMEOUT 1200)
tapml_test(math LABEL unit LINK tapml_device tapml_codegen tapml_passes tapml_schedule)
# All devices of a machine, local and remote, in five minutes.
tapml_test(conformance LABEL unit LINK tapml_device tapml_codegen tapml_rpc TIMEOUT 300)
tapml_test(error LABEL e2e LINK ${all_components} PROGRAM TIMEOUT 600)
tapml_test(e2e LABEL e2e LINK ${all_components} PROGRAM TIMEOUT 1200)
tapml_test(cli LABEL e2e LINK ${all_components} PROGRAM TIMEOUT 600)
# Pages in a real browser.
tapml_test(web LABEL e2e LINK ${all_components} PROGRAM TIMEOUT 300)
# Tests of encrypted endpoints create certificates.
foreach(test test_rpc test_net test_server test_tracker test_e2e test_web)
  if(TARGET ${test})
    target_link_libraries(${test} PRIVATE tapml_dep_openssl)
  endif()
endforeach()

# Many concurrent sessions: a long run in make soak, ten seconds here.
add_executable(tapml_soak "${CMAKE_SOURCE_DIR}/tests/soak/soak.cpp" "${CMAKE_SOURCE_DIR}/tests/soak/client.cpp")
target_include_directories(tapml_soak PRIVATE "${CMAKE_SOURCE_DIR}/tests")
target_compile_options(tapml_soak PRIVATE ${TAPML_WAITING_OPTIONS})
target_link_libraries(tapml_soak PRIVATE tapml_rpc tapml_device)
set_target_properties(tapml_soak PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
add_test(NAME soak COMMAND tapml_soak --seconds 10 --sessions 8)
set_tests_properties(soak PROPERTIES LABELS e2e TIMEOUT 180 WORKING_DIRECTORY "${CMAKE_BINARY_DIR}")

# The program without the compiler, as built by preset "runtime".
if(TARGET test_cli)
  tapml_runtime_program(tapml_without_compiler)
  add_dependencies(test_cli tapml_without_compiler)
  target_compile_definitions(
    test_cli PRIVATE TAPML_RUNTIME_PROGRAM="$<TARGET_FILE:tapml_without_compiler>")
endif()

# The example of a routine library, and libraries with one fault each.
function(tapml_example_library name)
  add_library(${name} MODULE "${CMAKE_SOURCE_DIR}/examples/library/example.cpp")
  target_include_directories(${name} PRIVATE "${CMAKE_SOURCE_DIR}/include")
  target_compile_definitions(${name} PRIVATE ${ARGN})
  set_target_properties(${name} PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests/libraries")
  foreach(test test_library test_e2e)
    if(TARGET ${test})
      add_dependencies(${test} ${name})
    endif()
  endforeach()
endfunction()
tapml_example_library(example)
tapml_example_library(example_wrong TAPML_EXAMPLE_IS_WRONG)
tapml_example_library(example_fails TAPML_EXAMPLE_FAILS)
tapml_example_library(example_version TAPML_EXAMPLE_VERSION=999)
foreach(test test_library test_e2e)
  if(TARGET ${test})
    target_compile_definitions(${test} PRIVATE TAPML_LIBRARY_FOLDER="${CMAKE_BINARY_DIR}/tests/libraries")
  endif()
endforeach()

# Everything that `ctest -L unit` runs, and nothing else.
get_property(unit_targets GLOBAL PROPERTY TAPML_unit_TARGETS)
add_custom_target(unit_tests DEPENDS ${unit_targets})

# Checks the includes of src/, and tests the script that checks them.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
  add_test(NAME components COMMAND Python3::Interpreter "${CMAKE_SOURCE_DIR}/scripts/check_components")
  add_test(NAME components_violations
           COMMAND Python3::Interpreter "${CMAKE_SOURCE_DIR}/tests/scripts/check_components_test.py")
  add_test(NAME tutorials_runner
           COMMAND Python3::Interpreter "${CMAKE_SOURCE_DIR}/tests/scripts/run_tutorials_test.py")
  add_test(NAME fuzz_totals
           COMMAND Python3::Interpreter "${CMAKE_SOURCE_DIR}/tests/scripts/fuzz_totals_test.py")
  add_test(NAME skips
           COMMAND Python3::Interpreter "${CMAKE_SOURCE_DIR}/tests/scripts/check_skips_test.py")
  add_test(NAME baselines
           COMMAND Python3::Interpreter "${CMAKE_SOURCE_DIR}/tests/scripts/check_baselines_test.py")
  add_test(NAME nightly
           COMMAND Python3::Interpreter "${CMAKE_SOURCE_DIR}/tests/scripts/nightly_test.py")
  set_tests_properties(components components_violations tutorials_runner fuzz_totals skips baselines
                       nightly PROPERTIES LABELS unit TIMEOUT 60)
  # Patches of seeded bugs apply to the sources; the script that builds with them, on a toy.
  add_test(NAME seeded_bugs COMMAND Python3::Interpreter "${CMAKE_SOURCE_DIR}/scripts/seeded_bugs" validate)
  add_test(NAME seeded_bugs_script
           COMMAND Python3::Interpreter "${CMAKE_SOURCE_DIR}/tests/scripts/seeded_bugs_test.py")
  set_tests_properties(seeded_bugs seeded_bugs_script PROPERTIES LABELS unit TIMEOUT 120)

  add_test(NAME random_model
           COMMAND Python3::Interpreter "${CMAKE_SOURCE_DIR}/tests/scripts/random_model_test.py"
                   "$<TARGET_FILE:tapml>")
  set_tests_properties(random_model PROPERTIES LABELS e2e TIMEOUT 120)

  # Checks that the commands in docs/bring-up.md and docs/tutorials print what the pages show.
  add_test(NAME tutorials
           COMMAND Python3::Interpreter "${CMAKE_SOURCE_DIR}/scripts/run_tutorials"
                   --program "$<TARGET_FILE:tapml>")
  set_tests_properties(tutorials PROPERTIES LABELS e2e TIMEOUT 600)
  # Checks that docs/images/pipeline.svg has this compiler's numbers.
  add_test(NAME pipeline_picture
           COMMAND Python3::Interpreter "${CMAKE_SOURCE_DIR}/scripts/draw_pipeline" --check
                   "$<TARGET_FILE:tapml>")
  set_tests_properties(pipeline_picture PROPERTIES LABELS e2e TIMEOUT 300)
endif()

# What `make demo` shows, with a shorter text.
if(TARGET tapml)
  add_test(NAME demo COMMAND "${CMAKE_SOURCE_DIR}/scripts/demo")
  set_tests_properties(
    demo PROPERTIES LABELS e2e TIMEOUT 300
                    ENVIRONMENT "TAPML=$<TARGET_FILE:tapml>;DEMO_OUT=${CMAKE_BINARY_DIR}/demo;DEMO_TOKENS=8")
endif()

# Installs this build and builds the embedding examples against it.
add_test(NAME install_example
         COMMAND "${CMAKE_SOURCE_DIR}/tests/scripts/install_example_test.sh" "${CMAKE_BINARY_DIR}"
                 "${CMAKE_SOURCE_DIR}")
set_tests_properties(install_example PROPERTIES LABELS e2e TIMEOUT 300)

# The Python package, with the module from this build.
if(TARGET tapml_python)
  add_executable(toy_packages "${CMAKE_SOURCE_DIR}/tests/python/toy_packages.cpp")
  target_link_libraries(toy_packages PRIVATE tapml_test_support ${all_components})
  set_target_properties(toy_packages PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  add_test(NAME python
           COMMAND "${python_program}" -m pytest -q -p no:cacheprovider
                 "--junitxml=${CMAKE_BINARY_DIR}/test-results/python.xml" "${CMAKE_SOURCE_DIR}/tests/python")
  set_tests_properties(
    python
    PROPERTIES LABELS e2e TIMEOUT 600
               ENVIRONMENT "PYTHONPATH=${CMAKE_BINARY_DIR}/python;PYTHONDONTWRITEBYTECODE=1;TAPML_PROGRAM=$<TARGET_FILE:tapml>;TAPML_TOY_PACKAGES=$<TARGET_FILE:toy_packages>;TAPML_CACHE=${CMAKE_BINARY_DIR}/test-cache")
endif()

# Starts the longest tests first, so that no core idles at the end: approximate seconds.
foreach(test_and_cost e2e:400 tutorials:250 topdown:230 accuracy:220 walk:190 python:190 models:180 campaign:100 cli:110
                      codegen:100 rpc:95 llm:70 schedule:65 pipeline:60 error:40 language:35 app:35)
  string(REPLACE ":" ";" test_and_cost "${test_and_cost}")
  list(GET test_and_cost 0 test)
  list(GET test_and_cost 1 cost)
  if(TEST ${test})
    set_tests_properties(${test} PROPERTIES COST ${cost})
  endif()
endforeach()
