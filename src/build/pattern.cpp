#include "build/pattern.h"

#include <algorithm>
#include <set>

#include "arith/symbols.h"
#include "ir/exceptions.h"
#include "op/operator.h"
#include "op/shapes.h"
#include "text/structural.h"

namespace tapml::build {

using namespace relax;  // NOLINT: this file is about relax alone

namespace {

constexpr std::string_view kCommutative[] = {
    "add",         "multiply",   "maximum",     "minimum",     "equal",      "not_equal",
    "logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor"};

bool is_commutative(const std::string& op) {
  return std::find(std::begin(kCommutative), std::end(kCommutative), op) != std::end(kCommutative);
}

// Splits "relu|silu" into names.
std::vector<std::string> alternatives(const std::string& name) {
  std::vector<std::string> names;
  size_t begin = 0;
  while (true) {
    size_t end = name.find('|', begin);
    names.push_back(name.substr(begin, end == std::string::npos ? end : end - begin));
    if (end == std::string::npos) return names;
    begin = end + 1;
  }
}

const PrimAnnotation* as_condition(const Annotation& annotation) {
  const auto* prim = as_prim(annotation);
  return prim && prim->dtype == DType::kBool && prim->value ? prim : nullptr;
}

const std::vector<Binding>& bindings_of(const Function& pattern) {
  return body_of(pattern).blocks[0].bindings;
}

}  // namespace

bool is_pattern(const BaseFunction* function) {
  const auto* pattern = as_relax_function(function);
  return pattern && pattern->facts.pattern;
}

void check_pattern(const Function& pattern, const std::string& name) {
  const std::string where = "pattern @" + name;
  const auto& blocks = body_of(pattern).blocks;
  if (blocks.size() != 1 || !blocks[0].dataflow || blocks[0].bindings.empty()) {
    throw_user("a pattern is not one dataflow block", where,
               "one dataflow block with at least one call",
               std::to_string(blocks.size()) + " blocks");
  }
  std::set<const VarNode*> needed;
  auto note = [&](const Expr& expr) {
    visit(expr, [&](const Expr& e) {
      if (const auto* var = as<VarNode>(e)) needed.insert(var);
    });
  };
  const auto& bindings = blocks[0].bindings;
  const auto* result = as<VarNode>(body_of(pattern).result);
  if (!result || result != bindings.back().var.get()) {
    throw_user("a pattern does not return its last call", where, bindings.back().var->name,
               result ? result->name : "another expression");
  }
  needed.insert(result);
  for (size_t i = bindings.size(); i-- > 0;) {
    const Binding& binding = bindings[i];
    const std::string at = where + ", binding " + binding.var->name;
    const auto* call = as<CallNode>(binding.value);
    if (!call || binding.match_cast || called_operator(binding.value).empty()) {
      throw_user("a pattern binds something other than a call of an operator", at,
                 "a call of an operator");
    }
    for (const std::string& op : alternatives(called_operator(binding.value))) {
      const op::OperatorInfo* info = op::find_operator(op);
      if (!info) {
        throw_user("no operator is called '" + op + "'", at, "an operator of docs/operators.md",
                   op);
      }
      if (info->outputs != 1 || !info->inout.empty() || !info->legalize) {
        throw_user("operator " + op + " cannot be part of a pattern", at,
                   "an operator with one result, whose size does not depend on data, that updates "
                   "no argument",
                   op);
      }
    }
    if (!needed.contains(binding.var.get())) {
      throw_user("a pattern's result does not need '" + binding.var->name + "'", at,
                 "bindings that lead to the result");
    }
    note(binding.value);
  }
  for (const Variable& param : pattern.params) {
    if (as_condition(param->annotation)) continue;
    if (!needed.contains(param.get())) {
      throw_user("a pattern does not use its parameter '" + param->name + "'", where,
                 "a parameter that a call takes");
    }
  }
}

PatternMatcher::PatternMatcher(const Block& block, const std::map<const VarNode*, int>& uses)
    : block_(block), uses_(uses) {
  for (size_t i = 0; i < block.bindings.size(); ++i) producer_[block.bindings[i].var.get()] = i;
}

// One attempt: the pairs of expressions still to match, and the decisions so far. Copied at each
// choice, so that every choice is tried with all its consequences.
class PatternTrial {
 public:
  PatternTrial(const PatternMatcher& matcher, const Function& pattern)
      : matcher_(&matcher), pattern_(&pattern) {
    for (const Binding& binding : bindings_of(pattern)) {
      definition_[binding.var.get()] = &binding;
    }
  }

  std::optional<Match> run(size_t last) {
    int trials = 0;
    trials_ = &trials;
    goals_.emplace_back(bindings_of(*pattern_).back().var, matcher_->block_.bindings[last].var);
    if (!solve()) return std::nullopt;
    Match result;
    result.members.assign(members_.begin(), members_.end());
    for (const Variable& param : pattern_->params) {
      auto it = values_.find(param.get());
      result.arguments.push_back(it == values_.end() ? nullptr : it->second);
    }
    result.symbols = std::move(symbols_);
    return result;
  }

 private:
  bool solve() {
    while (!goals_.empty()) {
      auto [pattern, actual] = std::move(goals_.back());
      goals_.pop_back();
      if (!value(pattern, actual)) return false;
    }
    return holds() && is_closed();
  }

  bool value(const Expr& pattern, const Expr& actual) {
    if (const auto* var = as<VarNode>(pattern)) return variable(*var, actual);
    if (pattern->kind != actual->kind) return false;
    if (const auto* tuple = as<TupleNode>(pattern)) {
      return add_goals(tuple->fields, as<TupleNode>(actual)->fields);
    }
    if (const auto* shape = as<ShapeNode>(pattern)) {
      return dims(shape->dims, as<ShapeNode>(actual)->dims);
    }
    if (const auto* prim = as<PrimValueNode>(pattern)) {
      return dim(prim->value, as<PrimValueNode>(actual)->value);
    }
    return text::structural_equal(pattern, actual);
  }

  bool variable(const VarNode& var, const Expr& actual) {
    if (auto known = values_.find(&var); known != values_.end()) {
      return known->second == actual || (actual->kind != relax::ExprKind::kVar &&
                                         text::structural_equal(known->second, actual));
    }
    values_[&var] = actual;
    if (!annotation(var.annotation, annotation_of(actual))) return false;
    auto defined = definition_.find(&var);
    return defined == definition_.end() || produced(*defined->second, actual);
  }

  // `actual` is the variable of a binding that the pattern's binding matches.
  bool produced(const Binding& pattern, const Expr& actual) {
    const auto* var = as<VarNode>(actual);
    auto it = var ? matcher_->producer_.find(var) : matcher_->producer_.end();
    if (it == matcher_->producer_.end()) return false;
    const Binding& binding = matcher_->block_.bindings[it->second];
    if (binding.match_cast || members_.contains(it->second)) return false;
    const auto* found = as<CallNode>(binding.value);
    const std::string& op = called_operator(binding.value);
    if (!found || op.empty()) return false;
    std::vector<std::string> names = alternatives(called_operator(pattern.value));
    if (std::find(names.begin(), names.end(), op) == names.end()) return false;
    members_.insert(it->second);
    const auto& wanted = *as<CallNode>(pattern.value);
    if (!attributes(wanted.attrs, *found)) return false;
    if (is_commutative(op) && ++*trials_ <= kMostTrials) {
      PatternTrial straight = *this;
      if (straight.add_goals(wanted.args, found->args) && straight.solve()) {
        *this = std::move(straight);
        return true;
      }
      return add_goals(wanted.args, {found->args[1], found->args[0]});
    }
    return add_goals(wanted.args, found->args);
  }

  static bool attributes(const AttrMap& wanted, const CallNode& found) {
    if (wanted.empty()) return true;
    const AttrMap attrs = op::view_call(found).attrs;
    return std::all_of(wanted.begin(), wanted.end(), [&](const auto& one) {
      auto it = attrs.find(one.first);
      return it != attrs.end() && it->second == one.second;
    });
  }

  bool add_goals(const std::vector<Expr>& patterns, const std::vector<Expr>& actuals) {
    if (patterns.size() != actuals.size()) return false;
    for (size_t i = patterns.size(); i-- > 0;) goals_.emplace_back(patterns[i], actuals[i]);
    return true;
  }

  // Whether every value with annotation `found` also has annotation `wanted`.
  bool annotation(const Annotation& wanted, const Annotation& found) {
    if (wanted->kind == AnnotationKind::kObject) return true;
    if (wanted->kind != found->kind) return false;
    if (const auto* tensor = as_tensor(wanted)) {
      const auto* other = as_tensor(found);
      if (tensor->dtype && tensor->dtype != other->dtype) return false;
      if (tensor->ndim != kUnknownNdim && tensor->ndim != other->ndim) return false;
      return !tensor->shape || (other->shape && dims(*tensor->shape, *other->shape));
    }
    if (const auto* shape = as_shape(wanted)) {
      const auto* other = as_shape(found);
      if (shape->ndim != kUnknownNdim && shape->ndim != other->ndim) return false;
      return !shape->dims || (other->dims && dims(*shape->dims, *other->dims));
    }
    if (const auto* prim = as_prim(wanted)) {
      const auto* other = as_prim(found);
      return prim->dtype == other->dtype &&
             (!prim->value || (other->value && dim(prim->value, other->value)));
    }
    return to_string(wanted) == to_string(found);
  }

  bool dims(const Dims& wanted, const Dims& found) {
    if (wanted.size() != found.size()) return false;
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (!dim(wanted[i], found[i])) return false;
    }
    return true;
  }

  bool dim(const PrimExpr& wanted, const PrimExpr& found) {
    if (wanted.is_int()) return op::provably_equal(wanted, found);
    if (!wanted.is_var()) {
      later_.emplace_back(wanted, found);
      return true;
    }
    auto [it, is_new] = symbols_.emplace(wanted.get(), found);
    return is_new || op::provably_equal(it->second, found);
  }

  // Checks what can be decided only after every symbolic variable is bound.
  bool holds() const {
    auto at_call = [&](const PrimExpr& e) { return tapml::substitute(e, symbols_); };
    for (const auto& [wanted, found] : later_) {
      if (!op::provably_equal(at_call(wanted), found)) return false;
    }
    for (const Variable& param : pattern_->params) {
      const PrimAnnotation* condition = as_condition(param->annotation);
      if (!condition) continue;
      PrimExpr holds = at_call(condition->value);
      if (!arith::analyzer_of({holds}).prove(holds)) return false;
    }
    return true;
  }

  // Whether nothing outside the match uses its values, except the last.
  bool is_closed() const {
    std::map<const VarNode*, int> inside;
    for (size_t member : members_) {
      visit(matcher_->block_.bindings[member].value, [&](const Expr& e) {
        if (const auto* var = as<VarNode>(e)) ++inside[var];
      });
    }
    for (size_t member : members_) {
      if (member == *members_.rbegin()) continue;
      const VarNode* var = matcher_->block_.bindings[member].var.get();
      if (!var->dataflow || inside[var] != matcher_->uses_.at(var)) return false;
    }
    return true;
  }

  const PatternMatcher* matcher_;
  const Function* pattern_;
  std::map<const VarNode*, const Binding*> definition_;  // the pattern's own bindings
  std::map<const VarNode*, Expr> values_;
  // Limit on the operand orders tried, so that matching always ends in reasonable time.
  static constexpr int kMostTrials = 10000;
  int* trials_ = nullptr;
  std::set<size_t> members_;
  std::vector<std::pair<Expr, Expr>> goals_;
  VarMap symbols_;
  std::vector<std::pair<PrimExpr, PrimExpr>> later_;
};

std::optional<Match> PatternMatcher::match(const Function& pattern, size_t last) const {
  return PatternTrial(*this, pattern).run(last);
}

}  // namespace tapml::build
