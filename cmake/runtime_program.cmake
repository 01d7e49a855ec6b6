# The program without the compiler: it serves the devices of a machine that has no LLVM. These are
# its sources; src/cli/runtime replaces the compiler's parts.

function(tapml_runtime_program name)
  file(GLOB own CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/cli/runtime/*.cpp")
  set(sources
      app/cache.cpp app/platforms.cpp app/remote.cpp app/wasm_worker.cpp cli/devices.cpp cli/help.cpp cli/help_text.cpp cli/main.cpp
      cli/option_table.cpp cli/options.cpp cli/output.cpp cli/rpc.cpp cli/serving.cpp cli/sizes.cpp cli/stop_signal.cpp app/standard_streams.cpp app/tokens.cpp)
  list(TRANSFORM sources PREPEND "${CMAKE_SOURCE_DIR}/src/")
  add_executable(${name} ${sources} ${own})
  tapml_unity(${name} ${sources} ${own})
  target_compile_options(${name} PRIVATE ${TAPML_WAITING_OPTIONS})
  target_include_directories(${name} PRIVATE "${CMAKE_SOURCE_DIR}/src")
  target_link_libraries(${name} PRIVATE tapml_target tapml_device tapml_rpc tapml_dep_cli11)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}")
endfunction()
