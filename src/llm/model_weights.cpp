#include "llm/model_weights.h"

#include "abi/model_interface.h"
#include "runtime/session.h"

namespace tapml::llm {

using runtime::Tensor;
using runtime::Value;

namespace {

constexpr const char* kPrepare = "prepare";

// Every call takes the weights, followed by what the executable computes from them.
Status prepare(runtime::VirtualMachine& vm, std::vector<Value>& weights) {
  if (!vm.executable().find_function(kPrepare)) return {};
  TAPML_ASSIGN(Value made, vm.call(kPrepare, weights));
  const runtime::ValueList* fields = made.tuple();
  if (!fields) return fail(internal_error("prepare did not return a tuple"));
  weights.insert(weights.end(), fields->begin(), fields->end());
  return {};
}

}  // namespace

Result<std::vector<Value>> load_weights(runtime::VirtualMachine& vm,
                                        const std::map<std::string, HostTensor>& host,
                                        bool in_place) {
  const std::vector<std::string>& names = vm.executable().model.weights;
  std::vector<const HostTensor*> contents;
  for (const std::string& name : names) {
    auto it = host.find(name);
    if (it == host.end()) {
      return fail(user_error("weight " + name + " is missing", vm.executable().target,
                             std::to_string(names.size()) + " weights",
                             std::to_string(host.size()) + ", without this one"));
    }
    contents.push_back(&it->second);
  }
  TAPML_ASSIGN(
      std::vector<Tensor> tensors,
      runtime::upload_contents(vm.session(), contents, runtime::kDefaultStream, {}, in_place));
  std::vector<Value> weights;
  for (Tensor& tensor : tensors) weights.emplace_back(std::move(tensor));
  TAPML_TRY(prepare(vm, weights));
  return weights;
}

}  // namespace tapml::llm
