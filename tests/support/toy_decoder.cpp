#include "support/toy_decoder.h"

#include <algorithm>
#include <cmath>

#include "abi/model_interface.h"
#include "build/block_builder.h"
#include "ir/symbol.h"
#include "support/toy_rows.h"

namespace tapml::testing {

namespace {

using namespace relax;  // NOLINT: graph-level functions are built here

// A function of the decoder under construction.
class DecoderPart {
 public:
  DecoderPart(const ToyDecoder& model, const Module& module, PrimExpr n)
      : model_(model), builder_(module), n_(std::move(n)) {}

  // `places`: embeddings may take the place of tokens.
  FunctionRef text_function(bool all, bool places) {
    const Variable tokens = integers("tokens", {b_, n_});
    table_ = integers("page_table", {b_, p_});
    lengths_ = integers("lengths", {b_});
    Variable embeddings, placement;
    if (places) {
      embeddings = floats("embeddings", {b_, make_size("m"), kHidden});
      placement = integers("placement", {b_, n_});
    }
    const Variable pool = floats("memory", {make_size("pages"), ToyDecoder::kPage, 1, kHidden});
    for (const auto& [name, weight] : model_.weights) {
      weights_[name] = floats(name.c_str(), Dims(weight.shape().begin(), weight.shape().end()));
    }
    builder_.begin_dataflow();
    builder_.set_origin({"model.layers.0.self_attn"});
    Variable x = op("take", {weights_.at("embed"), tokens}, {{"axis", int64_t{0}}});
    if (places) x = placed(x, embeddings, placement);
    const Variable memory =
        op("kv_append",
           {pool, op("reshape", {x, make_shape({b_, n_, 1, kHidden})}), table_, lengths_});
    Variable y =
        op("add", {op("tanh", {op("matmul", {attend(x, memory), weights_.at("mix")})}), x});
    builder_.set_origin({"lm_head"});
    if (!all) y = last(y);
    const Variable logits = op("matmul", {y, weights_.at("head")}, {{"transpose_b", true}});
    return builder_.finish(make_tuple({logits, memory}));
  }

  FunctionRef sample() {
    const Variable logits = floats("logits", {b_, ToyDecoder::kVocabulary});
    floats("parameters", {b_, 2});
    const Variable state = builder_.param("state", tensor_annotation(Dims{2}, DType::kI64));
    builder_.begin_dataflow();
    builder_.set_origin({"sample"});
    const Variable tokens = op("argmax", {logits}, {{"axis", int64_t{-1}}});
    return builder_.finish(make_tuple({tokens, state}));
  }

 private:
  static constexpr int64_t kHidden = ToyDecoder::kHidden;

  Variable integers(const char* name, Dims dims) {
    return builder_.param(name, tensor_annotation(std::move(dims), DType::kI32));
  }
  Variable floats(const char* name, Dims dims) {
    return builder_.param(name, tensor_annotation(std::move(dims), DType::kF32));
  }
  // Results of functions are outputs of their block.
  Variable op(const char* name, std::vector<Expr> args, AttrMap attrs = {}) {
    return builder_.emit_op(name, std::move(args), std::move(attrs), "", true);
  }
  Variable count(const PrimExpr& end, Dims shape) {
    const Variable numbers = op("arange", {make_prim_value(PrimExpr(0)), make_prim_value(end)},
                                {{"dtype", DType::kI32}});
    return op("reshape", {numbers, make_shape(std::move(shape))});
  }
  // [b, hidden] of the last of n tokens.
  Variable last(const Variable& x) {
    Variable row = x;
    if (!n_.is_int(1)) {
      row = op("slice", {x, make_shape({n_ - 1}), make_shape({n_})},
               {{"axes", std::vector<int64_t>{1}}});
    }
    return op("reshape", {row, make_shape({b_, kHidden})});
  }
  // x, and the row of the embeddings where the placement has one.
  Variable placed(const Variable& x, const Variable& embeddings, const Variable& placement) {
    builder_.set_origin({"model.embed_tokens"});
    const Variable row = op("reshape", {placement, make_shape({b_, n_, 1})});
    const Variable rows = op("broadcast_to", {row, make_shape({b_, n_, kHidden})});
    const Variable own = op("gather", {embeddings, rows}, {{"axis", int64_t{1}}});
    const Variable zero =
        op("full", {make_shape({1, 1, 1})}, {{"value", 0.0}, {"dtype", DType::kI32}});
    const Variable mixed = op("where", {op("less", {row, zero}), x, own});
    builder_.set_origin({"model.layers.0.self_attn"});
    return mixed;
  }
  // The mean of the rows in the window, weighted by softmax of their products with x.
  Variable attend(const Variable& x, const Variable& memory) {
    const PrimExpr rows = p_ * ToyDecoder::kPage;
    const Variable pages = op("take", {memory, table_}, {{"axis", int64_t{0}}});
    const Variable own = op("reshape", {pages, make_shape({b_, rows, kHidden})});
    const Variable scores = op("matmul", {x, own}, {{"transpose_b", true}});
    const Variable at =
        op("add", {op("reshape", {lengths_, make_shape({b_, 1, 1})}), count(n_, {1, n_, 1})});
    const Variable row = count(rows, {1, 1, rows});
    Variable is_read = op("less_equal", {row, at});
    if (model_.window > 0) {
      const Variable width =
          op("full", {make_shape({1, 1, 1})},
             {{"value", static_cast<double>(model_.window)}, {"dtype", DType::kI32}});
      is_read = op("logical_and", {is_read, op("greater", {op("add", {row, width}), at})});
    }
    const Variable never =
        op("full", {make_shape({1, 1, 1})}, {{"value", -1e30}, {"dtype", DType::kF32}});
    const Variable shares =
        op("softmax", {op("where", {is_read, scores, never})}, {{"axis", int64_t{-1}}});
    // Rows that hold no token are undefined, so a share of 0 does not remove them.
    const Variable last = op("max", {at}, {{"axes", std::vector<int64_t>{1}}, {"keepdims", true}});
    const Variable holds = op("less_equal", {count(rows, {1, rows, 1}), last});
    const Variable nothing =
        op("full", {make_shape({1, 1, 1})}, {{"value", 0.0}, {"dtype", DType::kF32}});
    return op("matmul", {shares, op("where", {holds, own, nothing})});
  }

  const ToyDecoder& model_;
  build::FunctionBuilder builder_;
  PrimExpr n_;
  Var b_ = make_size("b"), p_ = make_size("p");
  Variable table_, lengths_;
  std::map<std::string, Variable> weights_;
};

ModelInterface interface_of(const ToyDecoder& model) {
  ModelInterface interface;
  interface.architecture = "toy_decoder";
  interface.vocabulary = ToyDecoder::kVocabulary;
  interface.context = ToyDecoder::kContext;
  interface.page_size = ToyDecoder::kPage;
  interface.state.push_back(
      {.name = "memory", .shape = {1, ToyDecoder::kHidden}, .window = model.window});
  for (const char* name : {"prefill", "decode", "logits_all"}) {
    std::vector<Role> inputs = {Role::kTokens, Role::kPageTable, Role::kLengths};
    if (model.takes_embeddings && std::string_view(name) != "decode") {
      inputs.insert(inputs.end(), {Role::kEmbeddings, Role::kPlacement});
    }
    interface.functions.push_back({.name = name,
                                   .inputs = std::move(inputs),
                                   .outputs = {Role::kLogits},
                                   .state = {StateKind::kPaged},
                                   .weights = true});
  }
  interface.functions.push_back({.name = "sample",
                                 .inputs = {Role::kLogits, Role::kParameters, Role::kGenerator},
                                 .outputs = {Role::kTokens, Role::kGenerator}});
  for (const auto& [name, weight] : model.weights) interface.weights.push_back(name);
  return interface;
}

}  // namespace

ToyDecoder toy_decoder(unsigned seed, int64_t window, bool takes_embeddings) {
  std::mt19937 random(seed);
  ToyDecoder model;
  model.window = window;
  model.takes_embeddings = takes_embeddings;
  model.weights["embed"] = random_tensor(random, {ToyDecoder::kVocabulary, ToyDecoder::kHidden}, 1);
  model.weights["head"] = random_tensor(random, {ToyDecoder::kVocabulary, ToyDecoder::kHidden}, 1);
  model.weights["mix"] = random_tensor(random, {ToyDecoder::kHidden, ToyDecoder::kHidden}, 1);
  Module& module = model.module;
  module.set_attrs(model_interface_attrs(interface_of(model)));
  module.facts.bounds["n"] = ToyDecoder::kContext;
  module.facts.bounds["p"] = ToyDecoder::kContext / ToyDecoder::kPage;
  const auto text = [&](PrimExpr n, bool all) {
    const bool places = takes_embeddings && !n.is_int(1);
    return DecoderPart(model, module, std::move(n)).text_function(all, places);
  };
  const FunctionRef prefill = text(make_size("n"), false), decode = text(1, false),
                    all = text(make_size("n"), true),
                    sample = DecoderPart(model, module, 1).sample();
  module.functions = {
      {"prefill", prefill}, {"decode", decode}, {"logits_all", all}, {"sample", sample}};
  return model;
}

llm::PlacedEmbeddings toy_embeddings(unsigned seed, std::vector<int64_t> positions) {
  std::mt19937 random(seed);
  HostTensor rows = random_tensor(random, {std::ssize(positions), ToyDecoder::kHidden}, 1);
  return {std::move(rows), std::move(positions)};
}

std::vector<std::vector<double>> ToyDecoder::logits(const std::vector<int32_t>& tokens,
                                                    const llm::PlacedEmbeddings& placed) const {
  std::vector<Row> rows, all;
  for (const int32_t token : tokens) {
    Row x = row_of(weights.at("embed"), token);
    const auto at = std::ranges::find(placed.positions, std::ssize(rows));
    if (at != placed.positions.end()) x = row_of(placed.rows, at - placed.positions.begin());
    rows.push_back(x);
    const size_t first =
        window > 0 && std::ssize(rows) > window ? rows.size() - static_cast<size_t>(window) : 0;
    Row mean(x.size(), 0);
    double total = 0;
    for (size_t t = first; t < rows.size(); ++t) {
      const double share = std::exp(dot(x, rows[t]));
      total += share;
      for (size_t i = 0; i < mean.size(); ++i) mean[i] += share * rows[t][i];
    }
    for (double& value : mean) value /= total;
    Row y = product(mean, weights.at("mix"));
    for (size_t i = 0; i < y.size(); ++i) y[i] = std::tanh(y[i]) + x[i];
    Row row;
    for (int64_t v = 0; v < kVocabulary; ++v) row.push_back(dot(y, row_of(weights.at("head"), v)));
    all.push_back(std::move(row));
  }
  return all;
}

std::vector<int32_t> ToyDecoder::greedy(std::vector<int32_t> prompt, int64_t count,
                                        const llm::PlacedEmbeddings& placed) const {
  std::vector<int32_t> text;
  for (int64_t i = 0; i < count; ++i) {
    const Row row = logits(prompt, placed).back();
    text.push_back(static_cast<int32_t>(std::ranges::max_element(row) - row.begin()));
    prompt.push_back(text.back());
  }
  return text;
}

}  // namespace tapml::testing
