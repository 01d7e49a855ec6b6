#include "models/encoder.h"

#include "abi/model_interface.h"
#include "models/quantization.h"

namespace tapml::models {

namespace {

constexpr const char* kEmbed = "embed";

GraphParameters parameters_of(const EncoderModel& model) {
  const Module module;
  const ModelDTypes unknown;
  Graph graph(module, unknown, nullptr);
  model.hidden_states(graph);
  return graph.parameters();
}

}  // namespace

std::vector<WeightSpec> encoder_weights(const EncoderModel& model) {
  return parameters_of(model).weights;
}

Module build_encoder(const EncoderModel& model, const PoolingConfig& pooling,
                     const ModelDTypes& dtypes) {
  const GraphParameters parameters = parameters_of(model);
  if (dtypes.quantization) dtypes.quantization->check(parameters.weights);
  check_quantized_inputs(parameters.weights, dtypes);
  ModelInterface interface;
  interface.architecture = model.architecture;
  interface.vocabulary = model.vocabulary;
  interface.context = model.context;
  interface.weights = weight_parameters(parameters.weights, dtypes);
  interface.functions = {{.name = kEmbed,
                          .inputs = {Role::kTokens, Role::kFeatureLengths},
                          .outputs = {Role::kEmbeddings},
                          .state = {},
                          .weights = true}};
  Module module;
  module.set_attrs(model_interface_attrs(interface));
  module.facts.bounds["n"] = model.context;
  Graph graph(module, dtypes, &parameters);
  module.functions[kEmbed] = graph.finish(pool(graph, model.hidden_states(graph), pooling));
  return module;
}

}  // namespace tapml::models
