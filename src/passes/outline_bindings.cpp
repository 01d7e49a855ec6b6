#include "passes/outline_bindings.h"

#include <algorithm>
#include <set>

#include "ir/exceptions.h"
#include "passes/captures.h"
#include "passes/forward_rewrite.h"
#include "passes/graph_functions.h"
#include "relax/rewrite.h"
#include "relax/solve.h"
#include "relax/storage.h"
#include "relax/visit.h"

namespace tapml::passes {

using namespace relax;  // NOLINT: this file is about relax alone

namespace {

struct Entry {
  std::string name, first, last;
  std::string where;
};

std::string trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(' '), end = text.find_last_not_of(' ');
  return begin == std::string::npos ? "" : text.substr(begin, end - begin + 1);
}

Entry parse_entry(const std::string& text, const std::string& function) {
  Entry entry;
  entry.where = "function " + function + ", attribute outline";
  const size_t equals = text.find('=');
  const std::string range = equals == std::string::npos ? text : text.substr(equals + 1);
  const size_t dots = range.find("..");
  if (dots == std::string::npos) {
    throw_user("an entry of the attribute outline cannot be read", entry.where,
               "\"name = first..last\" or \"first..last\"", text);
  }
  entry.first = trimmed(range.substr(0, dots));
  entry.last = trimmed(range.substr(dots + 2));
  entry.name = equals == std::string::npos ? "" : trimmed(text.substr(0, equals));
  if (entry.name.empty()) entry.name = function + "_" + entry.last;
  return entry;
}

class BindingOutliner {
 public:
  BindingOutliner(Module& module, const Function& function, const Entry& entry)
      : module_(module), function_(function), entry_(entry) {}

  FunctionRef run() {
    bool found = false;
    Expr body = map_blocks(function_.body, [&](const Block& block) {
      size_t first = block.bindings.size(), last = first;
      for (size_t i = 0; i < block.bindings.size(); ++i) {
        if (block.bindings[i].var->name == entry_.first && first == block.bindings.size())
          first = i;
        if (block.bindings[i].var->name == entry_.last) last = i;
      }
      if (found || last == block.bindings.size() || first > last) return block;
      found = true;
      return cut(block, first, last);
    });
    if (!found) {
      throw_user("no block has these bindings in this order", entry_.where,
                 "the variables of two bindings of one block", entry_.first + ".." + entry_.last);
    }
    return with_body(function_, std::move(body));
  }

 private:
  Block cut(const Block& block, size_t first, size_t last) {
    std::vector<Binding> inside(block.bindings.begin() + static_cast<std::ptrdiff_t>(first),
                                block.bindings.begin() + static_cast<std::ptrdiff_t>(last) + 1);
    auto cut = std::make_shared<Function>();
    const std::vector<Variable> results = handed_on(inside);
    // What a dataflow block hands out is decided anew inside.
    ExprMap own;
    Expr result =
        results.size() == 1 ? Expr(results[0]) : make_tuple({results.begin(), results.end()});
    if (block.dataflow) {
      for (Binding& binding : inside) {
        const bool is_result =
            std::find(results.begin(), results.end(), binding.var) != results.end();
        Variable var = make_variable(binding.var->name, binding.var->annotation, !is_result);
        own[binding.var.get()] = var;
        binding.value = substitute(binding.value, own);
        binding.var = var;
      }
    }
    cut->body = make_seq({Block{block.dataflow, inside}}, substitute(result, own));
    cut->pure = std::none_of(inside.begin(), inside.end(),
                             [&](const Binding& binding) { return is_impure(binding.value); });
    cut->result = annotation_of(result);
    std::vector<Expr> args = parameters(*cut);

    const std::string name = module_.unique_name(entry_.name);
    module_.functions[name] = std::move(cut);
    Block left{block.dataflow, {}};
    auto keep = [&](size_t from, size_t to) {
      left.bindings.insert(left.bindings.end(),
                           block.bindings.begin() + static_cast<std::ptrdiff_t>(from),
                           block.bindings.begin() + static_cast<std::ptrdiff_t>(to));
    };
    keep(0, first);
    Origin origin;
    for (const Binding& binding : inside) origin = merge_origins(origin, binding.origin);
    const Expr call = make_call(make_global(name), std::move(args));
    if (results.size() == 1) {
      left.bindings.push_back({results[0], call, nullptr, origin});
    } else {
      Variable all =
          make_variable(block.bindings[last].var->name, annotation_of(result), block.dataflow);
      left.bindings.push_back({all, call, nullptr, origin});
      for (size_t i = 0; i < results.size(); ++i) {
        left.bindings.push_back(
            {results[i], make_get_item(all, static_cast<int>(i)), nullptr, origin});
      }
    }
    keep(last + 1, block.bindings.size());
    return left;
  }

  // Variables of the bindings that anything else uses, in order.
  std::vector<Variable> handed_on(const std::vector<Binding>& inside) {
    std::map<const VarNode*, int> uses = use_counts(function_.body);
    SymbolIds cast;  // symbolic variables that the bindings bind
    std::vector<Var> mentioned;
    for (const Binding& binding : inside) {
      visit(binding.value, [&](const Expr& e) {
        if (const auto* var = as<VarNode>(e)) --uses[var];
      });
    }
    std::vector<Variable> results;
    for (const Binding& binding : inside) {
      if (binding.match_cast) {
        std::vector<Var> vars;
        collect_vars(binding.match_cast, vars);
        for (const Var& var : vars) {
          if (!is_known_before(var, inside)) cast.insert(var.get());
        }
      }
      if (uses[binding.var.get()] <= 0) continue;
      if (as_callable(binding.var->annotation)) refuse("'" + binding.var->name + "', a function");
      collect_vars(binding.var->annotation, mentioned);
      results.push_back(binding.var);
    }
    for (const Var& var : mentioned) {
      if (cast.contains(var.get())) refuse("the symbolic variable '" + var->name + "'");
    }
    if (results.empty()) {
      throw_user("nothing uses what these bindings make", entry_.where,
                 "bindings whose values are used behind them", entry_.first + ".." + entry_.last);
    }
    return results;
  }

  [[noreturn]] void refuse(const std::string& what) const {
    throw_user("the bindings hand on " + what, entry_.where,
               "bindings that hand on tensors, shapes, scalars or tuples of known annotation",
               what);
  }

  // Whether anything but these bindings binds the symbolic variable.
  bool is_known_before(const Var& var, const std::vector<Binding>& inside) const {
    auto has = [&](const Annotation& annotation) {
      std::vector<Var> vars;
      collect_vars(annotation, vars);
      return std::any_of(vars.begin(), vars.end(),
                         [&](const Var& other) { return other.same_as(var); });
    };
    for (const Variable& param : function_.params) {
      if (has(param->annotation)) return true;
    }
    bool known = false, before = true;
    visit_bindings(function_.body, [&](const Binding& binding, bool) {
      if (binding.var == inside.front().var) before = false;
      if (before && binding.match_cast) known |= has(binding.match_cast);
    });
    return known;
  }

  static bool is_write_or_view(const CallNode& call) {
    const StorageOp op = storage_op(call);
    return op != StorageOp::kNone && !is_storage_question(op);
  }

  bool is_impure(const Expr& value) const {
    bool impure = false;
    visit(value, [&](const Expr& e) {
      const auto* call = as<CallNode>(e);
      if (!call) return;
      if (as<ExternFuncNode>(call->callee) || is_write_or_view(*call)) impure = true;
      if (const auto* global = as<GlobalVarNode>(call->callee)) {
        const Function* callee = as_relax_function(module_.find(global->name));
        impure |= callee && !callee->pure;
      } else if (const auto* var = as<VarNode>(call->callee)) {
        const auto* callable = as_callable(var->annotation);
        impure |= callable && !callable->pure;
      }
    });
    return impure;
  }

  // Gives the function parameters for what it takes from around it; returns the arguments.
  std::vector<Expr> parameters(Function& cut) const {
    const std::set<const VarNode*> consumed = consumed_variables(cut.body);
    std::vector<Expr> args;
    std::vector<Var> mentioned;
    collect_symbols(cut, mentioned);
    const std::vector<Variable> captured = captured_variables(cut);
    for (const Variable& var : captured) collect_vars(var->annotation, mentioned);
    VarMap own;
    for (const Var& var : mentioned) own.emplace(var.get(), make_var(var->name, var.dtype()));
    ExprMap values;
    std::vector<Annotation> given;
    for (const Variable& var : captured) {
      if (consumed.contains(var.get())) {
        throw_user("the bindings update a value from around them in place", entry_.where,
                   "bindings that update only what they made", var->name);
      }
      args.push_back(var);
      given.push_back(var->annotation);
      cut.params.push_back(make_variable(var->name, substitute(var->annotation, own)));
      values[var.get()] = cut.params.back();
    }
    // Inner match_casts and function parameters bind theirs themselves.
    SymbolIds known;
    relax::bind_symbols(given, known);
    SymbolIds inner;
    visit_bindings(cut.body, [&](const Binding& binding, bool) {
      std::vector<Var> vars;
      collect_vars(binding.match_cast, vars);
      for (const Var& var : vars) {
        if (!is_known_before(var, as<SeqNode>(cut.body)->blocks[0].bindings)) {
          inner.insert(var.get());
        }
      }
    });
    visit(cut.body, [&](const Expr& e) {
      const auto* lambda = as<FunctionNode>(e);
      if (!lambda) return;
      std::vector<Var> vars = signature_vars(*lambda->function);
      for (const Var& var : vars) {
        if (!is_known_before(var, as<SeqNode>(cut.body)->blocks[0].bindings)) {
          inner.insert(var.get());
        }
      }
    });
    Dims outside, inside;
    SymbolIds seen;
    for (const Var& var : mentioned) {
      if (known.contains(var.get()) || inner.contains(var.get()) ||
          !seen.insert(var.get()).second) {
        continue;
      }
      outside.push_back(var);
      inside.push_back(own.at(var.get()));
    }
    if (!outside.empty()) {
      args.push_back(make_shape(outside));
      cut.params.push_back(make_variable("s", shape_annotation(inside)));
    }
    cut.body = refresh(cut.body, values, own);
    cut.result = substitute(cut.result, own);
    return args;
  }

  Module& module_;
  const Function& function_;
  const Entry& entry_;
};

}  // namespace

Module outline_bindings(const Module& module) {
  Module result = module;
  for (const auto& [name, source] : graph_functions(module)) {
    const auto* entries = find_attr<std::vector<std::string>>(source->attrs, kOutlineAttr);
    if (!entries) continue;
    auto bare = std::make_shared<Function>(*source);
    bare->attrs.erase(kOutlineAttr);
    FunctionRef current = bare;
    for (const std::string& text : *entries) {
      const Entry entry = parse_entry(text, name);
      current = BindingOutliner(result, *current, entry).run();
    }
    result.functions[name] = current;
  }
  return result;
}

}  // namespace tapml::passes
