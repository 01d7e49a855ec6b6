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

// A pointer to each weight, in the model's order.
template <class T>
Result<std::vector<const T*>> in_order(const runtime::VirtualMachine& vm,
                                       const std::map<std::string, T>& given) {
  const std::vector<std::string>& names = vm.executable().model.weights;
  std::vector<const T*> ordered;
  for (const std::string& name : names) {
    auto it = given.find(name);
    if (it == given.end()) {
      return fail(user_error("weight " + name + " is missing", vm.executable().target,
                             std::to_string(names.size()) + " weights",
                             std::to_string(given.size()) + ", without this one"));
    }
    ordered.push_back(&it->second);
  }
  return ordered;
}

}  // namespace

Result<std::vector<Value>> load_weights(runtime::VirtualMachine& vm,
                                        const std::map<std::string, HostTensor>& host,
                                        bool in_place) {
  TAPML_ASSIGN(const std::vector<const HostTensor*> contents, in_order(vm, host));
  TAPML_ASSIGN(
      std::vector<Tensor> tensors,
      runtime::upload_contents(vm.session(), contents, runtime::kDefaultStream, {}, in_place));
  std::vector<Value> weights;
  for (Tensor& tensor : tensors) weights.emplace_back(std::move(tensor));
  TAPML_TRY(prepare(vm, weights));
  return weights;
}

Result<std::vector<Value>> use_weights(runtime::VirtualMachine& vm,
                                       const std::map<std::string, Tensor>& given) {
  TAPML_ASSIGN(const std::vector<const Tensor*> tensors, in_order(vm, given));
  std::vector<Value> weights;
  for (const Tensor* tensor : tensors) weights.emplace_back(*tensor);
  TAPML_TRY(prepare(vm, weights));
  return weights;
}

}  // namespace tapml::llm
