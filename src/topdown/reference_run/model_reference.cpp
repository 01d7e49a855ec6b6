#include "topdown/reference_run/model_reference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/rounding.h"
#include "ir/exceptions.h"
#include "llm/embedder.h"
#include "relax/expr.h"
#include "topdown/reference_run/allowed.h"
#include "topdown/reference_run/divergence.h"

namespace tapml::topdown {

namespace {

int64_t argmax(const double* values, int64_t count) {
  return std::max_element(values, values + count) - values;
}

// The indices of the `k` largest; of equal ones, the lowest.
std::vector<int64_t> largest(const double* values, int64_t count, int64_t k) {
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::partial_sort(order.begin(), order.begin() + k, order.end(), [&](int64_t a, int64_t b) {
    return values[a] != values[b] ? values[a] > values[b] : a < b;
  });
  order.resize(static_cast<size_t>(k));
  return order;
}

}  // namespace

void set_inputs(llm::Engine& engine, const llm::TextInputs& inputs) {
  if (inputs.features.size() > 0) unwrap(engine.set_features(inputs.features));
  // Without any, too: those of images are left from an earlier run.
  if (engine.takes_embeddings() || inputs.embeddings.rows.size() > 0) {
    unwrap(engine.set_embeddings(inputs.embeddings));
  }
  for (const llm::TextImage& image : inputs.images) {
    for (const llm::PlacedImage& part : image.parts) unwrap(engine.place_image(part));
  }
}

void reset_engine(llm::Engine& engine, const llm::TextInputs& inputs) {
  unwrap(engine.clear());
  set_inputs(engine, inputs);
}

std::vector<int32_t> ForcedRun::tokens() const {
  std::vector<int32_t> all = prompt;
  all.insert(all.end(), forced.begin(), forced.end());
  for (const std::vector<int32_t>& text : texts) {
    all.insert(all.end(), text.begin(), text.end());
    all.push_back(-1);
  }
  return all;
}

std::vector<HostTensor> rows_of(const HostTensor& matrix) {
  std::vector<HostTensor> rows;
  const auto values = matrix.values<float>();
  const auto width = static_cast<size_t>(matrix.shape().at(1));
  for (size_t first = 0; first < values.size(); first += width) {
    rows.push_back(HostTensor::from<float>(DType::kF32, {static_cast<int64_t>(width)},
                                           values.subspan(first, width)));
  }
  return rows;
}

std::vector<HostTensor> forced_logits(llm::Engine& engine, const ForcedRun& run) {
  std::vector<HostTensor> logits;
  // A kernel that does not write the cache must not profit from an earlier run.
  reset_engine(engine, run.inputs);
  logits.push_back(unwrap(runtime::download(unwrap(engine.prefill(run.prompt)))));
  const int64_t count = std::ssize(run.forced);
  for (size_t i = 0; i < run.forced.size(); ++i) {
    if (run.cancelled && run.cancelled()) {
      throw_platform(PlatformFault::kCancelled, "interrupted");
    }
    tell(engine.watcher(), {"decode", static_cast<int64_t>(i), count, "tokens"});
    logits.push_back(unwrap(runtime::download(unwrap(engine.decode(run.forced[i])))));
  }
  tell(engine.watcher(), {"decode", count, count, "tokens"});
  return logits;
}

namespace {

interp::Value value_of(const HostTensor& tensor) {
  return interp::Value::tensor(op::RefTensor::from(tensor));
}

interp::Value integers(const Shape& shape, const std::vector<int32_t>& values) {
  return value_of(HostTensor::from<int32_t>(DType::kI32, shape, values));
}

// A model in the interpreter with one text: the arguments of its functions, and the state between
// calls.
class EvaluatedModel {
 public:
  EvaluatedModel(const Module& module, const ModelInterface& model,
                 const std::map<std::string, HostTensor>& weights, size_t capacity,
                 const interp::CallOptions& options, const llm::TextInputs& inputs)
      : module_(module), model_(model), options_(options), inputs_(inputs) {
    const int64_t page = model.page_size;
    const int64_t pages = ceil_div(static_cast<int64_t>(capacity), page);
    for (int64_t i = 0; i < pages; ++i) table_.push_back(static_cast<int32_t>(i));
    clear_state();
    const int64_t all = std::ssize(model.weights);
    for (const std::string& name : model.weights) {
      tell(options.watcher, {"convert", std::ssize(weights_), all, "weights"});
      if (options.poll) options.poll();
      weights_.push_back(value_of(weights.at(name)));
    }
    tell(options.watcher, {"convert", all, all, "weights"});
    // Values that a pass moved into "prepare" follow the weights.
    if (module.functions.contains("prepare")) {
      const interp::Value made = interp::call(module, "prepare", weights_, options);
      weights_.insert(weights_.end(), made.as_tuple().begin(), made.as_tuple().end());
    }
    // Fills the state that the encoder computes.
    if (inputs_.features.size() > 0) call("encode", {});
    embed_images();
  }

  // Appends tokens by prefill, decode or logits_all.
  op::RefTensor step(const char* name, const std::vector<int32_t>& tokens) {
    const bool was_long = is_long(length_);
    text_.insert(text_.end(), tokens.begin(), tokens.end());
    if (length_ > 0 && is_long(std::ssize(text_)) != was_long) {
      clear_state();
      length_ = 0;
      append("prefill", {text_.begin(), text_.end() - std::ssize(tokens)});
    }
    return append(name, tokens);
  }

 private:
  bool is_long(int64_t tokens) const { return model_.short_text > 0 && tokens > model_.short_text; }

  // What an encoder wrote stays.
  void clear_state() {
    state_.resize(model_.state.size());
    for (size_t i = 0; i < state_.size(); ++i) {
      const StateTensor& state = model_.state[i];
      if (length_ > 0 && state.kind == StateKind::kFixed) continue;
      Shape shape = {1};
      if (state.kind == StateKind::kPaged) shape = {std::ssize(table_), model_.page_size};
      shape.insert(shape.end(), state.shape.begin(), state.shape.end());
      state_[i] = value_of(HostTensor::zeros(state.dtype, shape));
    }
  }

  op::RefTensor append(const char* name, const std::vector<int32_t>& tokens) {
    const std::vector<interp::Value> results = call(name, tokens);
    length_ += std::ssize(tokens);
    return results.at(0).as_tensor();
  }

  // Collects the embeddings that are given and those of the images, [rows, d].
  void embed_images() {
    positions_ = inputs_.embeddings.positions;
    for (int64_t i = 0; i < inputs_.embeddings.rows.size(); ++i) {
      rows_.push_back(inputs_.embeddings.rows.at_f64(i));
    }
    for (const llm::TextImage& image : inputs_.images) {
      for (const llm::PlacedImage& part : image.parts) embed_image(part);
    }
  }

  void embed_image(const llm::PlacedImage& image) {
    image_ = &image;
    const op::RefTensor made = call("embed_image", {}).at(0).as_tensor();
    for (int64_t i = 0; i < made.shape.at(1); ++i) positions_.push_back(image.position + i);
    for (const double value : made.values) rows_.push_back(value);
  }

  // The outputs; the state is updated.
  std::vector<interp::Value> call(const char* name, const std::vector<int32_t>& tokens) {
    const ModelFunction* function = model_.find_function(name);
    if (!function) throw_user("the model has no such function", "the model's interface", name);
    std::vector<interp::Value> args;
    for (const Role role : function->inputs) args.push_back(input(*function, role, tokens));
    for (size_t i = 0; i < state_.size(); ++i) {
      if (function->takes(model_.state[i].kind)) args.push_back(state_[i]);
    }
    if (function->weights) args.insert(args.end(), weights_.begin(), weights_.end());
    const interp::Value result = interp::call(module_, name, args, options_);
    std::vector<interp::Value> results = {result};
    if (const auto* fields = std::get_if<std::shared_ptr<const interp::ValueList>>(&result.data)) {
      results = {(*fields)->begin(), (*fields)->end()};
    }
    size_t next = function->outputs.size();
    for (size_t i = 0; i < state_.size(); ++i) {
      if (function->takes(model_.state[i].kind)) state_[i] = results.at(next++);
    }
    return results;
  }

  interp::Value input(const ModelFunction& function, Role role,
                      const std::vector<int32_t>& tokens) const {
    const int64_t count = std::ssize(tokens);
    switch (role) {
      case Role::kTokens:
        return integers({1, count}, tokens);
      case Role::kPositions: {
        std::vector<int32_t> positions;
        for (int64_t i = 0; i < count; ++i) positions.push_back(static_cast<int32_t>(length_ + i));
        return integers({1, count}, positions);
      }
      case Role::kPageTable:
        return integers({1, std::ssize(table_)}, table_);
      case Role::kLengths:
        return integers({1}, {static_cast<int32_t>(length_)});
      case Role::kTextLengths:
        return integers({1}, {static_cast<int32_t>(text_.size())});
      case Role::kSlots:
        return integers({1}, {0});
      case Role::kFeatures:
        return of_one_text(inputs_.features);
      case Role::kFeatureLengths:
        return integers(
            {1},
            {static_cast<int32_t>(llm::is_encoder(model_) ? count : inputs_.features.shape()[0])});
      case Role::kEmbeddings:
        return embeddings(function);
      case Role::kPlacement:
        return integers({1, count},
                        llm::PlacedEmbeddings{{}, positions_}.placement(length_, count));
      case Role::kPixels:
        return of_one_text(image_->pixels);
      default:
        throw_user("the model has an input that text does not provide", "the model's interface",
                   "tokens, positions, pages, lengths, slots, features, embeddings or images",
                   role_name(role));
    }
  }

  static interp::Value of_one_text(const HostTensor& tensor) {
    Shape shape = tensor.shape();
    shape.insert(shape.begin(), 1);
    return value_of(tensor.reshaped(shape));
  }

  interp::Value embeddings(const ModelFunction& function) const {
    const HostTensor none = no_embeddings(function);
    if (positions_.empty()) return of_one_text(none);
    op::RefTensor all;
    all.dtype = none.dtype();
    all.shape = {1, std::ssize(positions_), none.shape()[1]};
    all.values = rows_;
    return interp::Value::tensor(std::move(all));
  }

  // A row that no token takes.
  HostTensor no_embeddings(const ModelFunction& function) const {
    const auto at = std::ranges::find(function.inputs, Role::kEmbeddings) - function.inputs.begin();
    const relax::Function& callee = *relax::as_relax_function(module_.find(function.name));
    const relax::TensorAnnotation* tensor =
        relax::as_tensor(callee.params.at(static_cast<size_t>(at))->annotation);
    if (!tensor || !tensor->dtype || !tensor->shape || tensor->shape->size() != 3 ||
        !tensor->shape->back().is_int()) {
      throw_user("the model does not declare the embeddings that it takes", "the model's interface",
                 "embeddings [b, m, d] with a constant d", model_function_text(function));
    }
    return HostTensor::zeros(*tensor->dtype, {1, tensor->shape->back()->int_value});
  }

  const Module& module_;
  const ModelInterface& model_;
  const interp::CallOptions& options_;
  std::vector<int32_t> table_;
  std::vector<interp::Value> state_, weights_;
  const llm::TextInputs& inputs_;
  const llm::PlacedImage* image_ = nullptr;  // that is being read
  std::vector<int64_t> positions_;           // of the embeddings in the text
  std::vector<double> rows_;                 // all embeddings
  std::vector<int32_t> text_;                // with the tokens of the call
  int64_t length_ = 0;
};

HostTensor rounded(const op::RefTensor& logits) {
  std::vector<float> values;
  for (double value : logits.values) values.push_back(static_cast<float>(value));
  return HostTensor::from<float>(DType::kF32, logits.shape, values);
}

}  // namespace

op::RefTensor evaluate_logits(const Module& module, const ModelInterface& model,
                              const std::map<std::string, HostTensor>& weights,
                              const std::vector<int32_t>& tokens,
                              const interp::CallOptions& options, const llm::TextInputs& inputs) {
  EvaluatedModel evaluated(module, model, weights, tokens.size(), options, inputs);
  return evaluated.step(llm::is_encoder(model) ? "embed" : "logits_all", tokens);
}

op::RefTensor evaluate_vectors(const Module& module, const ModelInterface& model,
                               const std::map<std::string, HostTensor>& weights,
                               const std::vector<std::vector<int32_t>>& texts,
                               const interp::CallOptions& options) {
  const llm::TextInputs none;
  EvaluatedModel evaluated(module, model, weights, 0, options, none);
  op::RefTensor all;
  std::vector<double> rows;
  for (const std::vector<int32_t>& text : texts) {
    const op::RefTensor one = evaluated.step("embed", text);
    for (const double value : one.values) rows.push_back(value);
    all.dtype = one.dtype;
    all.shape = {std::ssize(texts), one.shape.at(1)};
  }
  all.values = rows;
  return all;
}

std::vector<HostTensor> evaluated_outputs(const Module& module, const ModelInterface& model,
                                          const std::map<std::string, HostTensor>& weights,
                                          const ForcedRun& run,
                                          const interp::CallOptions& options) {
  if (llm::is_encoder(model)) {
    return rows_of(rounded(evaluate_vectors(module, model, weights, run.texts, options)));
  }
  EvaluatedModel evaluated(module, model, weights, run.prompt.size() + run.forced.size(), options,
                           run.inputs);
  std::vector<HostTensor> logits{rounded(evaluated.step("prefill", run.prompt))};
  for (const int32_t token : run.forced)
    logits.push_back(rounded(evaluated.step("decode", {token})));
  return logits;
}

ReferenceLogits ReferenceLogits::of(const op::RefTensor& logits, size_t first) {
  ReferenceLogits kept;
  kept.vocabulary = logits.shape.back();
  auto before = static_cast<int64_t>(first) * kept.vocabulary;
  for (const double value : logits.values) {
    kept.largest = std::max(kept.largest, std::abs(value));
    if (--before < 0) kept.rows.push_back(value);
  }
  return kept;
}

ReferenceLogits ReferenceLogits::of(const Module& module, const ModelInterface& model,
                                    const std::map<std::string, HostTensor>& weights,
                                    const ForcedRun& run, const interp::CallOptions& options) {
  if (llm::is_encoder(model)) {
    ReferenceLogits kept = of(evaluate_vectors(module, model, weights, run.texts, options), 0);
    kept.vectors = true;
    kept.largest = 0;
    for (const double value : kept.rows) kept.largest = std::max(kept.largest, std::abs(value));
    return kept;
  }
  return of(evaluate_logits(module, model, weights, run.tokens(), options, run.inputs),
            run.prompt.size() - 1);
}

ModelReference::ModelReference(ReferenceLogits logits, const std::vector<HostTensor>& source)
    : logits_(std::move(logits)), vocabulary_(logits_.vocabulary) {
  const auto positions = static_cast<size_t>(std::ssize(logits_.rows) / vocabulary_);
  for (size_t i = 0; i < positions; ++i) {
    const Distance own = i < source.size() ? distance(source[i], i) : Distance{};
    source_error_ = std::max(source_error_, own.largest);
    // The numbers of a vector are as small as it is long.
    double largest = logits_.vectors ? 0 : 1;
    for (int64_t v = 0; v < vocabulary_; ++v) largest = std::max(largest, std::abs(row(i)[v]));
    // A source with logits that are not finite excuses no error.
    const Distance excused = std::isfinite(own.largest) ? own : Distance{};
    bounds_.push_back(
        {4 * excused.largest + kAlways * largest, 4 * excused.rms + kAlways / 4 * largest});
  }
}

void ModelReference::set_emulation(Emulate emulate, const Module& module) {
  emulate_ = std::move(emulate);
  specified_ = specifies_half_sums(module);
  if (quantizes_activations(module)) bounds_ = bounds_with({});
}

ModelCheck ModelReference::check(const std::vector<HostTensor>& logits,
                                 const Allowances& allowances) const {
  ModelCheck result = check_within(bounds_, logits);
  if (!emulate_) return result;
  if (!result.passed && specified_) result = check_within(bounds_with({}), logits);
  // Relaxed division is far within the bounds.
  const Allowances products{.precision = allowances.precision, .half_sums = allowances.half_sums};
  if (result.passed || !products.any()) return result;
  result = check_within(bounds_with(products), logits);
  result.allowances = allowances_text(products);
  return result;
}

const ModelReference::Bounds& ModelReference::bounds_with(const Allowances& allowances) const {
  const auto [entry, is_new] = wider_.try_emplace(allowances_text(allowances), bounds_);
  if (!is_new) return entry->second;
  const ReferenceLogits emulated = emulate_(emulation_of(allowances));
  for (size_t i = 0; i < bounds_.size(); ++i) {
    std::vector<float> values;
    for (int64_t v = 0; v < vocabulary_; ++v) {
      values.push_back(static_cast<float>(
          emulated.rows[i * static_cast<size_t>(vocabulary_) + static_cast<size_t>(v)]));
    }
    const Distance effect =
        distance(HostTensor::from<float>(DType::kF32, {vocabulary_}, values), i);
    // A format whose range the model leaves excuses no error.
    if (!std::isfinite(effect.largest)) continue;
    entry->second[i].largest += 4 * effect.largest;
    entry->second[i].rms += 4 * effect.rms;
  }
  return entry->second;
}

ModelCheck ModelReference::check_within(const Bounds& bounds,
                                        const std::vector<HostTensor>& logits) const {
  ModelCheck result;
  result.bound = bound();
  result.source_error = source_error_;
  double worst = -1;
  for (size_t i = 0; i < logits.size(); ++i) {
    const Distance found = distance(logits[i], i), &allowed = bounds.at(i);
    const auto ratio_of = [](double error, double bound) { return error > 0 ? error / bound : 0; };
    const double ratio =
        std::max(ratio_of(found.largest, allowed.largest), ratio_of(found.rms, allowed.rms));
    if (ratio <= worst) continue;
    worst = ratio;
    result.max_abs = found.largest;
    result.bound = allowed.largest;
    result.rms = found.rms;
    result.rms_bound = allowed.rms;
  }
  result.positions = std::ssize(logits);
  if (logits_.vectors) {
    result.cosine_distance = 0;
    for (size_t i = 0; i < logits.size(); ++i) {
      result.cosine_distance = std::max(*result.cosine_distance, cosine_distance(logits[i], i));
    }
  } else {
    compare_tokens(bounds, logits, result);
  }
  // Not `worst > 1`, which a NaN would pass.
  result.passed = worst <= 1 && result.top1_changes == 0;
  return result;
}

void ModelReference::compare_tokens(const Bounds& bounds, const std::vector<HostTensor>& logits,
                                    ModelCheck& result) const {
  const int64_t k = std::min(ModelCheck::kTopK, vocabulary_);
  double kl_sum = 0;
  int64_t agreed = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    std::vector<double> own;
    for (int64_t v = 0; v < vocabulary_; ++v) {
      const double value = logits[i].at_f64(v);
      // A NaN is not a candidate; it fails by its error.
      own.push_back(std::isnan(value) ? -std::numeric_limits<double>::infinity() : value);
    }
    int64_t top = argmax(own.data(), vocabulary_), compared = argmax(row(i), vocabulary_);
    if (row(i)[compared] - row(i)[top] > 2 * bounds.at(i).largest) ++result.top1_changes;
    const double kl = divergence({row(i), static_cast<size_t>(vocabulary_)}, own);
    result.kl_max = std::max(result.kl_max, kl);
    kl_sum += kl;
    const std::vector<int64_t> wanted = largest(row(i), vocabulary_, k);
    const std::vector<int64_t> found = largest(own.data(), vocabulary_, k);
    agreed += std::ranges::count_if(
        wanted, [&](int64_t token) { return std::ranges::find(found, token) != found.end(); });
    if (top != compared && result.first_divergent < 0) {
      result.first_divergent = static_cast<int64_t>(i);
      result.reference_token = static_cast<int32_t>(compared);
      result.own_token = static_cast<int32_t>(top);
      result.margin = row(i)[compared] - row(i)[top];
    }
  }
  if (logits.empty()) return;
  result.kl_mean = kl_sum / static_cast<double>(logits.size());
  result.top_k_agreement = static_cast<double>(agreed) / static_cast<double>(k * result.positions);
}

double ModelReference::cosine_distance(const HostTensor& vector, size_t i) const {
  double product = 0, own = 0, wanted = 0;
  for (int64_t v = 0; v < vocabulary_; ++v) {
    const double a = vector.at_f64(v), b = row(i)[v];
    product += a * b;
    own += a * a;
    wanted += b * b;
  }
  if (own == 0 && wanted == 0) return 0;
  const double distance = 1 - product / std::sqrt(own * wanted);
  // A rounded quotient may exceed 1.
  return std::isfinite(distance) ? std::max(distance, 0.0) : 2;
}

double ModelReference::margin(int32_t token) const {
  if (token < 0 || token >= vocabulary_) return std::numeric_limits<double>::infinity();
  const double* values = row(0);
  return values[argmax(values, vocabulary_)] - values[token];
}

std::vector<TokenMargin> ModelReference::margins() const {
  std::vector<TokenMargin> margins;
  if (logits_.vectors) return margins;
  for (size_t i = 0; i < bounds_.size(); ++i) {
    const std::vector<int64_t> best =
        largest(row(i), vocabulary_, std::min<int64_t>(2, vocabulary_));
    margins.push_back({.token = static_cast<int32_t>(best.front()),
                       .margin = row(i)[best.front()] - row(i)[best.back()],
                       .bound = bounds_[i].largest});
  }
  return margins;
}

ModelReference::Distance ModelReference::distance(const HostTensor& logits, size_t i) const {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Distance result;
  double squares = 0;
  for (int64_t v = 0; v < vocabulary_; ++v) {
    const double difference = std::abs(logits.at_f64(v) - row(i)[v]);
    if (std::isnan(difference)) return {kInfinity, kInfinity};
    result.largest = std::max(result.largest, difference);
    squares += difference * difference;
  }
  result.rms = std::sqrt(squares / static_cast<double>(vocabulary_));
  return result;
}

}  // namespace tapml::topdown
