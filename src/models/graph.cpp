#include "models/graph.h"

#include <algorithm>
#include <utility>

#include "ir/exceptions.h"
#include "models/quantization.h"
#include "tensor/packed_levels.h"

namespace tapml::models {

using namespace relax;  // NOLINT: this file is about relax alone

namespace {

// "src/models/blocks/linear.cpp:20", wherever the program was built.
std::string line_text(const Graph::Line& line) {
  const std::string file = line.file_name();
  constexpr std::string_view kRoot = "/src/";
  const size_t root = file.rfind(kRoot);
  return (root == std::string::npos ? file : file.substr(root + 1)) + ":" +
         std::to_string(line.line());
}

}  // namespace

Origin origin_at(const std::string& path, const std::source_location& line) {
  Origin origin = {path};
  origin.lines = {line_text(line)};
  return origin;
}

bool GraphParameters::has_state(StateKind kind) const {
  return std::ranges::any_of(state, [&](const StateTensor& one) { return one.kind == kind; });
}

Graph::Graph(const Module& module, const ModelDTypes& dtypes, PrimExpr tokens, int64_t page_size,
             bool is_known)
    : builder_(module),
      dtypes_(dtypes),
      n_(std::move(tokens)),
      page_size_(page_size),
      is_known_(is_known),
      activations_(dtypes.activations()),
      cache_(dtypes.cache()),
      accumulation_(dtypes.accumulation()) {
  token_ids_ = builder_.param("tokens", tensor_annotation({b_, n_}, DType::kI32));
}

Graph::Graph(const Module& module, const ModelDTypes& dtypes, PrimExpr tokens, int64_t page_size,
             const GraphParameters* known, const GraphInputs& inputs)
    : Graph(module, dtypes, std::move(tokens), page_size, known != nullptr) {
  if (!known || known->has_state(StateKind::kPaged)) {
    page_table_ = builder_.param("page_table", tensor_annotation({b_, p_}, DType::kI32));
    lengths_ = builder_.param("lengths", tensor_annotation({b_}, DType::kI32));
  }
  if (!known || known->has_state(StateKind::kRecurrent) || known->has_state(StateKind::kFixed)) {
    slots_ = builder_.param("slots", tensor_annotation({b_}, DType::kI32));
  }
  if (inputs.text_lengths) {
    text_lengths_ = builder_.param("text_lengths", tensor_annotation({b_}, DType::kI32));
  }
  placed_ = inputs.placed;
  if (placed_.width > 0) {
    embeddings_ = builder_.param(
        "embeddings", tensor_annotation({b_, make_size("m"), placed_.width}, DType::kF32));
    placement_ = builder_.param("placement", tensor_annotation({b_, n_}, DType::kI32));
  }
  if (known) {
    parameters_ = *known;
    for (const StateTensor& state : known->state) declare(state);
    for (const WeightSpec& spec : known->weights) declare(spec);
  }
  builder_.begin_dataflow();
}

Graph::Graph(const Module& module, const ModelDTypes& dtypes, const GraphParameters* known)
    : Graph(module, dtypes, make_size("n"), 1, known != nullptr) {
  valid_counts_ = builder_.param("counts", tensor_annotation({b_}, DType::kI32));
  if (known) {
    parameters_ = *known;
    for (const WeightSpec& spec : known->weights) declare(spec);
  }
  builder_.begin_dataflow();
  lengths_ = op("full", {make_shape({b_})}, {{"value", 0.0}, {"dtype", DType::kI32}});
}

Graph::Graph(const Module& module, const ModelDTypes& dtypes, bool is_known)
    : builder_(module),
      dtypes_(dtypes),
      n_(0),
      page_size_(0),
      is_known_(is_known),
      activations_(dtypes.activations()),
      cache_(dtypes.cache()),
      accumulation_(dtypes.accumulation()) {}

Graph::Graph(const Module& module, const ModelDTypes& dtypes, const FeatureShape& features,
             const GraphParameters* known)
    : Graph(module, dtypes, known != nullptr) {
  Dims shape = {b_};
  shape.insert(shape.end(), features.shape.begin(), features.shape.end());
  features_ = builder_.param("features", tensor_annotation(std::move(shape), DType::kF32));
  slots_ = builder_.param("slots", tensor_annotation({b_}, DType::kI32));
  if (known) {
    parameters_.weights = known->weights;
    std::ranges::copy_if(known->state, std::back_inserter(parameters_.state),
                         [](const StateTensor& one) { return one.kind == StateKind::kFixed; });
    for (const StateTensor& state : parameters_.state) declare(state);
    for (const WeightSpec& spec : known->weights) declare(spec);
  }
  builder_.begin_dataflow();
}

Graph::Graph(const Module& module, const ModelDTypes& dtypes, const Shape& image,
             const GraphParameters* known)
    : Graph(module, dtypes, known != nullptr) {
  Dims shape = {b_};
  shape.insert(shape.end(), image.begin(), image.end());
  pixels_ = builder_.param("pixels", tensor_annotation(std::move(shape), DType::kF32));
  if (known) {
    parameters_.weights = known->weights;
    for (const WeightSpec& spec : known->weights) declare(spec);
  }
  builder_.begin_dataflow();
}

FunctionRef Graph::finish(const Variable& result) {
  std::vector<Expr> results;
  if (result) results.emplace_back(result);
  for (const StateTensor& state : parameters_.state) results.push_back(pools_.at(state.name));
  return builder_.finish(make_tuple(std::move(results)));
}

void Graph::declare(const StateTensor& state) {
  Dims shape = {rows_};
  if (state.kind == StateKind::kPaged) shape = {pages_, page_size_};
  shape.insert(shape.end(), state.shape.begin(), state.shape.end());
  pools_[state.name] = builder_.param(state.name, tensor_annotation(std::move(shape), state.dtype));
}

void Graph::declare(const WeightSpec& spec) {
  auto add = [&](const std::string& name, const Shape& shape, DType dtype) {
    weights_[name] =
        builder_.param(name, tensor_annotation(Dims(shape.begin(), shape.end()), dtype));
  };
  const auto layout = dtypes_.layout_of(spec);
  if (!layout) return add(spec.name, spec.shape, dtypes_.of(spec.name));
  Shape packed = spec.shape;
  if (layout->is_swapped) std::swap(packed.back(), packed.at(packed.size() - 2));
  Shape scales = packed;
  const int64_t columns = packed.back();
  if (!layout->is_whole()) packed.back() = packed_row_bytes(columns, layout->bits);
  scales.back() /= layout->group;
  add(packed_name(spec.name), packed, layout->packed());
  add(scales_name(spec.name), scales, layout->scales);
  if (layout->has_minimums) add(minimums_name(spec.name), scales, layout->scales);
  if (layout->has_order) add(order_name(spec.name), {columns}, DType::kI32);
}

Variable Graph::token_numbers(Dims shape, const Line& line) {
  const Variable numbers =
      op("arange", {make_prim_value(0), make_prim_value(n_)}, {{"dtype", DType::kI32}}, line);
  return op("reshape", {numbers, make_shape(std::move(shape))}, {}, line);
}

Variable Graph::positions() {
  if (positions_) return positions_;
  const Variable offsets = token_numbers({1, n_});
  positions_ = op("add", {op("reshape", {lengths_, make_shape({b_, 1})}), offsets});
  return positions_;
}

Variable Graph::ahead() {
  if (!placement_ || !placed_.both_ways || ahead_) return ahead_;
  const Origin caller = std::exchange(origin_, Origin{"model"});
  const Expr zero = number(0, DType::kI32);
  const Variable has_none = op("less", {placement_, zero});
  // Between two tokens with an embedding is another one if the second has counted more of these.
  const Variable others =
      op("cumsum", {op("cast", {has_none}, {{"dtype", DType::kI32}})}, {{"axis", int64_t{1}}});
  const Variable same_run = op("equal", {op("reshape", {others, make_shape({b_, n_, 1})}),
                                         op("reshape", {others, make_shape({b_, 1, n_})})});
  const Variable distance = op("subtract", {token_numbers({1, 1, n_}), token_numbers({1, n_, 1})});
  const Variable farthest =
      op("max", {op("where", {same_run, distance, zero})}, {{"axes", std::vector<int64_t>{2}}});
  ahead_ = op("where", {has_none, zero, farthest});
  origin_ = caller;
  return ahead_;
}

build::FunctionBuilder& Graph::at(const Line& line) {
  origin_.lines = {line_text(line)};
  builder_.set_origin(origin_);
  return builder_;
}

Variable Graph::op(const char* name, std::vector<Expr> args, AttrMap attrs, const Line& line) {
  return at(line).emit_op(name, std::move(args), std::move(attrs));
}

Variable Graph::scaled(const Variable& x, double factor, const Line& line) {
  if (factor == 1) return x;
  const DType dtype = as_tensor(x->annotation)->dtype.value_or(DType::kF32);
  return op("multiply", {x, number(factor, dtype)}, {}, line);
}

Expr Graph::number(double value, DType dtype) {
  HostTensor number = HostTensor::zeros(dtype, {});
  number.set_f64(0, value);
  return make_constant(std::move(number));
}

Expr Graph::constant(const std::vector<float>& values) {
  Expr& known = constants_[values];
  if (!known) {
    known = make_constant(
        HostTensor::from(DType::kF32, {std::ssize(values)}, std::span<const float>(values)));
  }
  return known;
}

Variable Graph::field(const Variable& tuple, int64_t index, const Line& line) {
  return at(line).emit(make_get_item(tuple, static_cast<int>(index)));
}

int64_t Graph::width(const Variable& x) {
  const TensorAnnotation* tensor = as_tensor(x->annotation);
  if (!tensor || !tensor->shape || tensor->shape->empty() || !tensor->shape->back().is_int()) {
    throw_internal("the last dimension of a hidden state is not constant");
  }
  return tensor->shape->back()->int_value;
}

Variable Graph::stored_weight(const WeightSpec& spec) {
  if (auto known = weights_.find(spec.name); known != weights_.end()) return known->second;
  if (is_known_) throw_internal("a function of the model has a weight of its own: " + spec.name);
  if (!checked_byte_count(DType::kF64, spec.shape)) {
    throw_user("the model is too large: weight " + spec.name + " overflows", "",
               "fewer than 2^63 bytes", shape_to_string(spec.shape));
  }
  WeightSpec own = spec;
  if (pixels_) own.linear = own.expands = false;
  parameters_.weights.push_back(own);
  declare(own);
  const auto declared = weights_.find(spec.name);
  return declared == weights_.end() ? Variable() : declared->second;
}

Variable Graph::weight(const WeightSpec& spec, const Line& line) {
  const std::string packed_parameter = packed_name(spec.name);
  WeightSpec own = spec;
  own.expands = true;
  if (!weights_.contains(packed_parameter)) {
    if (Variable stored = stored_weight(own)) return stored;
  }
  const WeightLayout layout = *dtypes_.layout_of(own);
  std::vector<Expr> args = {weights_.at(packed_parameter), weights_.at(scales_name(spec.name))};
  AttrMap attrs = {{"group", layout.group}};
  if (layout.has_levels() && !layout.is_whole() && layout.bits != 4) {
    attrs["bits"] = int64_t{layout.bits};
  }
  const char* name = "dequantize";
  if (layout.has_minimums) {
    name = "dequantize_affine";
    args.push_back(weights_.at(minimums_name(spec.name)));
  }
  if (!layout.values.empty()) {
    name = "dequantize_table";
    attrs["values"] = std::vector<double>(layout.values.begin(), layout.values.end());
  }
  if (!layout.format.empty()) {
    name = "dequantize_float";
    attrs["format"] = layout.format;
  }
  return op(name, std::move(args), std::move(attrs), line);
}

Variable Graph::ordered(const Variable& x, const WeightSpec& spec, const Line& line) {
  const auto order = weights_.find(order_name(spec.name));
  if (order == weights_.end()) return x;
  return op("take", {x, order->second}, {{"axis", int64_t{-1}}}, line);
}

Variable Graph::quantized(const Variable& x, const WeightSpec& spec, const Line& line) {
  WeightSpec own = spec;
  own.expands = true;
  const auto layout = dtypes_.layout_of(own);
  if (!dtypes_.precision.quantized_inputs || !layout || weights_.contains(spec.name)) return x;
  if (!layout->has_levels()) return x;
  const AttrMap attrs = {{"group", layout->group}};
  const Variable both = op("quantize", {x}, attrs, line);
  return op("dequantize", {field(both, 0, line), field(both, 1, line)}, attrs, line);
}

bool Graph::has_outputs_first(const WeightSpec& spec) const {
  const auto layout = dtypes_.layout_of(spec);
  return !spec.transposed || (layout && layout->is_swapped);
}

Expr& Graph::state(StateTensor state) {
  if (state.kind != StateKind::kRecurrent) state.dtype = cache_;
  auto known = pools_.find(state.name);
  if (known == pools_.end()) {
    if (is_known_) throw_internal("a function of the model has state of its own: " + state.name);
    declare(state);
    known = pools_.find(state.name);
    parameters_.state.push_back(std::move(state));
  }
  return known->second;
}

Variable Graph::update(const char* name, std::vector<Expr> args, const Line& line) {
  return at(line).emit_op(name, std::move(args), {}, "", true);
}

Variable Graph::call_program(const char* name, std::vector<Expr> args, Expr& state,
                             Annotation result, const Line& line) {
  const auto last = std::ssize(args);
  Annotation updated = annotation_of(state);
  args.push_back(state);
  const Variable results = at(line).emit(
      make_op_call("call_tir_inplace", {make_global(name), make_tuple(std::move(args))},
                   {{"inout_indices", std::vector<int64_t>{-1, last}}},
                   {std::move(result), std::move(updated)}));
  state = at(line).emit(make_get_item(results, 1), "", true);
  return field(results, 0, line);
}

Variable Graph::widened(const Variable& x, const Line& line) {
  return as_tensor(x->annotation)->dtype == DType::kF32
             ? x
             : op("cast", {x}, {{"dtype", DType::kF32}}, line);
}

Variable Graph::narrowed(const Variable& x, const Line& line) {
  return activations_ == DType::kF32 ? x : op("cast", {x}, {{"dtype", activations_}}, line);
}

void Graph::add_accumulation(AttrMap& attrs) const {
  if (accumulation_ != DType::kF32) attrs["accumulation"] = accumulation_;
}

Variable Graph::result(const char* name, std::vector<Expr> args, AttrMap attrs, const char* label,
                       const Line& line) {
  return at(line).emit_op(name, std::move(args), std::move(attrs), label, true);
}

}  // namespace tapml::models
