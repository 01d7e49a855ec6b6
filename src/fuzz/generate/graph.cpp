#include "fuzz/generate/graph.h"

#include <algorithm>

#include "arith/evaluate.h"
#include "build/block_builder.h"
#include "fuzz/generate/dimension_names.h"
#include "ir/exceptions.h"
#include "op/operator.h"
#include "passes/legalize.h"
#include "text/common.h"

namespace tapml::fuzz {

namespace {

using relax::Expr;
using relax::Variable;

// Sizes around those of vectors and tiles, where the compiler's loops have tails.
constexpr int64_t kBoundaries[] = {6, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129};
// An input has at most this many elements, and so have values that later operators read.
constexpr int64_t kMostElements = 2048;
constexpr size_t kMostRank = 6;
// How often an operator that no earlier value fits gets a parameter of its own.
constexpr double kOwnFirst = 0.2;
// How often a candidate is a product.
constexpr double kProduct = 0.06;
// Operators that are drawn for one candidate.
constexpr int kOperatorDraws = 3;
// How often a call comes twice.
constexpr double kTwin = 0.1;
// A graph takes the next candidate, whatever it adds, after this many refusals in a row.
constexpr int kMostGraphRefusals = 24;

class GraphGenerator {
 public:
  GraphGenerator(uint64_t seed, const Coverage& snapshot, const GraphOptions& options)
      : rng_(seed, "graph"),
        snapshot_(snapshot),
        options_(options),
        names_(rng_.chance(0.5) ? DimForm::kSymbolic : DimForm::kStatic) {
    extents_ = {1, rng_.between(2, 5), boundary()};
    if (rng_.chance(0.3)) extents_.push_back(boundary());
    if (rng_.chance(0.05)) extents_.push_back(0);
  }

  Graph make() {
    while (values_.empty()) start();
    const int most = 60 * options_.operators;
    for (int attempt = 0; graph_.operators < options_.operators && attempt < most; ++attempt) {
      grow();
    }
    finish();
    return std::move(graph_);
  }

 private:
  struct Known {
    Expr value;
    DType dtype;
    Shape shape;
    const op::OperatorInfo* producer = nullptr;
    int uses = 0;
  };
  // A candidate's operands: earlier values, by number, or new ones.
  struct Draft {
    std::vector<size_t> used;
    std::vector<std::pair<Variable, op::GeneratedTensor>> parameters;
    std::vector<Expr> args;
  };

  int64_t boundary() { return kBoundaries[rng_.below(std::size(kBoundaries))]; }

  static const op::OperatorInfo& product() {
    static const op::OperatorInfo& kMatmul = *op::find_operator("matmul");
    return kMatmul;
  }

  // Products more often than others: libraries have routines for them, in two dtypes.
  const op::OperatorInfo& any_operator() {
    if (rng_.chance(kProduct)) return product();
    const auto table = op::operator_table();
    const auto draw = [&] { return rng_.below(static_cast<uint32_t>(table.size())); };
    size_t best = draw();
    if (options_.policy == Policy::kNone) return *table[best];
    // Of a few, the one with the largest share of dtypes that nothing has covered.
    double most = uncovered(best);
    for (int other = 1; other < kOperatorDraws; ++other) {
      const size_t at = draw();
      const double share = uncovered(at);
      if (share > most) best = at;
      most = std::max(most, share);
    }
    return *table[best];
  }

  // The share of an operator's dtypes in which it is not covered.
  double uncovered(size_t at) const {
    static const auto kKeys = [] {
      std::vector<std::vector<CoverageKey>> keys;
      for (const op::OperatorInfo* info : op::operator_table()) {
        keys.emplace_back();
        for (const DType dtype : info->generator.dtypes) {
          keys.back().push_back(dtype_key(info->name, dtype));
        }
      }
      return keys;
    }();
    const auto missing = std::ranges::count_if(kKeys[at], [&](const CoverageKey& key) {
      return !snapshot_.contains(key) && !graph_.added.contains(key);
    });
    return kKeys[at].empty() ? 0 : static_cast<double>(missing) / std::ssize(kKeys[at]);
  }

  // A first parameter for some operator.
  void start() {
    const op::OperatorInfo& info = any_operator();
    if (info.generator.ranks.empty()) return;
    op::GeneratedTensor type{
        op::pick(info.generator.dtypes, rng_), {}, info.generator.low, info.generator.high};
    for (int rank = op::pick(info.generator.ranks, rng_); rank > 0; --rank) {
      type.shape.push_back(op::pick(extents_, rng_));
    }
    op::keep_moderate(type.shape, kMostElements);
    Draft draft;
    const Expr value = parameter(type, draft);
    values_.push_back({value, type.dtype, type.shape});
    commit(draft);
  }

  Expr parameter(const op::GeneratedTensor& type, Draft& draft) {
    const size_t number = params_.size() + draft.parameters.size() + 1;
    Variable variable =
        relax::make_variable("x" + std::to_string(number),
                             relax::tensor_annotation(names_.tensor(type.shape), type.dtype));
    draft.parameters.emplace_back(variable, type);
    return variable;
  }

  void commit(Draft& draft) {
    for (auto& [variable, type] : draft.parameters) {
      params_.push_back(variable);
      graph_.inputs.push_back(type);
    }
    for (const size_t at : draft.used) ++values_[at].uses;
  }

  // Whether an earlier value may be this operand: floats, and integers of the first argument's
  // meaning. Other integers are indices and counts, which are drawn afresh.
  static bool may_be_earlier(const op::OperatorInfo& info, const op::GeneratedTensor& first,
                             const op::GeneratedTensor& type) {
    if (type.order != op::GeneratedTensor::Order::kFree) return false;
    if (is_float(type.dtype)) return true;
    return type.dtype == first.dtype && type.low == info.generator.low &&
           type.high == info.generator.high;
  }

  Expr operand(const op::OperatorInfo& info, const op::GeneratedTensor& first,
               const op::GeneratedTensor& type, Draft& draft) {
    if (may_be_earlier(info, first, type) && rng_.chance(0.6)) {
      std::vector<size_t> fitting;
      for (size_t i = 0; i < values_.size(); ++i) {
        if (values_[i].dtype == type.dtype && values_[i].shape == type.shape) fitting.push_back(i);
      }
      if (!fitting.empty()) {
        draft.used.push_back(op::pick(fitting, rng_));
        return values_[draft.used.back()].value;
      }
    }
    const auto bytes = static_cast<size_t>(element_count(type.shape)) * dtype_bytes(type.dtype);
    if (rng_.chance(0.25) && bytes <= text::kInlineConstantBytes && is_constant_shape(type.shape)) {
      return relax::make_constant(op::random_tensor(type, rng_));
    }
    return parameter(type, draft);
  }

  bool is_constant_shape(const Shape& shape) const {
    return names_.form() == DimForm::kStatic ||
           std::all_of(shape.begin(), shape.end(), [](int64_t dim) { return dim < 2; });
  }

  // Adds one call, if this draw gives one.
  void grow() {
    if (rng_.chance(0.1)) start();
    // Names of a candidate that is not taken are bound by nothing.
    const DimNames before = names_;
    if (!draw()) names_ = before;
  }

  bool draw() {
    const op::OperatorInfo& info = any_operator();
    // A tensor that is updated in place must not be read again.
    if (!info.inout.empty() || !info.pure) return false;
    size_t at = rng_.below(static_cast<uint32_t>(values_.size()));
    if (rng_.chance(0.5)) at = values_.size() - 1;  // deep rather than wide
    const op::GeneratedTensor first{values_[at].dtype, values_[at].shape, info.generator.low,
                                    info.generator.high};
    // The operator may make its first tensor from nothing, or take one that no value here fits.
    bool creates = info.generator.ranks.empty();
    const bool for_library = &info == &product() && rng_.chance(0.5);
    op::GeneratedCall call;
    if (creates || for_library || !op::generate_call_of(info, first, rng_, call)) {
      if (!creates && !for_library && !rng_.chance(kOwnFirst)) return false;
      creates = true;
      const DType dtype = for_library ? (rng_.chance(0.7) ? DType::kF32 : DType::kF64)
                                      : op::pick(info.generator.dtypes, rng_);
      if (!op::generate_call(info, dtype, extents_, rng_, call)) return false;
    }
    Draft draft;
    if (!creates) draft.used.push_back(at);
    for (size_t i = 0; i < call.args.size(); ++i) {
      std::vector<Expr> tensors;
      for (const op::GeneratedTensor& type : call.args[i].tensors) {
        const bool given = i == 0 && tensors.empty() && !creates;
        tensors.push_back(given ? values_[at].value : operand(info, first, type, draft));
      }
      draft.args.push_back(argument(info.args[i].kind, std::move(tensors), call.args[i].ints));
    }
    if (!add(info, draft, call.attrs)) return false;
    if (!creates && rng_.chance(kTwin)) add_twin(info, first, call, draft);
    return true;
  }

  // The same call again, mostly with other attributes: what is alike but not equal.
  void add_twin(const op::OperatorInfo& info, const op::GeneratedTensor& first,
                const op::GeneratedCall& call, const Draft& draft) {
    AttrMap attrs = call.attrs;
    for (int attempt = 0; attempt < 4 && attrs == call.attrs && !info.attrs.empty(); ++attempt) {
      op::GeneratedCall other;
      if (op::generate_call_of(info, first, rng_, other) && has_arguments(other, call)) {
        attrs = std::move(other.attrs);
      }
    }
    Draft twin{draft.used, {}, draft.args};
    add(info, twin, std::move(attrs), true);
  }

  static bool has_arguments(const op::GeneratedCall& a, const op::GeneratedCall& b) {
    const auto same_tensor = [](const op::GeneratedTensor& x, const op::GeneratedTensor& y) {
      return x.dtype == y.dtype && x.shape == y.shape;
    };
    return std::ranges::equal(a.args, b.args, [&](const auto& x, const auto& y) {
      return x.ints == y.ints && std::ranges::equal(x.tensors, y.tensors, same_tensor);
    });
  }

  Expr argument(op::ArgumentKind kind, std::vector<Expr> tensors,
                const std::vector<int64_t>& ints) {
    switch (kind) {
      case op::ArgumentKind::kTensor:
        return tensors.at(0);
      case op::ArgumentKind::kTensors:
        return relax::make_tuple(std::move(tensors));
      case op::ArgumentKind::kShape:
        return relax::make_shape(names_.integers(ints));
      case op::ArgumentKind::kPrim:
        break;
    }
    return relax::make_prim_value(names_.integers(ints).at(0));
  }

  // `wanted`: whatever it covers.
  bool add(const op::OperatorInfo& info, Draft& draft, AttrMap attrs, bool wanted = false) {
    const Expr value = relax::make_op_call(info.name, draft.args, std::move(attrs));
    const auto& call = static_cast<const relax::CallNode&>(*value);
    relax::Annotation annotation;
    const Status accepted = guard([&] {
      annotation = op::deduce(call);
      if (names_.form() == DimForm::kSymbolic && !is_elementwise(info)) {
        check_alone(value, annotation, draft);
      }
    });
    if (!accepted) {
      if (accepted.error().kind != ErrorKind::kUser) throw_error(accepted.error());
      return false;
    }
    // How many elements an inexact value selects is not determined.
    if (depends_on_data(annotation) && reads_made(draft)) return false;
    if (!wanted && !is_wanted(info, draft, annotation)) {
      ++graph_.refused;
      return false;
    }
    commit(draft);
    ++graph_.operators;
    keep(bind(value, annotation, info.name), annotation, &info);
    return true;
  }

  static bool depends_on_data(const relax::Annotation& annotation) {
    if (const auto* tuple = relax::as_tuple(annotation)) {
      return std::any_of(tuple->fields.begin(), tuple->fields.end(), depends_on_data);
    }
    const auto* tensor = relax::as_tensor(annotation);
    return !tensor || !tensor->shape;
  }

  bool reads_made(const Draft& draft) const {
    return std::any_of(draft.used.begin(), draft.used.end(),
                       [&](size_t at) { return values_[at].producer != nullptr; });
  }

  // Equal sizes have one name, so tensors alone always fit each other.
  static bool is_elementwise(const op::OperatorInfo& info) {
    return info.attrs.empty() &&
           std::all_of(info.args.begin(), info.args.end(),
                       [](const auto& arg) { return arg.kind == op::ArgumentKind::kTensor; });
  }

  // Throws if the call cannot be lowered with its symbolic dimensions.
  static void check_alone(const Expr& value, const relax::Annotation& annotation,
                          const Draft& draft) {
    std::vector<Variable> params;
    auto add_variable = [&](const Expr& expr) {
      const auto variable = std::dynamic_pointer_cast<const relax::VarNode>(expr);
      if (variable && std::find(params.begin(), params.end(), variable) == params.end()) {
        params.push_back(variable);
      }
    };
    for (const Expr& arg : draft.args) {
      add_variable(arg);
      if (const auto* tuple = relax::as<relax::TupleNode>(arg)) {
        for (const Expr& field : tuple->fields) add_variable(field);
      }
    }
    Variable result = relax::make_variable("y", annotation);
    Module alone;
    alone.functions["main"] = relax::make_function(
        params, relax::make_seq({{false, {{result, value, nullptr, {}}}}}, result), annotation);
    passes::legalize(alone);
  }

  bool is_wanted(const op::OperatorInfo& info, const Draft& draft,
                 const relax::Annotation& annotation) {
    std::vector<CoverageKey> keys;
    relax::Annotation first = annotation;
    if (const auto* tuple = relax::as_tuple(annotation)) {
      if (!tuple->fields.empty()) first = tuple->fields[0];
    }
    if (const auto* tensor = relax::as_tensor(first)) {
      if (tensor->dtype) keys.push_back(dtype_key(info.name, *tensor->dtype));
      if (const auto shape = extents_of(first)) keys.push_back(shape_key(info.name, *shape));
    }
    for (const size_t at : draft.used) {
      if (values_[at].producer) keys.push_back(edge_key(values_[at].producer->name, info.name));
    }
    bool added[kCriteria] = {};  // of the first three
    std::erase_if(keys, [&](const CoverageKey& key) {
      return snapshot_.contains(key) || graph_.added.contains(key);
    });
    for (const CoverageKey& key : keys) added[static_cast<size_t>(key.criterion)] = true;
    const int count = added[0] + added[1] + added[2];
    if (refusals_ < kMostGraphRefusals && !accepts(options_.policy, count, rng_)) {
      ++refusals_;
      return false;
    }
    refusals_ = 0;
    for (const CoverageKey& key : keys) graph_.added.add(key);
    return true;
  }

  std::optional<Shape> extents_of(const relax::Annotation& annotation) const {
    const auto* tensor = relax::as_tensor(annotation);
    if (!tensor || !tensor->shape) return std::nullopt;
    Shape shape;
    for (const PrimExpr& dim : *tensor->shape) {
      const auto extent =
          dim.is_int() ? std::optional(dim->int_value) : arith::evaluate(dim, names_.values());
      if (!extent) return std::nullopt;
      shape.push_back(*extent);
    }
    return shape;
  }

  Variable bind(Expr value, relax::Annotation annotation, const std::string& name) {
    Variable variable = relax::make_variable(name + "_" + std::to_string(bindings_.size() + 1),
                                             std::move(annotation), true);
    bindings_.push_back({variable, std::move(value), nullptr, {}});
    return variable;
  }

  // Later calls may use the value if its shape is known before the run and has names.
  void keep(const Expr& value, const relax::Annotation& annotation, const op::OperatorInfo* made) {
    if (const auto* tuple = relax::as_tuple(annotation)) {
      for (size_t i = 0; i < tuple->fields.size(); ++i) {
        keep(bind(relax::make_get_item(value, static_cast<int>(i)), tuple->fields[i], "field"),
             tuple->fields[i], made);
      }
      return;
    }
    const auto* tensor = relax::as_tensor(annotation);
    const auto shape = extents_of(annotation);
    // A value of unknown shape is a result, not an operand.
    if (!shape || !tensor->dtype || element_count(*shape) > 2 * kMostElements ||
        shape->size() > kMostRank || !names_.states(*tensor->shape, *shape)) {
      results_.push_back(value);
      return;
    }
    values_.push_back({value, *tensor->dtype, *shape, made});
  }

  // Returns all unused values, and sometimes an intermediate one.
  void finish() {
    std::vector<Expr> results = std::move(results_);
    for (const Known& known : values_) {
      if (known.producer && (known.uses == 0 || rng_.chance(0.1))) results.push_back(known.value);
    }
    if (results.empty()) results.push_back(values_.back().value);
    std::vector<relax::Annotation> annotations;
    for (const Expr& result : results) annotations.push_back(relax::annotation_of(result));
    const relax::Annotation annotation = relax::tuple_annotation(std::move(annotations));
    Variable last = relax::make_variable("results", annotation);
    bindings_.push_back({last, relax::make_tuple(std::move(results)), nullptr, {}});
    graph_.module.functions["main"] = relax::make_function(
        params_, relax::make_seq({{true, std::move(bindings_)}}, last), annotation);
  }

  RandomStream rng_;
  const Coverage& snapshot_;
  const GraphOptions& options_;
  DimNames names_;
  std::vector<int64_t> extents_;
  std::vector<Known> values_;
  std::vector<Expr> results_;
  std::vector<Variable> params_;
  std::vector<relax::Binding> bindings_;
  int refusals_ = 0;  // in a row
  Graph graph_;
};

}  // namespace

Graph generate_graph(uint64_t seed, const Coverage& snapshot, const GraphOptions& options) {
  return GraphGenerator(seed, snapshot, options).make();
}

std::vector<HostTensor> draw_inputs(const std::vector<op::GeneratedTensor>& inputs, uint64_t seed) {
  RandomStream rng(seed, "inputs");
  std::vector<HostTensor> tensors;
  for (const op::GeneratedTensor& input : inputs) tensors.push_back(op::random_tensor(input, rng));
  return tensors;
}

}  // namespace tapml::fuzz
