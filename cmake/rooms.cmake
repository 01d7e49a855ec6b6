# One static library for each room. The order and the edges are those of the table in
# docs/architecture.md; scripts/check_rooms holds the includes to the same table.

set(TAPML_ROOMS "")

# tapml_room(<name> [DEPS <room>...] [PRIVATE <target>...] [ALSO <glob>] [EXCEPT <glob>])
# All of src/<name>/**/*.cpp, without EXCEPT and with ALSO (below src/), becomes tapml_<name>, linked to
# the rooms in DEPS (seen by users of the room too) and to the third-party targets in PRIVATE (not
# seen). A room without sources is only headers.
function(tapml_room name)
  cmake_parse_arguments(PARSE_ARGV 1 room "" "ALSO;EXCEPT" "DEPS;PRIVATE")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/${name}/*.cpp")
  if(room_ALSO)
    file(GLOB also CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/${room_ALSO}")
    list(APPEND sources ${also})
  endif()
  if(room_EXCEPT)
    file(GLOB except CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/${room_EXCEPT}")
    list(REMOVE_ITEM sources ${except})
  endif()
  list(TRANSFORM room_DEPS PREPEND tapml_)
  if(sources)
    add_library(tapml_${name} STATIC ${sources})
    target_include_directories(tapml_${name} PUBLIC "${CMAKE_SOURCE_DIR}/src")
    target_link_libraries(tapml_${name} PUBLIC ${room_DEPS} PRIVATE ${room_PRIVATE})
    tapml_precompile(tapml_${name} tapml_pch_library)
    tapml_unity(tapml_${name} ${sources})
  else()
    add_library(tapml_${name} INTERFACE)
    target_include_directories(tapml_${name} INTERFACE "${CMAKE_SOURCE_DIR}/src")
    target_link_libraries(tapml_${name} INTERFACE ${room_DEPS} ${room_PRIVATE})
  endif()
  set(TAPML_ROOMS ${TAPML_ROOMS} ${name} PARENT_SCOPE)
endfunction()

# The runtime stem: no LLVM, no exceptions.
tapml_room(base PRIVATE Threads::Threads)
tapml_room(tensor DEPS base)
tapml_room(abi DEPS tensor)
tapml_room(io DEPS tensor)
tapml_room(exec DEPS io abi)
tapml_room(runtime DEPS exec PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
tapml_room(device DEPS runtime ALSO library/*/routines.cpp
           PRIVATE tapml_dep_opencl tapml_dep_vulkan Threads::Threads ${CMAKE_DL_LIBS})
target_include_directories(tapml_device PUBLIC "${CMAKE_SOURCE_DIR}/include")
tapml_room(rpc DEPS runtime PRIVATE tapml_dep_flatbuffers tapml_dep_openssl tapml_dep_zstd Threads::Threads ${CMAKE_DL_LIBS})
tapml_flatbuffers(rpc session/protocol.fbs)
tapml_room(llm DEPS runtime PRIVATE tapml_dep_pcre2 tapml_dep_utf8proc)

# What of the compiler's rooms every program has: the forms of targets, and the exceptions.
tapml_room(ir DEPS abi)
tapml_room(target DEPS ir)

include(runtime_program)
if(NOT TAPML_COMPILER)
  tapml_runtime_program(tapml)
  return()
endif()

# The compiler.
tapml_room(arith DEPS ir)
tapml_room(tir DEPS arith)
tapml_room(relax DEPS tir)
tapml_room(text DEPS relax io)
tapml_room(analysis DEPS text)
tapml_room(op DEPS analysis)
tapml_room(build DEPS op)
tapml_room(interp DEPS op)
tapml_room(schedule DEPS analysis target)
tapml_room(library DEPS build target EXCEPT library/*/routines.cpp)
tapml_room(passes DEPS build interp schedule)
tapml_room(codegen DEPS analysis target runtime PRIVATE tapml_dep_lld tapml_dep_llvm tapml_dep_shaderc)
tapml_room(pipeline DEPS passes library codegen)
tapml_room(models DEPS build)
tapml_room(frontend DEPS models text)
tapml_room(topdown DEPS pipeline frontend rpc llm)
tapml_room(app DEPS topdown device)

# The program.
file(GLOB_RECURSE cli_sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/cli/*.cpp")
list(FILTER cli_sources EXCLUDE REGEX "/src/cli/runtime/")
if(cli_sources)
  add_executable(tapml ${cli_sources})
  target_include_directories(tapml PRIVATE "${CMAKE_SOURCE_DIR}/src")
  target_link_libraries(tapml PRIVATE tapml_app tapml_dep_cli11)
  set_target_properties(tapml PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}")
  tapml_unity(tapml ${cli_sources})
endif()
