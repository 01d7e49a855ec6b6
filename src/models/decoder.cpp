#include "models/decoder.h"

#include "abi/model_interface.h"
#include "base/rounding.h"
#include "models/draw.h"
#include "models/quantization.h"
#include "text/parser.h"

namespace tapml::models {

using namespace relax;  // NOLINT: this file is about relax alone

std::string layer_path(int64_t layer) { return "model.layers." + std::to_string(layer); }

namespace {

enum class LogitsOf : uint8_t { kLastToken, kAllTokens };

// Only tokens whose logits are needed go through the last norm and the head, the model's largest
// matrix.
Variable last_token(Graph& g, const std::string& last_norm, Variable x) {
  g.origin(last_norm);
  const int64_t hidden = Graph::width(x);
  if (!g.tokens().is_int(1)) {
    x = g.op("slice", {x, make_shape({g.tokens() - 1}), make_shape({g.tokens()})},
             {{"axes", std::vector<int64_t>{1}}});
  }
  return g.op("reshape", {x, make_shape({g.batch(), hidden})});
}

FunctionRef build_function(const DecoderModel& model, Graph& g, LogitsOf logits_of) {
  Variable x = model.hidden_states(g);
  if (logits_of == LogitsOf::kLastToken) x = last_token(g, model.last_norm, std::move(x));
  return g.finish(model.logits(g, x, model.tied_embeddings));
}

void add_programs(Module& module, const DecoderModel& model) {
  if (model.programs.empty()) return;
  module.functions = text::parse(model.programs, model.architecture).functions;
}

// Adds the weights that only `graph` has.
void add_weights(const Graph& graph, GraphParameters& parameters) {
  const std::vector<WeightSpec>& own = graph.parameters().weights;
  parameters.weights.insert(parameters.weights.end(), own.begin(), own.end());
}

// Only prompts have embeddings.
GraphInputs inputs_of(const DecoderModel& model, bool in_prompt) {
  GraphInputs inputs;
  inputs.text_lengths = model.short_text > 0;
  if (!model.images) return inputs;
  const int64_t width = (1 + model.images->levels) * model.embedding_width;
  inputs.placed = {in_prompt ? width : 0, model.images->both_ways, model.images->grid};
  return inputs;
}

GraphParameters parameters_of(const DecoderModel& model, const ModelDTypes& dtypes) {
  Module module;
  add_programs(module, model);
  const ModelDTypes unknown;
  Graph graph(module, unknown, make_size("n"), model.page_size, nullptr, inputs_of(model, false));
  build_function(model, graph, LogitsOf::kAllTokens);
  GraphParameters parameters = graph.parameters();
  if (model.images) {
    Graph images(module, unknown, model.images->image, nullptr);
    images.finish(model.images->embeddings(images));
    add_weights(images, parameters);
  }
  if (model.encoder) {
    Graph encoder(module, unknown, FeatureShape{model.encoder->features}, nullptr);
    model.encoder->fill(encoder);
    add_weights(encoder, parameters);
  }
  for (StateTensor& state : parameters.state) {
    if (state.kind != StateKind::kRecurrent) state.dtype = dtypes.cache();
  }
  return parameters;
}

std::vector<ModelFunction> decoder_functions(const GraphParameters& parameters,
                                             const DecoderModel& model) {
  const bool reads_images = model.images.has_value();
  ModelFunction of_tokens = {.name = "",
                             .inputs = {Role::kTokens},
                             .outputs = {Role::kLogits},
                             .state = {},
                             .weights = true};
  if (parameters.has_state(StateKind::kPaged)) {
    of_tokens.inputs.insert(of_tokens.inputs.end(), {Role::kPageTable, Role::kLengths});
    of_tokens.state.push_back(StateKind::kPaged);
  }
  const bool has_fixed = parameters.has_state(StateKind::kFixed);
  if (parameters.has_state(StateKind::kRecurrent) || has_fixed) {
    of_tokens.inputs.push_back(Role::kSlots);
  }
  for (const StateKind kind : {StateKind::kRecurrent, StateKind::kFixed}) {
    if (parameters.has_state(kind)) of_tokens.state.push_back(kind);
  }
  if (model.short_text > 0) of_tokens.inputs.push_back(Role::kTextLengths);
  std::vector<ModelFunction> functions;
  for (const char* name : {"prefill", "decode", "logits_all"}) {
    of_tokens.name = name;
    functions.push_back(of_tokens);
    if (reads_images && std::string_view(name) != "decode") {
      std::vector<Role>& inputs = functions.back().inputs;
      inputs.insert(inputs.end(), {Role::kEmbeddings, Role::kPlacement});
    }
  }
  for (const char* name : {"sample", "draw"}) {
    functions.push_back({.name = name,
                         .inputs = {Role::kLogits, Role::kParameters, Role::kGenerator},
                         .outputs = {Role::kTokens, Role::kGenerator}});
  }
  if (reads_images) {
    functions.push_back({.name = "embed_image",
                         .inputs = {Role::kPixels},
                         .outputs = {Role::kEmbeddings},
                         .state = {},
                         .weights = true});
  }
  if (has_fixed) {
    functions.push_back({.name = "encode",
                         .inputs = {Role::kFeatures, Role::kSlots},
                         .outputs = {},
                         .state = {StateKind::kFixed},
                         .weights = true});
  }
  return functions;
}

FunctionRef build_sample(int64_t vocabulary, const Module& module) {
  build::FunctionBuilder builder(module);
  Var b = make_size("b");
  Variable logits = builder.param("logits", tensor_annotation({b, vocabulary}, DType::kF32));
  builder.param("parameters", tensor_annotation({b, 2}, DType::kF32));
  Variable state = builder.param("state", tensor_annotation({2}, DType::kI64));
  builder.begin_dataflow();
  builder.set_origin(origin_at("sample"));
  Variable tokens = builder.emit_op("argmax", {logits}, {{"axis", int64_t{-1}}}, "sampled", true);
  return builder.finish(make_tuple({tokens, state}));
}

}  // namespace

std::vector<WeightSpec> decoder_weights(const DecoderModel& model) {
  return parameters_of(model, {}).weights;
}

Module build_decoder(const DecoderModel& model, const ModelDTypes& dtypes) {
  const GraphParameters parameters = parameters_of(model, dtypes);
  if (dtypes.quantization) dtypes.quantization->check(parameters.weights);
  check_quantized_inputs(parameters.weights, dtypes);
  ModelInterface interface;
  interface.architecture = model.architecture;
  interface.vocabulary = model.vocabulary;
  interface.context = model.context;
  interface.page_size = model.page_size;
  interface.short_text = model.short_text;
  interface.state = parameters.state;
  interface.functions = decoder_functions(parameters, model);
  if (model.images) interface.image = model.images->input;
  interface.weights = weight_parameters(parameters.weights, dtypes);

  Module module;
  module.set_attrs(model_interface_attrs(interface));
  module.facts.bounds["n"] = model.context;
  if (parameters.has_state(StateKind::kPaged)) {
    module.facts.bounds["p"] = ceil_div(model.context, model.page_size);
  }
  add_programs(module, model);
  auto build = [&](PrimExpr tokens, LogitsOf logits_of) {
    const GraphInputs inputs = inputs_of(model, !tokens.is_int(1));
    Graph graph(module, dtypes, std::move(tokens), model.page_size, &parameters, inputs);
    return build_function(model, graph, logits_of);
  };
  FunctionRef prefill = build(make_size("n"), LogitsOf::kLastToken);
  FunctionRef decode = build(1, LogitsOf::kLastToken);
  FunctionRef logits_all = build(make_size("n"), LogitsOf::kAllTokens);
  if (model.images) {
    module.facts.bounds["m"] = model.context;
    Graph graph(module, dtypes, model.images->image, &parameters);
    module.functions["embed_image"] = graph.finish(model.images->embeddings(graph));
  }
  if (model.encoder) {
    Graph graph(module, dtypes, FeatureShape{model.encoder->features}, &parameters);
    model.encoder->fill(graph);
    module.functions["encode"] = graph.finish({});
  }
  FunctionRef sample = build_sample(model.vocabulary, module);
  module.functions.insert(
      {{"prefill", prefill}, {"decode", decode}, {"logits_all", logits_all}, {"sample", sample}});
  add_draw(module, model.vocabulary);
  return module;
}

}  // namespace tapml::models
