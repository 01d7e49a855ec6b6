#include "passes/hoist_weight_prepacking.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "ir/exceptions.h"
#include "passes/graph_functions.h"
#include "passes/kernel.h"
#include "passes/weights.h"
#include "relax/memory.h"
#include "relax/visit.h"

namespace tapml::passes {

using namespace relax;  // NOLINT: this file is about relax alone

namespace {

using Prepared = tir::Requirements::Prepared;

class PrepackingHoister {
 public:
  explicit PrepackingHoister(const Module& planned)
      : module_(planned), parameters_(module_), prepared_before_(prepared_names(planned)) {
    for (const auto& [name, function] : module_.functions) {
      if (!is_kernel(function.get())) continue;
      const tir::PrimFunc& program = kernel_implementation(module_, name);
      if (!program.requirements || !program.requirements->prepared) continue;
      packings_.emplace(name, *program.requirements->prepared);
    }
  }

  Module run() {
    if (packings_.empty()) return module_;
    const std::set<std::string> takers = functions_with_weights(module_);
    for (const auto& [name, function] : graph_functions(module_)) {
      if (takers.contains(name)) collect(*function);
    }
    if (made_.empty()) return module_;
    Module result = module_;
    result.functions[kPrepareFunction] = prepare(takers);
    for (const auto& [name, function] : graph_functions(module_)) {
      if (takers.contains(name)) result.functions[name] = rewrite(*function);
    }
    std::vector<std::string> names = prepared_before_;
    for (const Made& made : made_) names.push_back(made.name);
    result.facts.prepared = std::move(names);
    return result;
  }

 private:
  // A tensor that `prepare` makes.
  struct Made {
    std::string name, kernel;
    std::vector<std::string> sources;
    Annotation annotation;
  };
  using Key = std::pair<std::string, std::vector<std::string>>;  // digest and sources

  // Names of the weights that a planned call packs. Empty if it packs none, takes them packed
  // already, or they are not among `weights`, those of the function.
  std::vector<std::string> sources_of(const std::unordered_set<const VarNode*>& weights,
                                      const Expr& value) const {
    if (called_operator(value) != "call_tir_dps") return {};
    const auto& call = *as<CallNode>(value);
    if (call.attrs.contains(kPreparedAttr)) return {};
    const auto* kernel = as<GlobalVarNode>(call.args[0]);
    auto packing = kernel ? packings_.find(kernel->name) : packings_.end();
    if (packing == packings_.end()) return {};
    const std::vector<Expr>& inputs = as<TupleNode>(call.args[1])->fields;
    std::vector<std::string> names;
    for (int32_t source : packing->second.sources) {
      const auto at = static_cast<size_t>(source);
      const VarNode* weight = at < inputs.size() ? as<VarNode>(inputs[at]) : nullptr;
      if (!weights.contains(weight)) return {};
      names.push_back(weight->name);
    }
    return names;
  }

  Key key_of(const Expr& value, std::vector<std::string> sources) const {
    const std::string& kernel = as<GlobalVarNode>(as<CallNode>(value)->args[0])->name;
    return {packings_.at(kernel).digest, std::move(sources)};
  }

  void collect(const Function& function) {
    const std::unordered_set<const VarNode*> weights = parameters_.of(function);
    visit_bindings(function.body, [&](const Binding& binding, bool) {
      std::vector<std::string> sources = sources_of(weights, binding.value);
      if (sources.empty()) return;
      const std::string& kernel = as<GlobalVarNode>(as<CallNode>(binding.value)->args[0])->name;
      if (!numbers_.emplace(key_of(binding.value, sources), made_.size()).second) return;
      made_.push_back({"prepared." + std::to_string(prepared_before_.size() + made_.size()), kernel,
                       std::move(sources),
                       tensor_annotation({packings_.at(kernel).bytes}, DType::kU8)});
    });
  }

  // The functions' parameters by name, those of the first function first.
  std::map<std::string, Annotation> annotations(const std::set<std::string>& takers) const {
    std::map<std::string, Annotation> found;
    for (const auto& [name, function] : graph_functions(module_)) {
      if (!takers.contains(name)) continue;
      for (const Variable& param : function->params) found.emplace(param->name, param->annotation);
    }
    return found;
  }

  FunctionRef prepare(const std::set<std::string>& takers) const {
    auto function = std::make_shared<Function>();
    std::map<std::string, Expr> values;
    std::vector<Expr> results;
    Block block;
    if (const auto* known = as_relax_function(module_.find(kPrepareFunction))) {
      *function = *known;
      const SeqNode& body = body_of(*known);
      for (const Block& one : body.blocks) {
        block.bindings.insert(block.bindings.end(), one.bindings.begin(), one.bindings.end());
      }
      results = fields_of(body.result, block);
      const std::vector<std::string>& names = prepared_before_;
      for (size_t i = 0; i < names.size() && i < results.size(); ++i) values[names[i]] = results[i];
    } else {
      const std::map<std::string, Annotation> given = annotations(takers);
      for (const std::string& name : weight_names(module_)) {
        auto annotation = given.find(name);
        function->params.push_back(make_variable(
            name, annotation == given.end() ? tensor_annotation_ndim(kUnknownNdim, std::nullopt)
                                            : annotation->second));
      }
    }
    for (const Variable& param : function->params) values[param->name] = param;
    for (const Made& made : made_) {
      const PrimExpr& bytes = as_tensor(made.annotation)->shape->front();
      Variable storage = make_variable(made.name + ".storage", object_annotation());
      Variable tensor = make_variable(made.name, made.annotation);
      std::vector<Expr> sources;
      for (const std::string& name : made.sources) sources.push_back(values.at(name));
      auto bind = [&](Variable var, Expr value) {
        block.bindings.push_back({std::move(var), std::move(value), nullptr, {}});
      };
      bind(storage, make_op_call("memory.alloc_storage", {make_shape({bytes})}));
      bind(tensor, make_op_call("memory.alloc_tensor", {storage, make_shape({bytes})},
                                {{"dtype", DType::kU8}}));
      bind(make_variable("done", object_annotation()),
           make_op_call("memory.prepare", {make_global(made.kernel), make_tuple(std::move(sources)),
                                           make_tuple({tensor})}));
      results.push_back(tensor);
    }
    std::vector<Annotation> fields;
    for (const Expr& result : results) fields.push_back(annotation_of(result));
    function->body = make_seq({std::move(block)}, make_tuple(std::move(results)));
    function->result = tuple_annotation(std::move(fields));
    return function;
  }

  // The elements of the tuple that is a body's result.
  static std::vector<Expr> fields_of(const Expr& result, const Block& block) {
    if (const auto* tuple = as<TupleNode>(result)) return tuple->fields;
    for (const Binding& binding : block.bindings) {
      if (binding.var != result) continue;
      if (const auto* tuple = as<TupleNode>(binding.value)) return tuple->fields;
    }
    throw_internal("prepare returns something else than a tuple");
  }

  FunctionRef rewrite(const Function& function) const {
    const std::unordered_set<const VarNode*> weights = parameters_.of(function);
    auto changed = std::make_shared<Function>(function);
    changed->body = map_blocks(function.body, [&](const Block& block) {
      Block copy = block;
      for (Binding& binding : copy.bindings) {
        std::vector<std::string> sources = sources_of(weights, binding.value);
        if (sources.empty()) continue;
        const auto& call = *as<CallNode>(binding.value);
        AttrMap attrs = call.attrs;
        const size_t number = numbers_.at(key_of(binding.value, std::move(sources)));
        attrs[kPreparedAttr] = static_cast<int64_t>(function.params.size() + number);
        binding.value = make_call(call.callee, call.args, std::move(attrs), call.annotations);
      }
      return copy;
    });
    for (const Made& made : made_) {
      changed->params.push_back(make_variable(made.name, made.annotation));
    }
    return changed;
  }

  Module module_;
  std::map<std::string, Prepared> packings_;
  const WeightParameters parameters_;
  const std::vector<std::string> prepared_before_;
  std::vector<Made> made_;
  std::map<Key, size_t> numbers_;
};

}  // namespace

Module hoist_weight_prepacking(const Module& planned) { return PrepackingHoister(planned).run(); }

}  // namespace tapml::passes
