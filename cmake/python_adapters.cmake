# tapml_python_adapters(): compiles the Python files of src/fuzz/external/adapters/ into tapml_fuzz,
# as the texts of fuzz/external/adapters.h.
set(adapter_folder "${CMAKE_SOURCE_DIR}/src/fuzz/external/adapters")
set(adapter_files worker source onnx_graph iree onnxruntime tvm)

set(adapter_texts "")
foreach(name IN LISTS adapter_files)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${adapter_folder}/${name}.py")
  file(READ "${adapter_folder}/${name}.py" text)
  string(APPEND adapter_texts "constexpr std::string_view k_${name} = R\"python(${text})python\";\n")
endforeach()

file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/generated/fuzz/external/adapters.cpp" @ONLY CONTENT
[[// Made by cmake/python_adapters.cmake.
#include "fuzz/external/adapters.h"

namespace tapml::fuzz {

namespace {
@adapter_texts@
}

const std::vector<Adapter>& adapters() {
  static const std::vector<Adapter> kAdapters = {
      {"iree", "pip install iree-base-compiler iree-base-runtime onnx", k_iree},
      {"onnxruntime", "pip install onnxruntime onnx", k_onnxruntime},
      {"tvm", "pip install apache-tvm", k_tvm}};
  return kAdapters;
}

const Adapter* find_adapter(std::string_view name) {
  for (const Adapter& adapter : adapters()) {
    if (adapter.name == name) return &adapter;
  }
  return nullptr;
}

const std::vector<AdapterFile>& adapter_files() {
  static const std::vector<AdapterFile> kFiles = {
      {"worker.py", k_worker}, {"source.py", k_source}, {"onnx_graph.py", k_onnx_graph}};
  return kFiles;
}

}
]])
target_sources(tapml_fuzz PRIVATE "${CMAKE_BINARY_DIR}/generated/fuzz/external/adapters.cpp")
