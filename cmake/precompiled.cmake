# Precompiled headers, one set for each kind of target: components, components that are not optimized,
# programs, and tests, with GoogleTest. Off by default, so that everyday builds detect missing
# includes; the presets, which build everything, turn them on.

set(standard_headers
    <algorithm> <array> <cmath> <cstdint> <expected> <functional> <map> <memory> <optional> <set> <span>
    <sstream> <string> <string_view> <unordered_map> <utility> <variant> <vector>)

# tapml_precompile(<target> <owner>): <target> uses the headers that <owner>, an otherwise empty
# target with the same flags, compiles once.
function(tapml_precompile target owner)
  if(TAPML_PCH)
    target_precompile_headers(${target} REUSE_FROM ${owner})
  endif()
endfunction()

if(TAPML_PCH)
  file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/pch/empty.cpp" CONTENT "int main() { return 0; }\n")
  # Libraries are position-independent code, programs are position-independent executables: the
  # compiler only accepts headers that were precompiled the same way.
  add_library(tapml_pch_library STATIC "${CMAKE_BINARY_DIR}/pch/empty.cpp")
  target_precompile_headers(tapml_pch_library PRIVATE ${standard_headers})
  add_library(tapml_pch_waiting STATIC "${CMAKE_BINARY_DIR}/pch/empty.cpp")
  target_compile_options(tapml_pch_waiting PRIVATE ${TAPML_WAITING_OPTIONS})
  target_precompile_headers(tapml_pch_waiting PRIVATE ${standard_headers})
  add_executable(tapml_pch_program EXCLUDE_FROM_ALL "${CMAKE_BINARY_DIR}/pch/empty.cpp")
  target_precompile_headers(tapml_pch_program PRIVATE ${standard_headers})
endif()
