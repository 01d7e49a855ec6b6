# libFuzzer harnesses of the readers: tests/fuzz/readers/<name>.cpp becomes fuzz_<name>. Each is a
# CTest entry with the label fuzz, which runs the committed inputs once (preset asan); `make
# fuzz-readers` searches for new ones, in a build with coverage (preset libfuzzer).

# tapml_fuzz_reader(<name> <target>...): adds a harness that is linked to the targets.
function(tapml_fuzz_reader name)
  add_executable(fuzz_${name} "${CMAKE_SOURCE_DIR}/tests/fuzz/readers/${name}.cpp")
  target_include_directories(
    fuzz_${name} PRIVATE "${CMAKE_SOURCE_DIR}/tests/fuzz/readers" "${CMAKE_SOURCE_DIR}/src")
  target_link_libraries(fuzz_${name} PRIVATE ${ARGN})
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  set_target_properties(
    fuzz_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/fuzz")
  add_test(NAME fuzz_${name}
           COMMAND fuzz_${name} -runs=0 -timeout=5 -rss_limit_mb=2048
                   "${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/${name}")
  # Readers must not leak; programs that load OpenCL and LLVM inherit what these leak at exit.
  set_tests_properties(
    fuzz_${name} PROPERTIES LABELS fuzz TIMEOUT 120 ENVIRONMENT "ASAN_OPTIONS=detect_leaks=1")
  set_property(GLOBAL APPEND PROPERTY TAPML_FUZZ_READERS fuzz_${name})
endfunction()

tapml_fuzz_reader(json tapml_io)
tapml_fuzz_reader(safetensors tapml_io)
tapml_fuzz_reader(numpy tapml_io)
tapml_fuzz_reader(executable tapml_exec)
tapml_fuzz_reader(template tapml_template)
tapml_fuzz_reader(sentencepiece tapml_llm)
tapml_fuzz_reader(tokenizer tapml_llm)
tapml_fuzz_reader(grammar tapml_llm)
tapml_fuzz_reader(requests tapml_server)
tapml_fuzz_reader(files tapml_server)
tapml_fuzz_reader(tracker tapml_tracker tapml_dep_boost)
tapml_fuzz_reader(config tapml_frontend tapml_analysis)
tapml_fuzz_reader(gguf tapml_frontend tapml_llm)
tapml_fuzz_reader(quantized tapml_frontend)
tapml_fuzz_reader(text tapml_analysis)
tapml_fuzz_reader(suite tapml_topdown)
tapml_fuzz_reader(spirv tapml_device)
tapml_fuzz_reader(image tapml_image)
tapml_fuzz_reader(audio tapml_audio)
tapml_fuzz_reader(rpc_server tapml_rpc tapml_device)
tapml_fuzz_reader(rpc_client tapml_rpc)
tapml_fuzz_reader(rpc_bytes tapml_rpc tapml_device)
foreach(name rpc_server rpc_client)
  target_include_directories(fuzz_${name} SYSTEM PRIVATE "${CMAKE_BINARY_DIR}/generated")
endforeach()

# Fuzzes programs through the parser, the checks and the passes; tests/fuzz/programs/ has the
# harness and its mutator. `make fuzz-text` builds the target.
add_executable(
  fuzz_program "${CMAKE_SOURCE_DIR}/tests/fuzz/programs/program.cpp"
               "${CMAKE_SOURCE_DIR}/tests/fuzz/programs/mutator.cpp")
target_include_directories(fuzz_program PRIVATE "${CMAKE_SOURCE_DIR}/tests/fuzz/programs")
target_link_libraries(fuzz_program PRIVATE tapml_test_support)
target_link_options(fuzz_program PRIVATE -fsanitize=fuzzer)
set_target_properties(
  fuzz_program PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/fuzz")
add_test(NAME fuzz_program
         COMMAND fuzz_program -runs=0 -timeout=20 -rss_limit_mb=2048
                 "${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/program")
set_tests_properties(
  fuzz_program PROPERTIES LABELS fuzz TIMEOUT 300 ENVIRONMENT "ASAN_OPTIONS=detect_leaks=1")
set_property(GLOBAL APPEND PROPERTY TAPML_FUZZ_READERS fuzz_program)

get_property(fuzz_readers GLOBAL PROPERTY TAPML_FUZZ_READERS)
add_custom_target(fuzz_readers DEPENDS ${fuzz_readers})
