# find_package(tapml): tapml::tapml, the C interface of libtapml. With COMPONENTS compiler also
# tapml::compiler, if the compiler is installed.
include("${CMAKE_CURRENT_LIST_DIR}/tapml-library.cmake")

if("compiler" IN_LIST tapml_FIND_COMPONENTS)
  include("${CMAKE_CURRENT_LIST_DIR}/tapml-compiler.cmake" OPTIONAL RESULT_VARIABLE tapml_compiler_FOUND)
endif()
foreach(tapml_component IN LISTS tapml_FIND_COMPONENTS)
  if(tapml_FIND_REQUIRED_${tapml_component} AND NOT tapml_${tapml_component}_FOUND)
    set(tapml_FOUND FALSE)
    set(tapml_NOT_FOUND_MESSAGE
        "tapml is installed without the component ${tapml_component} (${CMAKE_CURRENT_LIST_DIR})")
  endif()
endforeach()
unset(tapml_component)
