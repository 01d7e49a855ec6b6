# Compiles the sources of a component, a program or a folder of tests in groups, with TAPML_UNITY,
# which the presets set: full builds read headers less often, but a change of one file costs more
# (cmake --preset dev -DTAPML_UNITY=OFF).

set(TAPML_UNITY_SIZE 32 CACHE STRING "Sources in a group of TAPML_UNITY")
mark_as_advanced(TAPML_UNITY_SIZE)

# tapml_unity(<target> <source>...): groups the sources. Sources that open a namespace only share a
# group with sources that open the same ones. Excludes sources with heavy headers, which would be
# included in the whole group, and sources that replace operator new, which must not be inlined.
function(tapml_unity target)
  if(NOT TAPML_UNITY)
    return()
  endif()
  foreach(source IN LISTS ARGN)
    file(STRINGS "${source}" heavy LIMIT_COUNT 1 REGEX "^#include [<\"](llvm|lld|CL|shaderc)/|^void[*] operator new")
    if(heavy)
      continue()
    endif()
    file(STRINGS "${source}" opened REGEX "^ *using namespace ")
    list(FILTER opened EXCLUDE REGEX "^ *//")  # a comment after the semicolon is a separate list
                                               # element
    list(SORT opened)
    list(REMOVE_DUPLICATES opened)
    string(MD5 key "${opened}")
    if(NOT DEFINED count_${key})
      set(count_${key} 0)
    endif()
    math(EXPR group "${count_${key}} / ${TAPML_UNITY_SIZE}")
    math(EXPR count_${key} "${count_${key}} + 1")
    set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "${key}_${group}")
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # GCC warns about a source's unnamed namespace because the compiled file is the group's.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endfunction()
