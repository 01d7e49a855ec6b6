// What a language model's Module exports beside its functions (architecture contract 7).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "abi/attributes.h"
#include "tensor/dtype.h"

namespace tapml {

// The paged KV cache: per layer one pool for K and one for V,
// each [pages, page_size, kv_heads, head_dim] of `dtype`.
struct KvLayout {
  int64_t layers = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  int64_t page_size = 16;
  DType dtype = DType::kF32;
};

struct ModelInterface {
  std::string architecture;  // "llama"
  int64_t vocabulary = 0;
  int64_t context = 0;  // most tokens a sequence may hold
  KvLayout kv;
  // Names of the weight parameters, in the order in which every exported function takes them after
  // its own inputs.
  std::vector<std::string> weights;
};

// The interface as attributes of a Module ("model.*"), and back; fields that are absent keep their
// defaults.
AttrMap model_interface_attrs(const ModelInterface& model);
ModelInterface model_interface_of(const AttrMap& attrs);

}  // namespace tapml
