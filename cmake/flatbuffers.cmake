# tapml_flatbuffers(<component> <schema>...): compiles src/<component>/x.fbs to
# <build>/generated/<component>/x_generated.h, which the component's sources include as
# "<component>/x_generated.h".
function(tapml_flatbuffers component)
  set(headers "")
  foreach(schema IN LISTS ARGN)
    get_filename_component(folder "${schema}" DIRECTORY)
    get_filename_component(name "${schema}" NAME_WE)
    set(out "${CMAKE_BINARY_DIR}/generated/${component}/${folder}")
    add_custom_command(
      OUTPUT "${out}/${name}_generated.h"
      COMMAND "${TAPML_FLATC}" --cpp --cpp-std c++17 --scoped-enums -o "${out}"
              "${CMAKE_SOURCE_DIR}/src/${component}/${schema}"
      DEPENDS "${CMAKE_SOURCE_DIR}/src/${component}/${schema}"
      COMMENT "Generating ${component}/${folder}/${name}_generated.h"
      VERBATIM)
    list(APPEND headers "${out}/${name}_generated.h")
  endforeach()
  add_custom_target(tapml_${component}_messages DEPENDS ${headers})
  add_dependencies(tapml_${component} tapml_${component}_messages)
  target_include_directories(tapml_${component} SYSTEM PRIVATE "${CMAKE_BINARY_DIR}/generated")
endfunction()
