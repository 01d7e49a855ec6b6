#include "support/toy_models.h"

#include <algorithm>
#include <cmath>

#include "abi/model_interface.h"
#include "build/block_builder.h"
#include "ir/symbol.h"
#include "support/toy_rows.h"

namespace tapml::testing {

namespace {

using namespace relax;  // NOLINT: graph-level functions are built here

constexpr int64_t kVocabulary = ToyModel::kVocabulary, kHidden = ToyModel::kHidden,
                  kRows = ToyModel::kRows, kFeatures = ToyModel::kFeatures;

// A function of the model under construction.
class ToyFunction {
 public:
  ToyFunction(const ToyModel& model, const Module& module) : model_(model), builder_(module) {}

  FunctionRef text_function(PrimExpr n, bool all) {
    const Variable tokens = integers("tokens", {b_, n});
    const Variable slots = integers("slots", {b_});
    const Variable sums = floats("sums", {rows_, kHidden});
    Variable memory;
    if (model_.has_encoder) memory = floats("memory", {rows_, kRows, kHidden});
    add_weights();
    builder_.begin_dataflow();
    builder_.set_origin({"model.layers.0.mixer"});
    const Variable x = op("take", {weights_.at("embed"), tokens}, {{"axis", int64_t{0}}});
    Variable before = op("take", {sums, slots}, {{"axis", int64_t{0}}});
    before = op("reshape", {before, make_shape({b_, 1, kHidden})});
    const Variable running = op("add", {op("cumsum",
                                           {
                                               x,
                                           },
                                           {{"axis", int64_t{1}}}),
                                        before});
    const Variable put =
        op("scatter_nd", {sums, op("reshape", {slots, make_shape({b_, 1})}), last(running, n)});
    Variable y = op("add", {op("tanh", {op("matmul", {running, weights_.at("mix")})}), x});
    if (model_.has_encoder) y = attend(y, memory, slots);
    builder_.set_origin({"lm_head"});
    if (!all) y = last(y, n);
    const Variable logits = op("matmul", {y, weights_.at("head")}, {{"transpose_b", true}});
    std::vector<Expr> results = {logits, put};
    if (model_.has_encoder) results.emplace_back(memory);
    return builder_.finish(make_tuple(std::move(results)));
  }

  FunctionRef encoder() {
    const Variable features = floats("features", {b_, kRows, kFeatures});
    const Variable slots = integers("slots", {b_});
    const Variable memory = floats("memory", {rows_, kRows, kHidden});
    add_weights();
    builder_.begin_dataflow();
    builder_.set_origin({"encoder.layers.0"});
    const Variable made = op("tanh", {op("matmul", {features, weights_.at("encode")})});
    return builder_.finish(make_tuple(
        {op("scatter_nd", {memory, op("reshape", {slots, make_shape({b_, 1})}), made})}));
  }

  FunctionRef sample() {
    const Variable logits = floats("logits", {b_, kVocabulary});
    floats("parameters", {b_, 2});
    const Variable state = builder_.param("state", tensor_annotation(Dims{2}, DType::kI64));
    builder_.begin_dataflow();
    builder_.set_origin({"sample"});
    const Variable tokens = op("argmax", {logits}, {{"axis", int64_t{-1}}});
    return builder_.finish(make_tuple({tokens, state}));
  }

 private:
  Variable integers(const char* name, Dims dims) {
    return builder_.param(name, tensor_annotation(std::move(dims), DType::kI32));
  }
  Variable floats(const char* name, Dims dims) {
    return builder_.param(name, tensor_annotation(std::move(dims), DType::kF32));
  }
  void add_weights() {
    for (const auto& [name, weight] : model_.weights) {
      weights_[name] = builder_.param(
          name, tensor_annotation(Dims(weight.shape().begin(), weight.shape().end()), DType::kF32));
    }
  }
  // Results of functions are outputs of their block.
  Variable op(const char* name, std::vector<Expr> args, AttrMap attrs = {}) {
    return builder_.emit_op(name, std::move(args), std::move(attrs), "", true);
  }
  // [b, hidden] of the last of n tokens.
  Variable last(const Variable& x, const PrimExpr& n) {
    Variable row = x;
    if (!n.is_int(1)) {
      row = op("slice", {x, make_shape({n - 1}), make_shape({n})},
               {{"axes", std::vector<int64_t>{1}}});
    }
    return op("reshape", {row, make_shape({b_, kHidden})});
  }
  Variable attend(const Variable& y, const Variable& memory, const Variable& slots) {
    builder_.set_origin({"model.layers.0.cross_attn"});
    const Variable own = op("take", {memory, slots}, {{"axis", int64_t{0}}});
    const Variable scores = op("matmul", {y, own}, {{"transpose_b", true}});
    const Variable shares = op("softmax", {scores}, {{"axis", int64_t{-1}}});
    return op("add", {y, op("matmul", {shares, own})});
  }

  const ToyModel& model_;
  build::FunctionBuilder builder_;
  Var b_ = make_size("b"), rows_ = make_size("slots");
  std::map<std::string, Variable> weights_;
};

ToyModel toy_model(unsigned seed, bool has_encoder) {
  std::mt19937 random(seed);
  ToyModel model;
  model.has_encoder = has_encoder;
  model.weights["embed"] = random_tensor(random, {kVocabulary, kHidden}, 0.5F);
  if (has_encoder) model.weights["encode"] = random_tensor(random, {kFeatures, kHidden}, 1);
  model.weights["head"] = random_tensor(random, {kVocabulary, kHidden}, 1);
  model.weights["mix"] = random_tensor(random, {kHidden, kHidden}, 0.7F);

  ModelInterface model_interface;
  model_interface.architecture = has_encoder ? "toy_encoder_decoder" : "toy_recurrent";
  model_interface.vocabulary = kVocabulary;
  model_interface.context = ToyModel::kContext;
  model_interface.state.push_back(
      {.name = "sums", .kind = StateKind::kRecurrent, .shape = {kHidden}});
  std::vector<StateKind> kinds = {StateKind::kRecurrent};
  if (has_encoder) {
    kinds.push_back(StateKind::kFixed);
    model_interface.state.push_back(
        {.name = "memory", .kind = StateKind::kFixed, .shape = {kRows, kHidden}});
    model_interface.functions.push_back({.name = "encode",
                                         .inputs = {Role::kFeatures, Role::kSlots},
                                         .outputs = {},
                                         .state = {StateKind::kFixed},
                                         .weights = true});
  }
  for (const char* name : {"prefill", "decode", "logits_all"}) {
    model_interface.functions.push_back({.name = name,
                                         .inputs = {Role::kTokens, Role::kSlots},
                                         .outputs = {Role::kLogits},
                                         .state = kinds,
                                         .weights = true});
  }
  model_interface.functions.push_back(
      {.name = "sample",
       .inputs = {Role::kLogits, Role::kParameters, Role::kGenerator},
       .outputs = {Role::kTokens, Role::kGenerator}});
  for (const auto& [name, weight] : model.weights) model_interface.weights.push_back(name);

  Module& module = model.module;
  module.set_attrs(model_interface_attrs(model_interface));
  module.facts.bounds["n"] = ToyModel::kContext;
  const auto text = [&](PrimExpr n, bool all) {
    return ToyFunction(model, module).text_function(std::move(n), all);
  };
  const FunctionRef prefill = text(make_size("n"), false), decode = text(1, false),
                    all = text(make_size("n"), true), sample = ToyFunction(model, module).sample();
  FunctionRef encode;
  if (has_encoder) encode = ToyFunction(model, module).encoder();
  module.functions = {
      {"prefill", prefill}, {"decode", decode}, {"logits_all", all}, {"sample", sample}};
  if (has_encoder) module.functions["encode"] = encode;
  return model;
}

// y plus the mean of the rows of `memory`, weighted by softmax of their products with y.
Row attended(const Row& y, const std::vector<Row>& memory) {
  Row shares, out = y;
  double largest = -INFINITY, total = 0;
  for (const Row& row : memory) largest = std::max(largest, dot(y, row));
  for (const Row& row : memory) total += shares.emplace_back(std::exp(dot(y, row) - largest));
  for (size_t m = 0; m < memory.size(); ++m) {
    for (size_t i = 0; i < out.size(); ++i) out[i] += shares[m] / total * memory[m][i];
  }
  return out;
}

}  // namespace

std::vector<std::vector<double>> ToyModel::logits(const std::vector<int32_t>& tokens,
                                                  const HostTensor& features) const {
  std::vector<Row> memory, all;
  for (int64_t m = 0; has_encoder && m < kRows; ++m) {
    Row row = product(row_of(features, m), weights.at("encode"));
    for (double& value : row) value = std::tanh(value);
    memory.push_back(std::move(row));
  }
  Row sums(static_cast<size_t>(kHidden), 0);
  for (const int32_t token : tokens) {
    const Row x = row_of(weights.at("embed"), token);
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += x[i];
    Row y = product(sums, weights.at("mix"));
    for (size_t i = 0; i < y.size(); ++i) y[i] = std::tanh(y[i]) + x[i];
    if (has_encoder) y = attended(y, memory);
    Row row;
    for (int64_t v = 0; v < kVocabulary; ++v) row.push_back(dot(y, row_of(weights.at("head"), v)));
    all.push_back(std::move(row));
  }
  return all;
}

std::vector<int32_t> ToyModel::greedy(std::vector<int32_t> prompt, int64_t count,
                                      const HostTensor& features) const {
  std::vector<int32_t> text;
  for (int64_t i = 0; i < count; ++i) {
    const Row row = logits(prompt, features).back();
    text.push_back(static_cast<int32_t>(std::ranges::max_element(row) - row.begin()));
    prompt.push_back(text.back());
  }
  return text;
}

ToyModel toy_recurrent_model(unsigned seed) { return toy_model(seed, false); }
ToyModel toy_encoder_decoder(unsigned seed) { return toy_model(seed, true); }

HostTensor toy_features(unsigned seed) {
  std::mt19937 random(seed);
  return random_tensor(random, {kRows, kFeatures}, 1);
}

}  // namespace tapml::testing
