// The arguments of a model's functions, by role. Internal to the component.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "abi/model_interface.h"
#include "runtime/session.h"
#include "runtime/value.h"

namespace tapml::llm {

class CallArguments {
 public:
  explicit CallArguments(runtime::Session& session) : session_(session) {}

  // Writes what differs from the previous call, into that call's tensor if it fits.
  Status set(Role role, const Shape& shape, std::span<const int32_t> values);
  void set(Role role, runtime::Tensor tensor) { inputs_[index(role)] = std::move(tensor); }
  // Arguments of every function that takes weights: these, and what `prepare` computed from them.
  void set_weights(std::vector<runtime::Value> weights) { weights_ = std::move(weights); }
  const std::vector<runtime::Value>& weights() const { return weights_; }

  // All arguments of `function`: the inputs that were set, the state that it takes, the weights.
  // Valid until release(), which follows the call: keeping them would keep memory alive while it
  // grows into another tensor.
  std::span<const runtime::Value> of(const ModelFunction& function, const ModelInterface& model,
                                     std::span<const runtime::Value> state);
  void release();

 private:
  static constexpr size_t index(Role role) { return static_cast<size_t>(role); }
  // What was last written to an input, and the tensor's version after it.
  struct Written {
    std::vector<std::byte> bytes;
    uint64_t version = 0, generation = 0;
  };

  runtime::Session& session_;
  std::array<runtime::Value, kRoles> inputs_;
  std::array<Written, kRoles> written_;
  std::vector<runtime::Value> weights_;
  // The arguments of the previous call. Decode steps differ in a few inputs, so that a thousand
  // weights are listed only once.
  std::vector<runtime::Value> arguments_;
  size_t listed_ = 0;  // inputs and state in arguments_, before the weights
};

}  // namespace tapml::llm
