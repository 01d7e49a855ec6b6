# Language level, compiler flags, compiler cache and linker. GCC 12 is the default compiler; Clang 19
# works too (cmake -DCMAKE_CXX_COMPILER=clang++-19).

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Debug CACHE STRING "Debug or Release" FORCE)
endif()

set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# Debug keeps assertions and line tables. TAPML_OPTIMIZE is 1, since numeric tests at -O0 lose more
# time than -O1 costs in compilation, and 0 under the address sanitizer, whose code takes long to
# optimize.
set(CMAKE_CXX_FLAGS_DEBUG "-O${TAPML_OPTIMIZE} -g1")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
# For code that waits for what it calls: optimizing it costs more time than it saves.
set(TAPML_WAITING_OPTIONS $<$<CONFIG:Debug>:-O0>)

# Floating-point contraction would make results depend on the compiler.
add_compile_options(
  -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers
  -Werror=return-type -Werror=uninitialized -ffp-contract=off)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Its collector of garbage, which starts at 128 MiB, takes a quarter of the time to compile a group
  # of sources; without it GCC needs up to 1.2 GiB instead of 1.0.
  add_compile_options("SHELL:--param ggc-min-heapsize=1000000")
  # GCC 12 reports these inside the standard library's own inlined code.
  add_compile_options(-Wno-stringop-overflow -Wno-array-bounds -Wno-restrict -Wno-maybe-uninitialized)
  add_compile_options($<$<CONFIG:Release>:-Wno-free-nonheap-object>)
endif()
if(TAPML_WERROR)
  add_compile_options(-Werror)
endif()
add_compile_options($<$<CXX_COMPILER_ID:GNU>:-fdiagnostics-color=auto>)

if(TAPML_ARCH)
  add_compile_options(-march=${TAPML_ARCH})
endif()

# Sanitizers for the whole tree, for example address,undefined. A finding aborts the program, so
# that the test fails. TAPML_NO_SANITIZE are the checks to leave out: vptr and function need type
# information that LLVM's libraries and compiled kernels lack. Those of null pointers and alignment,
# at each access to a member, are a fifth of the time to compile; the preset libfuzzer has them.
if(TAPML_SANITIZE)
  add_compile_options(
    -fsanitize=${TAPML_SANITIZE} -fno-sanitize=${TAPML_NO_SANITIZE} -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
  add_compile_definitions(_GLIBCXX_ASSERTIONS)
  add_link_options(-fsanitize=${TAPML_SANITIZE})
endif()

if(TAPML_CCACHE)
  find_program(TAPML_CCACHE_PROGRAM ccache)
  mark_as_advanced(TAPML_CCACHE_PROGRAM)
  if(TAPML_CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_CXX_COMPILER_LAUNCHER "${TAPML_CCACHE_PROGRAM}")
    if(TAPML_PCH)
      # Without this, Clang writes the time into precompiled headers.
      add_compile_options("$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
      # ccache trusts precompiled headers only if told that macros defined before them do not
      # matter.
      set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env
          CCACHE_SLOPPINESS=pch_defines,time_macros "${TAPML_CCACHE_PROGRAM}")
    endif()
  endif()
endif()

# mold and lld link LLVM-sized programs several times faster than GNU ld. A cross compiler only uses
# linkers of its own target.
find_program(TAPML_MOLD mold)
find_program(TAPML_LLD NAMES ld.lld-19 ld.lld)
mark_as_advanced(TAPML_MOLD TAPML_LLD)
if(CMAKE_CROSSCOMPILING)
elseif(TAPML_MOLD)
  add_link_options(-fuse-ld=mold)
elseif(TAPML_LLD AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_link_options(--ld-path=${TAPML_LLD})
elseif(TAPML_LLD)
  get_filename_component(lld_name "${TAPML_LLD}" NAME)
  if(lld_name STREQUAL "ld.lld")
    add_link_options(-fuse-ld=lld)
  endif()
endif()
# Removes unused functions from programs, which makes test programs smaller.
add_compile_options(-ffunction-sections -fdata-sections)
add_link_options(-Wl,--gc-sections)
