// The weights of a model on a device. Internal to the component.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/tensor.h"
#include "runtime/value.h"
#include "runtime/virtual_machine.h"
#include "tensor/host_tensor.h"

namespace tapml::llm {

// The arguments of every function that takes weights, uploaded in the model's order, and what the
// executable's `prepare` makes of them, if it has that. `in_place`: a device that can read host
// memory uses that of `host`. UserError for a missing weight. Does not wait for the device.
Result<std::vector<runtime::Value>> load_weights(runtime::VirtualMachine& vm,
                                                 const std::map<std::string, HostTensor>& host,
                                                 bool in_place);

// The same of weights that are on the session's device already, by name.
Result<std::vector<runtime::Value>> use_weights(
    runtime::VirtualMachine& vm, const std::map<std::string, runtime::Tensor>& given);

}  // namespace tapml::llm
