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

// A file of adapters/ that the adapters import.
struct AdapterFile {
  std::string_view name;  // "source.py"
  std::string_view text;
};

const std::vector<AdapterFile>& adapter_files();

}  // namespace tapml::fuzz
