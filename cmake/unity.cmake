# Sources of a component, a program or a folder of tests compiled in groups, with TAPML_UNITY, as the presets have
# it: a full build reads headers less often, a change of one file costs more (cmake --preset dev
# -DTAPML_UNITY=OFF).

set(TAPML_UNITY_SIZE 8 CACHE STRING "Sources in a group of TAPML_UNITY")
mark_as_advanced(TAPML_UNITY_SIZE)

# tapml_unity(<target> <source>...): groups the sources. Those that open a namespace share a group only
# with sources that open the same ones. Left alone are those that include heavy headers, which would go
# into every source of the group, and those that replace operator new, which must not be inlined.
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
    list(FILTER opened EXCLUDE REGEX "^ *//")  # a comment behind the semicolon is an element of its own
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
  # An unnamed namespace of a source is its own, although the file that is compiled is the group's.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endfunction()
