#include "topdown/replay/integer_roles.h"

#include <algorithm>
#include <map>
#include <string>

namespace tapml::topdown {

namespace {

const relax::TensorAnnotation* shaped(const relax::Expr& value) {
  const auto* tensor = relax::as_tensor(relax::annotation_of(value));
  return tensor && tensor->shape && tensor->dtype ? tensor : nullptr;
}

class RoleFinder {
 public:
  RoleFinder(const relax::Function& spec, const SuiteKernel& kernel) : spec_(spec) {
    found_.inputs.resize(kernel.modes.size());
    found_.variables.resize(kernel.modes.size());
    size_t next = 0;
    for (size_t i = 0; i < kernel.modes.size(); ++i) {
      if (kernel.modes[i] == AccessMode::kOut || next >= spec.params.size()) continue;
      found_.variables[i] = spec.params[next++];
      param_of_[found_.variables[i].get()] = i;
    }
  }

  KernelIntegers run() {
    const auto* body = relax::as<relax::SeqNode>(spec_.body);
    if (!body) return std::move(found_);
    for (const relax::Block& block : body->blocks) {
      for (const relax::Binding& binding : block.bindings) read(binding);
    }
    for (size_t i = 0; i < found_.inputs.size(); ++i) finish(i);
    return std::move(found_);
  }

 private:
  // The parameter whose elements `value` has in row-major order.
  std::optional<size_t> param(const relax::Expr& value) const {
    const auto* var = relax::as<relax::VarNode>(value);
    const auto found = var ? param_of_.find(var) : param_of_.end();
    return found == param_of_.end() ? std::nullopt : std::optional(found->second);
  }

  void read(const relax::Binding& binding) {
    const auto* call = relax::as<relax::CallNode>(binding.value);
    const std::string& op = relax::called_operator(binding.value);
    if (!call) {
      alias(binding, binding.value);
    } else if (op == "reshape") {
      alias(binding, call->args[0]);
    } else if (op == "cast" && holds_indices(call->args[0]) && holds_indices(binding.var)) {
      alias(binding, call->args[0]);
    } else if (op == "take" || op == "gather") {
      index(*call, 0, 1, IntegerRole::kIndices);
    } else if (op == "scatter" || op == "scatter_add") {
      index(*call, 0, 1, IntegerRole::kPlaces);
      unknown(call->args[2]);
    } else if (op == "gather_nd" || op == "scatter_nd") {
      index_tuples(*call, op == "gather_nd" ? IntegerRole::kIndices : IntegerRole::kPlaces);
      for (size_t i = 2; i < call->args.size(); ++i) unknown(call->args[i]);
    } else if (op == "gather_matmul") {
      unknown(call->args[0]);
      unknown(call->args[1]);
      const auto* matrices = shaped(call->args[1]);
      add_indices(call->args[2], matrices ? Dims{matrices->shape->at(0)} : Dims{},
                  IntegerRole::kIndices);
    } else if (op == "one_hot") {
      add_indices(call->args[0], {PrimExpr(attr_or<int64_t>(call->attrs, "depth", 0))},
                  IntegerRole::kIndices);
    } else if (op == "rope") {
      unknown(call->args[0]);
      cache(nullptr, call->args[1], call->args[0]);
      unknown(call->args[2]);
    } else if (op == "kv_append") {
      unknown(call->args[1]);
      pool(call->args[0]);
      cache(call->args[2], call->args[3], call->args[1]);
      if (const auto at = param(call->args[0])) param_of_[binding.var.get()] = *at;
    } else if (op.starts_with("paged_attention")) {
      unknown(call->args[0]);
      pool(call->args[1]);
      pool(call->args[2]);
      cache(call->args[3], call->args[4], call->args[0]);
      const auto* query = shaped(call->args[0]);
      if (op == "paged_attention_ahead" && query) {
        add_indices(call->args[5], {query->shape->at(1)}, IntegerRole::kIndices);
      } else if (op != "paged_attention") {
        unknown(call->args[5]);
      }
    } else {
      for (const relax::Expr& argument : call->args) unknown(argument);
    }
  }

  static bool holds_indices(const relax::Expr& value) {
    const auto* tensor = relax::as_tensor(relax::annotation_of(value));
    return tensor && (tensor->dtype == DType::kI32 || tensor->dtype == DType::kI64);
  }

  void alias(const relax::Binding& binding, const relax::Expr& value) {
    if (const auto at = param(value)) {
      param_of_[binding.var.get()] = *at;
    } else {
      unknown(value);
    }
  }

  // Any use that gives integers another meaning, and a pool another reader.
  void unknown(const relax::Expr& value) {
    if (const auto* tuple = relax::as<relax::TupleNode>(value)) {
      for (const relax::Expr& field : tuple->fields) unknown(field);
      return;
    }
    if (const auto at = param(value)) others_.insert(*at);
  }

  void set_role(size_t param, IntegerRole role) {
    IntegerRole& known = found_.inputs[param].role;
    if (known != IntegerRole::kNone && known != role) {
      const bool both_index = (known == IntegerRole::kIndices && role == IntegerRole::kPlaces) ||
                              (known == IntegerRole::kPlaces && role == IntegerRole::kIndices);
      role = both_index ? IntegerRole::kPlaces : IntegerRole::kUnknown;
    }
    known = role;
  }

  void index(const relax::CallNode& call, size_t data, size_t indices, IntegerRole role) {
    unknown(call.args[data]);
    const auto* indexed = shaped(call.args[data]);
    Dims extents;
    if (indexed) {
      auto axis = attr_or<int64_t>(call.attrs, "axis", 0);
      if (axis < 0) axis += std::ssize(*indexed->shape);
      extents.push_back(indexed->shape->at(static_cast<size_t>(axis)));
    }
    add_indices(call.args[indices], std::move(extents), role);
  }

  void index_tuples(const relax::CallNode& call, IntegerRole role) {
    unknown(call.args[0]);
    const auto *indexed = shaped(call.args[0]), *tuples = shaped(call.args[1]);
    Dims extents;
    if (indexed && tuples && !tuples->shape->empty() && tuples->shape->back().is_int()) {
      const int64_t count = tuples->shape->back()->int_value;
      extents.assign(indexed->shape->begin(), indexed->shape->begin() + count);
    }
    add_indices(call.args[1], std::move(extents), role);
  }

  // Empty `extents`: of what they index is unknown.
  void add_indices(const relax::Expr& indices, Dims extents, IntegerRole role) {
    const auto at = param(indices);
    if (!at) return;
    std::vector<Dims>& known = found_.inputs[*at].extents;
    const bool fits = !extents.empty() && (known.empty() || known[0].size() == extents.size());
    set_role(*at, fits ? role : IntegerRole::kUnknown);
    known.push_back(std::move(extents));
  }

  void pool(const relax::Expr& value) {
    if (const auto at = param(value)) {
      found_.cache.pools.insert(*at);
    } else {
      found_.cache.known = false;
    }
  }

  // A cache's use, with the tensor [b, n, ...] of the new tokens.
  void cache(const relax::Expr& table, const relax::Expr& lengths, const relax::Expr& tokens) {
    CacheInputs& cache = found_.cache;
    const auto same = [&](std::optional<size_t>& known, const relax::Expr& value,
                          IntegerRole role) {
      const auto at = param(value);
      if (!at || (known && known != at)) {
        cache.known = false;
      } else {
        known = at;
        set_role(*at, role);
      }
    };
    same(cache.lengths, lengths, IntegerRole::kLengths);
    if (table) same(cache.page_table, table, IntegerRole::kPageTable);
    const auto* fresh = shaped(tokens);
    if (!fresh || fresh->shape->size() < 2) {
      cache.known = false;
    } else if (!cache.new_tokens) {
      cache.new_tokens = fresh->shape->at(1);
    }
  }

  void finish(size_t i) {
    const relax::Variable& variable = found_.variables[i];
    if (!variable) return;
    const bool other = others_.contains(i);
    if (other && found_.cache.pools.contains(i)) found_.cache.known = false;
    const auto* tensor = relax::as_tensor(variable->annotation);
    const bool floats = tensor && tensor->dtype && is_float(*tensor->dtype);
    if (floats) return;
    IntegerRole& role = found_.inputs[i].role;
    if (other || role == IntegerRole::kNone) role = IntegerRole::kUnknown;
  }

  const relax::Function& spec_;
  std::map<const relax::VarNode*, size_t> param_of_;
  std::set<size_t> others_;  // read by other operators
  KernelIntegers found_;
};

}  // namespace

bool KernelIntegers::any() const {
  return std::ranges::any_of(
      inputs, [](const IntegerInput& input) { return input.role != IntegerRole::kNone; });
}

KernelIntegers integers_of(const relax::Function& spec, const SuiteKernel& kernel) {
  return RoleFinder(spec, kernel).run();
}

}  // namespace tapml::topdown
