# One static library for each component. The order and the edges match the table in
# docs/architecture.md; scripts/check_components checks includes against the same table.

set(TAPML_COMPONENTS "")
# What tests spend their time in, which is optimized in a build with TAPML_OPTIMIZE=0 too.
set(TAPML_ALWAYS_OPTIMIZED base tensor arith op interp)

# tapml_component(<name> [DEPS <component>...] [PRIVATE <target>...] [ALSO <glob>] [EXCEPT <glob>])
# Compiles all of src/<name>/**/*.cpp, without EXCEPT and with ALSO (below src/), into tapml_<name>,
# linked to the components in DEPS (visible to users of the component) and to the third-party
# targets in PRIVATE (not visible). A component without sources is header-only.
function(tapml_component name)
  cmake_parse_arguments(PARSE_ARGV 1 component "" "ALSO;EXCEPT" "DEPS;PRIVATE")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/${name}/*.cpp")
  if(component_ALSO)
    file(GLOB also CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/${component_ALSO}")
    list(APPEND sources ${also})
  endif()
  if(component_EXCEPT)
    file(GLOB except CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/${component_EXCEPT}")
    list(REMOVE_ITEM sources ${except})
  endif()
  list(TRANSFORM component_DEPS PREPEND tapml_)
  if(sources)
    add_library(tapml_${name} STATIC ${sources})
    target_include_directories(tapml_${name} PUBLIC "${CMAKE_SOURCE_DIR}/src")
    target_link_libraries(tapml_${name} PUBLIC ${component_DEPS} PRIVATE ${component_PRIVATE})
    if(NOT TAPML_OPTIMIZE AND name IN_LIST TAPML_ALWAYS_OPTIMIZED)
      target_compile_options(tapml_${name} PRIVATE -O1)  # no precompiled header: these have -O0
    else()
      tapml_precompile(tapml_${name} tapml_pch_library)
    endif()
    tapml_unity(tapml_${name} ${sources})
  else()
    add_library(tapml_${name} INTERFACE)
    target_include_directories(tapml_${name} INTERFACE "${CMAKE_SOURCE_DIR}/src")
    target_link_libraries(tapml_${name} INTERFACE ${component_DEPS} ${component_PRIVATE})
  endif()
  set(TAPML_COMPONENTS ${TAPML_COMPONENTS} ${name} PARENT_SCOPE)
endfunction()

# The runtime stem: no LLVM, no exceptions.
tapml_component(base PRIVATE Threads::Threads)
tapml_component(tensor DEPS base)
tapml_component(abi DEPS tensor)
tapml_component(io DEPS tensor)
tapml_component(exec DEPS io abi)
tapml_component(runtime DEPS exec PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
tapml_component(device DEPS runtime ALSO library/*/routines.cpp
           PRIVATE tapml_dep_opencl tapml_dep_vulkan Threads::Threads ${CMAKE_DL_LIBS})
target_include_directories(tapml_device PUBLIC "${CMAKE_SOURCE_DIR}/include")
tapml_component(rpc DEPS runtime PRIVATE tapml_dep_flatbuffers tapml_dep_openssl tapml_dep_zstd Threads::Threads ${CMAKE_DL_LIBS})
tapml_flatbuffers(rpc session/protocol.fbs)
tapml_component(template DEPS io PRIVATE tapml_dep_utf8proc)
tapml_component(llm DEPS runtime template PRIVATE tapml_dep_pcre2 tapml_dep_utf8proc)

# The compiler's components that every program has: target descriptions and exceptions.
tapml_component(ir DEPS abi)
tapml_component(target DEPS ir)

include(runtime_program)
if(NOT TAPML_COMPILER)
  tapml_runtime_program(tapml)
  return()
endif()

tapml_component(net DEPS base PRIVATE tapml_dep_boost tapml_dep_openssl Threads::Threads)
tapml_component(server DEPS llm net PRIVATE tapml_dep_boost Threads::Threads)
tapml_component(tracker DEPS rpc net PRIVATE tapml_dep_boost Threads::Threads)

# The compiler.
tapml_component(arith DEPS ir)
tapml_component(tir DEPS arith)
tapml_component(relax DEPS tir)
tapml_component(text DEPS relax io)
tapml_component(analysis DEPS text)
tapml_component(op DEPS analysis)
tapml_component(build DEPS op)
tapml_component(interp DEPS op)
tapml_component(schedule DEPS analysis target)
tapml_component(library DEPS build target EXCEPT library/*/routines.cpp)
tapml_component(passes DEPS build interp schedule)
tapml_component(codegen DEPS analysis target runtime PRIVATE tapml_dep_lld tapml_dep_llvm tapml_dep_shaderc)
tapml_component(pipeline DEPS passes library codegen)
tapml_component(models DEPS build)
tapml_component(frontend DEPS models text)
tapml_component(topdown DEPS pipeline frontend rpc llm)
tapml_component(fuzz DEPS pipeline rpc)
target_include_directories(tapml_fuzz PRIVATE "${CMAKE_SOURCE_DIR}/include")
include(python_adapters)
tapml_component(image DEPS io PRIVATE tapml_dep_spng tapml_dep_turbojpeg)
tapml_component(audio DEPS io PRIVATE tapml_dep_sndfile tapml_dep_samplerate)
tapml_component(app DEPS topdown device image audio)

# The program.
file(GLOB_RECURSE cli_sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/cli/*.cpp")
list(FILTER cli_sources EXCLUDE REGEX "/src/cli/runtime/")
if(cli_sources)
  add_executable(tapml ${cli_sources})
  target_include_directories(tapml PRIVATE "${CMAKE_SOURCE_DIR}/src")
  target_link_libraries(tapml PRIVATE tapml_dep_allocator tapml_app tapml_fuzz tapml_server tapml_tracker tapml_dep_cli11)
  set_target_properties(tapml PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}")
  tapml_unity(tapml ${cli_sources})
endif()
