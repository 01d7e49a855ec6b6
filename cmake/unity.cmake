# Sources of a room compiled in groups, with TAPML_UNITY: a full build takes less processor time, a change
# of one file more. Off by default, for those who edit.

set(TAPML_UNITY_SIZE 8 CACHE STRING "Sources in a group of TAPML_UNITY")
mark_as_advanced(TAPML_UNITY_SIZE)

# tapml_unity(<target> <source>...): groups the sources. Those that open a namespace share a group only
# with sources that open the same ones. Left alone are those that include heavy headers: <filesystem>
# has a std::quoted that is found before ours, and LLVM's would go into every source of the group.
function(tapml_unity target)
  if(NOT TAPML_UNITY)
    return()
  endif()
  foreach(source IN LISTS ARGN)
    file(STRINGS "${source}" heavy LIMIT_COUNT 1 REGEX "^#include (<filesystem>|[<\"](llvm|lld|CL|shaderc)/)")
    if(heavy)
      continue()
    endif()
    file(STRINGS "${source}" opened REGEX "^ *using namespace ")
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
endfunction()
