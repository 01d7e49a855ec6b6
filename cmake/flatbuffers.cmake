# tapml_flatbuffers(<room> <schema>...): src/<room>/x.fbs becomes <build>/generated/<room>/x_generated.h,
# which sources of the room include as "<room>/x_generated.h".
function(tapml_flatbuffers room)
  set(headers "")
  foreach(schema IN LISTS ARGN)
    get_filename_component(folder "${schema}" DIRECTORY)
    get_filename_component(name "${schema}" NAME_WE)
    set(out "${CMAKE_BINARY_DIR}/generated/${room}/${folder}")
    add_custom_command(
      OUTPUT "${out}/${name}_generated.h"
      COMMAND "${TAPML_FLATC}" --cpp --cpp-std c++17 --scoped-enums -o "${out}"
              "${CMAKE_SOURCE_DIR}/src/${room}/${schema}"
      DEPENDS "${CMAKE_SOURCE_DIR}/src/${room}/${schema}"
      COMMENT "Generating ${room}/${folder}/${name}_generated.h"
      VERBATIM)
    list(APPEND headers "${out}/${name}_generated.h")
  endforeach()
  add_custom_target(tapml_${room}_messages DEPENDS ${headers})
  add_dependencies(tapml_${room} tapml_${room}_messages)
  target_include_directories(tapml_${room} SYSTEM PRIVATE "${CMAKE_BINARY_DIR}/generated")
endfunction()
