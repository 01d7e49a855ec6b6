#include "fuzz/program.h"

namespace tapml::fuzz {

interp::HostFunctions packed_functions() {
  interp::HostFunctions table;
  table["test.double"] = [](const interp::ValueList& args) {
    op::RefTensor tensor = args.at(0).as_tensor();
    for (size_t i = 0; i < tensor.values.size(); ++i) tensor.values[i] *= 2;
    return interp::Value::tensor(std::move(tensor));
  };
  return table;
}

}  // namespace tapml::fuzz
