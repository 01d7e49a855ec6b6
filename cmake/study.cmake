# The study of injected faults (make study-localize). Its times are those of a release build, which
# has no tests, so it is built on request and with all tests.

set(study_scope EXCLUDE_FROM_ALL)
if(TAPML_TESTS)
  set(study_scope "")
endif()
file(GLOB study_sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/tests/study/*.cpp")
add_executable(tapml_study ${study_scope} ${study_sources})
target_include_directories(tapml_study PRIVATE "${CMAKE_SOURCE_DIR}/tests" "${CMAKE_SOURCE_DIR}/src")
target_compile_definitions(tapml_study PRIVATE TAPML_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
target_compile_options(tapml_study PRIVATE ${TAPML_WAITING_OPTIONS})
tapml_unity(tapml_study ${study_sources})
target_link_libraries(tapml_study PRIVATE tapml_app)
set_target_properties(tapml_study PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
