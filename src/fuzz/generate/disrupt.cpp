#include "fuzz/generate/disrupt.h"

#include <algorithm>
#include <optional>

#include "fuzz/generate/generate.h"
#include "fuzz/generate/graph.h"
#include "ir/exceptions.h"
#include "op/operator.h"
#include "relax/rewrite.h"
#include "relax/visit.h"

namespace tapml::fuzz {

namespace {

using relax::Expr;
using relax::Variable;

constexpr DisruptionRule kRules[] = {
    {"arity", "a call has an argument too many, or too few"},
    {"unknown attribute", "a call has an attribute that its operator lacks"},
    {"attribute type", "an attribute has a value of another type"},
    {"dtype", "the first argument has a dtype that the operator does not take"},
    {"dtypes", "the dtypes of two operands do not fit each other"},
    {"shape", "the shapes of two operands do not broadcast"},
    {"rank", "the first argument has another rank than the operator takes"},
    {"scope", "a call reads a variable that is bound after it"},
    {"purity", "a pure function calls an impure one"},
    {"annotation", "the annotation of a variable states another dtype"},
};

// The main function of a graph in parts that may change.
struct Parts {
  std::vector<Variable> params;
  std::vector<relax::Binding> bindings;
  Expr result;
};

class Disruption {
 public:
  Disruption(const Module& module, RandomStream& rng) : module_(module), rng_(rng) {
    const auto& main = *relax::as_relax_function(module.find("main"));
    const relax::SeqNode& body = relax::body_of(main);
    parts_ = {main.params, body.blocks.at(0).bindings, body.result};
    for (size_t i = 0; i < parts_.bindings.size(); ++i) {
      if (op::called_operator_info(parts_.bindings[i].value)) calls_.push_back(i);
    }
  }

  // Breaks the rule; false if the program has no place for it.
  bool apply(std::string_view rule) {
    if (calls_.empty()) return false;
    at_ = op::pick(calls_, rng_);
    call_ = relax::as<relax::CallNode>(parts_.bindings[at_].value);
    info_ = op::called_operator_info(parts_.bindings[at_].value);
    result.op = info_->name;
    result.rule = rule;
    result.expected = {info_->name};
    if (rule == "arity") return arity();
    if (rule == "unknown attribute") return unknown_attribute();
    if (rule == "attribute type") return attribute_type();
    if (rule == "dtype") return dtype();
    if (rule == "dtypes") return dtypes();
    if (rule == "shape") return shape();
    if (rule == "rank") return rank();
    if (rule == "scope") return scope();
    if (rule == "purity") return purity();
    return annotation();
  }

  Disrupted result;
  Shape key_shape;
  DType key_dtype = DType::kF32;

 private:
  bool finish() {
    const auto* made = relax::as_tensor(parts_.bindings[at_].var->annotation);
    if (made && made->dtype) key_dtype = *made->dtype;
    if (made && made->shape) {
      for (const PrimExpr& dim : *made->shape)
        key_shape.push_back(dim.is_int() ? dim->int_value : -1);
    }
    const auto& main = *relax::as_relax_function(module_.find("main"));
    result.module = std::move(module_);
    result.module.functions["main"] = relax::make_function(
        parts_.params, relax::make_seq({{true, parts_.bindings}}, parts_.result), main.result);
    return true;
  }

  bool with_call(std::vector<Expr> args, AttrMap attrs) {
    parts_.bindings[at_].value =
        relax::make_op_call(info_->name, std::move(args), std::move(attrs));
    return finish();
  }
  bool with_argument(size_t index, Shape shape, DType dtype) {
    Variable param = relax::make_variable(
        "wrong", relax::tensor_annotation(Dims(shape.begin(), shape.end()), dtype));
    parts_.params.push_back(param);
    std::vector<Expr> args = call_->args;
    args[index] = param;
    return with_call(std::move(args), call_->attrs);
  }

  // The shape and dtype of a tensor operand with constant dimensions.
  struct Known {
    Shape shape;
    DType dtype;
  };
  std::optional<Known> known(size_t index) const {
    if (index >= call_->args.size() || info_->args[index].kind != op::ArgumentKind::kTensor) {
      return std::nullopt;
    }
    const relax::Annotation annotation = relax::annotation_of(call_->args[index]);
    const auto* tensor = relax::as_tensor(annotation);
    if (!tensor || !tensor->shape || !tensor->dtype) return std::nullopt;
    Known result{{}, *tensor->dtype};
    for (const PrimExpr& dim : *tensor->shape) {
      if (!dim.is_int()) return std::nullopt;
      result.shape.push_back(dim->int_value);
    }
    return result;
  }
  // Operators of two tensors that broadcast, by what the table says of their generation.
  bool broadcasts() const {
    static const op::GenerateRule kPartner = op::find_operator("add")->generator.rule;
    return info_->args.size() == 2 && info_->generator.rule == kPartner;
  }

  bool arity() {
    std::vector<Expr> args = call_->args;
    if (args.empty() || rng_.chance(0.5)) {
      args.push_back(args.empty() ? relax::make_shape({}) : args.back());
    } else {
      args.pop_back();
    }
    return with_call(std::move(args), call_->attrs);
  }

  bool unknown_attribute() {
    AttrMap attrs = call_->attrs;
    attrs["sideways"] = true;
    result.expected.emplace_back("sideways");
    return with_call(call_->args, std::move(attrs));
  }

  bool attribute_type() {
    if (info_->attrs.empty()) return false;
    const op::AttributeSpec& spec = op::pick(info_->attrs, rng_);
    AttrMap attrs = call_->attrs;
    if (spec.kind == op::AttributeKind::kString) {
      attrs[spec.name] = int64_t{7};
    } else {
      attrs[spec.name] = std::string("seven");
    }
    result.expected.emplace_back(spec.name);
    return with_call(call_->args, std::move(attrs));
  }

  bool dtype() {
    const auto first = known(0);
    if (!first) return false;
    std::vector<DType> refused;
    for (const DType dtype :
         {DType::kBool, DType::kI8, DType::kI16, DType::kI32, DType::kI64, DType::kU8, DType::kU16,
          DType::kU32, DType::kU64, DType::kF16, DType::kBF16, DType::kF32, DType::kF64}) {
      const auto& taken = info_->generator.dtypes;
      if (std::find(taken.begin(), taken.end(), dtype) == taken.end()) refused.push_back(dtype);
    }
    if (refused.empty()) return false;
    return with_argument(0, first->shape, op::pick(refused, rng_));
  }

  bool dtypes() {
    const auto first = known(0), second = known(1);
    if (!first || !second || !broadcasts()) return false;
    if (first->dtype == DType::kBool || std::string_view(info_->name).starts_with("logical")) {
      return false;
    }
    const DType other = is_float(first->dtype)        ? DType::kI32
                        : first->dtype == DType::kU16 ? DType::kI64
                                                      : DType::kU16;
    return with_argument(1, second->shape, other);
  }

  bool shape() {
    const auto first = known(0), second = known(1);
    if (!first || !second || !broadcasts() || first->shape.empty()) return false;
    Shape wrong = first->shape;
    const size_t axis = rng_.below(static_cast<uint32_t>(wrong.size()));
    if (wrong[axis] < 2) return false;
    wrong[axis] += rng_.between(1, 3);
    return with_argument(1, std::move(wrong), second->dtype);
  }

  bool rank() {
    const auto first = known(0);
    if (!first || info_->generator.ranks.size() != 1 || first->shape.size() < 3) return false;
    Shape wrong = first->shape;
    if (rng_.chance(0.5)) {
      wrong.pop_back();
    } else {
      wrong.push_back(1);
    }
    return with_argument(0, std::move(wrong), first->dtype);
  }

  bool scope() {
    std::vector<size_t> tensors;
    for (size_t i = 0; i < call_->args.size(); ++i) {
      if (relax::as<relax::VarNode>(call_->args[i])) tensors.push_back(i);
    }
    if (tensors.empty() || at_ + 1 >= parts_.bindings.size()) return false;
    const auto later = static_cast<uint32_t>(parts_.bindings.size() - at_);
    const Variable& variable = parts_.bindings[at_ + rng_.below(later)].var;
    result.expected = {variable->name};
    std::vector<Expr> args = call_->args;
    args[op::pick(tensors, rng_)] = variable;
    return with_call(std::move(args), call_->attrs);
  }

  bool purity() {
    Variable own = relax::make_variable("x", relax::object_annotation());
    module_.functions["effect"] = relax::make_function({own}, relax::make_seq({}, own),
                                                       relax::object_annotation(), {}, false);
    Variable made = relax::make_variable("changed", relax::object_annotation(), true);
    parts_.bindings.insert(
        parts_.bindings.begin() + static_cast<std::ptrdiff_t>(at_),
        {made, relax::make_call(relax::make_global("effect"), {parts_.params.at(0)}), nullptr, {}});
    result.op.clear();
    result.expected = {"pure"};
    return finish();
  }

  bool annotation() {
    relax::Binding& binding = parts_.bindings[at_];
    const auto* tensor = relax::as_tensor(binding.var->annotation);
    if (!tensor || !tensor->shape || !tensor->dtype) return false;
    const DType other = *tensor->dtype == DType::kF32 ? DType::kI8 : DType::kF32;
    auto wrong = std::make_shared<relax::VarNode>(*binding.var);
    wrong->annotation = relax::tensor_annotation(*tensor->shape, other);
    // Its readers read the new variable.
    const relax::VarNode* old = binding.var.get();
    binding.var = wrong;
    for (size_t i = at_ + 1; i < parts_.bindings.size(); ++i) {
      parts_.bindings[i].value = relax::substitute(parts_.bindings[i].value, {{old, wrong}});
    }
    result.expected = {wrong->name};
    return finish();
  }

  Module module_;
  RandomStream& rng_;
  Parts parts_;
  std::vector<size_t> calls_;
  size_t at_ = 0;
  const relax::CallNode* call_ = nullptr;
  const op::OperatorInfo* info_ = nullptr;
};

// A guided generator takes the next candidate, whatever it adds, after this many refusals.
constexpr int kMostRefusals = 16;

}  // namespace

std::span<const DisruptionRule> disruption_rules() { return kRules; }

Disrupted disrupt(uint64_t seed, const Coverage& snapshot, const DisruptOptions& options) {
  RandomStream rng(seed, "disrupt");
  int refusals = 0;
  for (uint64_t attempt = 0;; ++attempt) {
    const int operators =
        rng.chance(0.5) ? 1 : static_cast<int>(rng.between(2, std::max(2, options.operators)));
    // The coverage of strict programs does not guide disruptive ones.
    const Graph graph = generate_graph(program_seed(seed, attempt), {}, {operators, Policy::kNone});
    const DisruptionRule& rule = kRules[rng.below(std::size(kRules))];
    Disruption disruption(graph.module, rng);
    if (!disruption.apply(rule.name)) continue;
    Disrupted result = std::move(disruption.result);
    const CoverageKey key =
        rule_key(result.op, disruption.key_shape, disruption.key_dtype, result.rule);
    const bool added = !snapshot.contains(key);
    if (!added && options.policy != Policy::kNone && refusals++ < kMostRefusals) continue;
    if (added) result.added.add(key);
    return result;
  }
}

}  // namespace tapml::fuzz
