// The compilers that `tapml fuzz external` knows. An adapter is one Python file in adapters/, which
// is compiled into the program.
#pragma once

#include <string_view>
#include <vector>

namespace tapml::fuzz {

struct Adapter {
  std::string_view name;     // "onnxruntime"
  std::string_view install;  // "pip install onnxruntime onnx", after `python3 -m`
  std::string_view program;  // text of adapters/NAME.py
};

const std::vector<Adapter>& adapters();
// The adapter of a name; null if there is none.
const Adapter* find_adapter(std::string_view name);
// What all adapters share: the texts of adapters/worker.py and adapters/source.py.
std::string_view adapter_worker();
std::string_view adapter_source();

}  // namespace tapml::fuzz
