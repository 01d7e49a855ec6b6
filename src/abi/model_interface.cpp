#include "abi/model_interface.h"

namespace tapml {

AttrMap model_interface_attrs(const ModelInterface& model) {
  return {{"model.architecture", model.architecture},
          {"model.vocabulary", model.vocabulary},
          {"model.context", model.context},
          {"model.kv_layers", model.kv.layers},
          {"model.kv_heads", model.kv.kv_heads},
          {"model.kv_head_dim", model.kv.head_dim},
          {"model.kv_page_size", model.kv.page_size},
          {"model.kv_dtype", model.kv.dtype},
          {"model.weights", model.weights}};
}

ModelInterface model_interface_of(const AttrMap& attrs) {
  ModelInterface model;
  model.architecture = attr_or<std::string>(attrs, "model.architecture", "");
  model.vocabulary = attr_or<int64_t>(attrs, "model.vocabulary", 0);
  model.context = attr_or<int64_t>(attrs, "model.context", 0);
  model.kv.layers = attr_or<int64_t>(attrs, "model.kv_layers", 0);
  model.kv.kv_heads = attr_or<int64_t>(attrs, "model.kv_heads", 0);
  model.kv.head_dim = attr_or<int64_t>(attrs, "model.kv_head_dim", 0);
  model.kv.page_size = attr_or<int64_t>(attrs, "model.kv_page_size", model.kv.page_size);
  model.kv.dtype = attr_or<DType>(attrs, "model.kv_dtype", DType::kF32);
  model.weights = attr_or<std::vector<std::string>>(attrs, "model.weights", {});
  return model;
}

}  // namespace tapml
