#include "passes/outline_bindings.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <span>

#include "ir/exceptions.h"
#include "passes/forward_rewrite.h"
#include "passes/graph_functions.h"
#include "relax/captures.h"
#include "relax/rewrite.h"
#include "relax/solve.h"
#include "relax/storage.h"
#include "relax/symbol_ranges.h"
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

// Outlines entries of one function. The function is indexed once for all entries that take bindings
// from different places in it.
class BindingOutliner {
 public:
  BindingOutliner(Module& module, FunctionRef function)
      : module_(module), function_(std::move(function)) {
    index();
  }

  void add(const Entry& entry) {
    entry_ = &entry;
    std::optional<Range> range = find();
    if (range && !is_apart(*range)) {
      flush();
      range = find();
    }
    if (!range) {
      throw_user("no block has these bindings in this order", entry.where,
                 "the variables of two bindings of one block", entry.first + ".." + entry.last);
    }
    std::vector<Binding> calls = cut(*range);
    const bool alone = !is_simple(*range);
    cuts_[range->block].emplace(range->first, Cut{range->last, std::move(calls)});
    // Its contents bind symbolic variables, or form a block of their own.
    if (alone) flush();
  }

  FunctionRef finish() {
    flush();
    return function_;
  }

 private:
  // Bindings by their numbers, the last one included.
  struct Range {
    size_t block = 0, first = 0, last = 0;
  };
  // The replacement for the bindings up to the last one.
  struct Cut {
    size_t last = 0;
    std::vector<Binding> calls;
  };

  void index() {
    blocks_.clear();
    places_.clear();
    position_.clear();
    first_cast_.clear();
    uses_ = use_counts(function_->body);
    map_blocks(function_->body, [&](const Block& block) {
      for (size_t i = 0; i < block.bindings.size(); ++i) {
        places_[block.bindings[i].var->name].emplace_back(blocks_.size(), i);
      }
      blocks_.push_back(block);
      return block;
    });
    auto bind = [&](const Annotation& annotation, size_t position) {
      std::vector<Var> vars;
      collect_vars(annotation, vars);
      for (const Var& var : vars) first_cast_.emplace(var.get(), position);
    };
    for (const Variable& param : function_->params) bind(param->annotation, 0);
    visit_bindings(function_->body, [&](const Binding& binding, bool) {
      const size_t position = position_.size() + 1;
      position_.emplace(binding.var.get(), position);
      if (binding.match_cast) bind(binding.match_cast, position);
    });
  }

  // The first block that has both, in this order.
  std::optional<Range> find() const {
    auto first = places_.find(entry_->first), last = places_.find(entry_->last);
    if (first == places_.end() || last == places_.end()) return std::nullopt;
    for (auto [block, from] : first->second) {
      std::optional<size_t> to;
      for (auto [other, place] : last->second) {
        if (other == block) to = place;
      }
      if (to && from <= *to) return Range{block, from, *to};
    }
    return std::nullopt;
  }

  std::span<const Binding> bindings_of(const Range& range) const {
    return std::span(blocks_[range.block].bindings)
        .subspan(range.first, range.last - range.first + 1);
  }

  // Whether outlining these bindings leaves the rest of the index valid.
  bool is_simple(const Range& range) const {
    return std::none_of(
        bindings_of(range).begin(), bindings_of(range).end(), [](const Binding& binding) {
          return binding.match_cast || as<IfNode>(binding.value) || as<FunctionNode>(binding.value);
        });
  }

  // Whether no earlier entry has touched them.
  bool is_apart(const Range& range) const {
    if (cuts_.empty()) return true;
    if (!is_simple(range)) return false;
    auto cuts = cuts_.find(range.block);
    if (cuts == cuts_.end()) return true;
    auto next = cuts->second.upper_bound(range.last);
    return next == cuts->second.begin() || std::prev(next)->second.last < range.first;
  }

  // Inserts the calls.
  void flush() {
    if (cuts_.empty()) return;
    size_t number = 0;
    function_ = with_body(*function_, map_blocks(function_->body, [&](const Block& block) {
      auto cuts = cuts_.find(number++);
      if (cuts == cuts_.end()) return block;
      Block left{block.dataflow, {}};
      size_t next = 0;
      auto keep = [&](size_t end) {
        for (; next < end; ++next) left.bindings.push_back(block.bindings[next]);
      };
      for (auto& [first, cut] : cuts->second) {
        keep(first);
        for (Binding& call : cut.calls) left.bindings.push_back(std::move(call));
        next = cut.last + 1;
      }
      keep(block.bindings.size());
      return left;
    }));
    cuts_.clear();
    index();
  }

  // Adds the function; returns the bindings that call it.
  std::vector<Binding> cut(const Range& range) {
    const bool dataflow = blocks_[range.block].dataflow;
    std::vector<Binding> inside(bindings_of(range).begin(), bindings_of(range).end());
    auto cut = std::make_shared<Function>();
    const std::vector<Variable> results = handed_on(inside);
    // The outputs of a dataflow block are recomputed inside.
    ExprMap own;
    Expr result =
        results.size() == 1 ? Expr(results[0]) : make_tuple({results.begin(), results.end()});
    const std::string last_name = inside.back().var->name;
    Origin origin;
    for (const Binding& binding : inside) origin = merge_origins(origin, binding.origin);
    const bool pure = std::none_of(inside.begin(), inside.end(), [&](const Binding& binding) {
      return is_impure(binding.value);
    });
    const Variable start = inside.front().var;
    if (dataflow) {
      for (Binding& binding : inside) {
        const bool is_result =
            std::find(results.begin(), results.end(), binding.var) != results.end();
        Variable var = make_variable(binding.var->name, binding.var->annotation, !is_result);
        own[binding.var.get()] = var;
        binding.value = substitute(binding.value, own);
        binding.var = var;
      }
    }
    cut->body = make_seq({Block{dataflow, std::move(inside)}}, substitute(result, own));
    cut->pure = pure;
    cut->result = annotation_of(result);
    std::vector<Expr> args = parameters(*cut, start);

    const std::string name = module_.unique_name(entry_->name);
    module_.functions[name] = std::move(cut);
    const Expr call = make_call(make_global(name), std::move(args));
    if (results.size() == 1) return {{results[0], call, nullptr, origin}};
    Variable all = make_variable(last_name, annotation_of(result), dataflow);
    std::vector<Binding> calls = {{all, call, nullptr, origin}};
    for (size_t i = 0; i < results.size(); ++i) {
      calls.push_back({results[i], make_get_item(all, static_cast<int>(i)), nullptr, origin});
    }
    return calls;
  }

  // Variables of the bindings that any other code uses, in order.
  std::vector<Variable> handed_on(const std::vector<Binding>& inside) const {
    std::map<const VarNode*, int> uses;  // uses by the bindings themselves
    SymbolIds cast;                      // symbolic variables that the bindings bind
    std::vector<Var> mentioned;
    for (const Binding& binding : inside) {
      visit(binding.value, [&](const Expr& e) {
        if (const auto* var = as<VarNode>(e)) ++uses[var];
      });
    }
    std::vector<Variable> results;
    for (const Binding& binding : inside) {
      if (binding.match_cast) {
        std::vector<Var> vars;
        collect_vars(binding.match_cast, vars);
        for (const Var& var : vars) {
          if (!is_known_before(var, inside.front().var)) cast.insert(var.get());
        }
      }
      auto all = uses_.find(binding.var.get());
      if (all == uses_.end() || all->second <= uses[binding.var.get()]) continue;
      if (as_callable(binding.var->annotation)) refuse("'" + binding.var->name + "', a function");
      collect_vars(binding.var->annotation, mentioned);
      results.push_back(binding.var);
    }
    for (const Var& var : mentioned) {
      if (cast.contains(var.get())) refuse("the symbolic variable '" + var->name + "'");
    }
    if (results.empty()) {
      throw_user("nothing uses the values of these bindings", entry_->where,
                 "bindings whose values are used later", entry_->first + ".." + entry_->last);
    }
    return results;
  }

  [[noreturn]] void refuse(const std::string& what) const {
    throw_user("the new function would return " + what, entry_->where,
               "bindings of which only tensors, shapes, scalars or tuples of known annotation are "
               "used later",
               what);
  }

  // Whether something before the binding of `start` binds the symbolic variable.
  bool is_known_before(const Var& var, const Variable& start) const {
    auto it = first_cast_.find(var.get());
    auto at = position_.find(start.get());
    return it != first_cast_.end() && (at == position_.end() || it->second < at->second);
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

  // Gives the function, whose bindings began with `start`, parameters for the values that it takes
  // from its surroundings; returns the arguments.
  std::vector<Expr> parameters(Function& cut, const Variable& start) const {
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
        throw_user("the bindings update an outer value in place", entry_->where,
                   "bindings that only update their own values", var->name);
      }
      args.push_back(var);
      given.push_back(var->annotation);
      cut.params.push_back(make_variable(var->name, substitute(var->annotation, own)));
      values[var.get()] = cut.params.back();
    }
    // Inner match_casts and function parameters bind their own.
    SymbolIds known;
    relax::bind_symbols(given, known);
    SymbolIds inner;
    visit_bindings(cut.body, [&](const Binding& binding, bool) {
      std::vector<Var> vars;
      collect_vars(binding.match_cast, vars);
      for (const Var& var : vars) {
        if (!is_known_before(var, start)) inner.insert(var.get());
      }
    });
    visit(cut.body, [&](const Expr& e) {
      const auto* lambda = as<FunctionNode>(e);
      if (!lambda) return;
      std::vector<Var> vars = signature_vars(*lambda->function);
      for (const Var& var : vars) {
        if (!is_known_before(var, start)) inner.insert(var.get());
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
    std::vector<Var> made;
    for (const Var& var : mentioned) made.push_back(own.at(var.get()));
    state_least_values(made, annotations_of(cut.params));
    cut.body = refresh(cut.body, values, own);
    cut.result = substitute(cut.result, own);
    return args;
  }

  Module& module_;
  FunctionRef function_;
  const Entry* entry_ = nullptr;
  // Index of the function:
  std::vector<Block> blocks_;                                             // in map_blocks' order
  std::map<std::string, std::vector<std::pair<size_t, size_t>>> places_;  // block and number
  // Numbers of bindings outside lambdas, from 1, in visit_bindings' order.
  std::map<const VarNode*, size_t> position_;
  // Number of the first binding that may bind a symbolic variable; 0: a parameter.
  std::map<const tapml::ExprNode*, size_t> first_cast_;
  std::map<const VarNode*, int> uses_;
  // Calls that replace the bindings outlined so far, by block and first binding.
  std::map<size_t, std::map<size_t, Cut>> cuts_;
};

}  // namespace

Module outline_bindings(const Module& module) {
  Module result = module;
  for (const auto& [name, source] : graph_functions(module)) {
    const std::vector<std::string>& entries = source->facts.outline;
    if (entries.empty()) continue;
    auto bare = std::make_shared<Function>(*source);
    bare->facts.outline.clear();
    BindingOutliner outliner(result, bare);
    for (const std::string& text : entries) outliner.add(parse_entry(text, name));
    result.functions[name] = outliner.finish();
  }
  return result;
}

}  // namespace tapml::passes
