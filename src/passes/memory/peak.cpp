#include "passes/memory/peak.h"

#include <algorithm>

#include "arith/symbols.h"
#include "passes/memory/call_depth.h"
#include "relax/memory.h"
#include "relax/tail_call.h"
#include "relax/visit.h"

namespace tapml::passes {

using namespace relax;  // NOLINT: this file is about relax alone

namespace {

bool at_most(const PrimExpr& a, const PrimExpr& b) {
  return arith::analyzer_of({a, b}).prove_less_equal(a, b);
}

PrimExpr simplified(const PrimExpr& expr) { return arith::analyzer_of({expr}).simplify(expr); }

// Memory with one lifetime: a storage of the function, or one in the result of a call.
struct Unit {
  PrimExpr bytes;
  std::string storage;  // empty: in a result
};

// The units that a value may hold, and the parameters that it may be; by field for a tuple.
struct Held {
  std::set<size_t> units, params;
  std::vector<Held> fields;
  bool maybe = false;  // holds only part of it, depending on which branch ran

  void flatten(Held& into) const {
    into.maybe |= maybe;
    into.units.insert(units.begin(), units.end());
    into.params.insert(params.begin(), params.end());
    for (const Held& field : fields) field.flatten(into);
  }
  Held flat() const {
    Held all;
    flatten(all);
    return all;
  }
};

Held either(const Held& a, const Held& b) {
  Held both = a;
  both.maybe |= b.maybe;
  both.units.insert(b.units.begin(), b.units.end());
  both.params.insert(b.params.begin(), b.params.end());
  if (a.fields.size() == b.fields.size()) {
    for (size_t i = 0; i < a.fields.size(); ++i) both.fields[i] = either(a.fields[i], b.fields[i]);
    return both;
  }
  Held all = both.flat();
  b.flatten(all);
  return all;
}

}  // namespace

struct PeakFinder::Summary {
  CallSummary call;
  std::vector<Unit> units;
  Held result;
};

// Walks one function.
class PeakFinder::Simulation {
 public:
  Simulation(PeakFinder& finder, const std::string& name, const Function& function)
      : finder_(finder), name_(name), function_(function) {}

  Summary run() {
    for (size_t i = 0; i < function_.params.size(); ++i) {
      held_[function_.params[i].get()].params.insert(i);
    }
    out_.result = sequence(body_of(function_), true);
    add_loops();
    out_.units = std::move(units_);
    CallSummary& call = out_.call;
    if (!call.why.empty()) return std::move(out_);
    call.peak = 0;
    for (const Moment& moment : call.moments) {
      call.peak = at_most(call.peak, moment.bytes)   ? moment.bytes
                  : at_most(moment.bytes, call.peak) ? call.peak
                                                     : max(call.peak, moment.bytes);
    }
    call.peak = simplified(call.peak);
    return std::move(out_);
  }

 private:
  void unknown(const std::string& why) {
    if (out_.call.why.empty()) out_.call.why = why;
  }

  // Sums equal sizes as one product: a model repeats few distinct sizes.
  PrimExpr total(const std::set<size_t>& units, bool results_only = false) const {
    std::multimap<std::string, std::pair<PrimExpr, int64_t>> parts;  // by text, for the order
    for (size_t unit : units) {
      if (results_only && !units_[unit].storage.empty()) continue;
      const PrimExpr& bytes = units_[unit].bytes;
      const std::string text = to_string(bytes);
      // Different variables may have one name.
      auto [part, last] = parts.equal_range(text);
      while (part != last && !same_expr(part->second.first, bytes)) ++part;
      if (part == last) part = parts.emplace(text, std::pair(bytes, 0));
      ++part->second.second;
    }
    PrimExpr sum = 0;
    for (const auto& [text, part] : parts) sum = sum + part.first * part.second;
    return simplified(sum);
  }

  void moment(const std::string& callee, const PrimExpr& callee_bytes) {
    Moment now{
        callee, simplified(total(alive_) + callee_bytes), callee_bytes, total(alive_, true), {}};
    std::vector<Moment>& all = out_.call.moments;
    for (const Moment& other : all) {
      if (at_most(now.bytes, other.bytes)) return;
    }
    std::erase_if(all, [&](const Moment& other) { return at_most(other.bytes, now.bytes); });
    for (size_t unit : alive_) {
      if (!units_[unit].storage.empty()) now.storages.push_back(units_[unit].storage);
    }
    all.push_back(std::move(now));
  }

  Held value_of(const Expr& expr) {
    if (const auto* var = as<VarNode>(expr)) {
      auto found = held_.find(var);
      return found == held_.end() ? Held{} : found->second;
    }
    if (const auto* tuple = as<TupleNode>(expr)) {
      Held value;
      for (const Expr& field : tuple->fields) value.fields.push_back(value_of(field));
      return value;
    }
    if (const auto* item = as<TupleGetItemNode>(expr)) {
      Held value = value_of(item->tuple);
      auto index = static_cast<size_t>(item->index);
      if (index >= value.fields.size()) return value.flat();
      Held field = std::move(value.fields[index]);
      field.maybe |= value.maybe;
      field.units.insert(value.units.begin(), value.units.end());
      field.params.insert(value.params.begin(), value.params.end());
      return field;
    }
    if (const auto* seq = as<SeqNode>(expr)) return sequence(*seq, false);
    // The captures of a function value.
    Held all;
    if (as<FunctionNode>(expr)) {
      visit(expr, [&](const Expr& e) {
        if (as<VarNode>(e)) value_of(e).flatten(all);
      });
    }
    return all;
  }

  Held arguments(const CallNode& call) {
    Held all;
    for (const Expr& arg : call.args) value_of(arg).flatten(all);
    return all;
  }

  // `tail`: the sequence's value is the function's result.
  Held sequence(const SeqNode& seq, bool tail) {
    const Binding* last = tail ? returned_binding(seq) : nullptr;
    const auto* side = last ? as<IfNode>(last->value) : nullptr;
    if (last && !side && !is_tail_call(*last, function_.result)) last = nullptr;
    for (const Block& block : seq.blocks) {
      for (const Binding& one : block.bindings) {
        if (&one != last) held_[one.var.get()] = binding(one);
      }
    }
    if (side) return branch(*side, true);
    if (last) return tail_call(*as<CallNode>(last->value));
    Held result = value_of(seq.result);
    if (tail) moment("", 0);
    return result;
  }

  Held branch(const IfNode& node, bool tail) {
    const std::set<size_t> before = alive_;
    Held a = sequence(*as<SeqNode>(node.then_branch), tail);
    std::set<size_t> after = std::exchange(alive_, before);
    Held b = sequence(*as<SeqNode>(node.else_branch), tail);
    PrimExpr x = total(after), y = total(alive_);
    if (at_most(y, x)) {
      alive_ = std::move(after);
    } else if (!at_most(x, y)) {
      alive_.insert(after.begin(), after.end());
      out_.call.exact = false;
    }
    Held result = either(a, b);
    result.maybe |= a.flat().units != b.flat().units || a.flat().params != b.flat().params;
    return result;
  }

  Held binding(const Binding& one) {
    if (const auto* node = as<IfNode>(one.value)) return branch(*node, false);
    const auto* call = as<CallNode>(one.value);
    if (!call || one.match_cast) return value_of(one.value);
    const std::string& op = called_operator(one.value);
    if (op == "memory.alloc_storage") {
      Held storage;
      if (!call->attrs.contains(kStaticAttr)) {
        storage.units.insert(add_unit({as<ShapeNode>(call->args[0])->dims[0], one.var->name}));
      }
      return storage;
    }
    if (op.empty()) return function_call(*call, false);
    return arguments(*call);
  }

  size_t add_unit(Unit unit) {
    units_.push_back(std::move(unit));
    alive_.insert(units_.size() - 1);
    return units_.size() - 1;
  }

  Held tail_call(const CallNode& call) {
    // Only arguments outlive the function's frame.
    moment("", 0);
    Held args = arguments(call);
    alive_ = args.units;
    const auto* global = as<GlobalVarNode>(call.callee);
    if (!global || global->name != name_) return function_call(call, true);
    Loop loop{{}, std::move(args), {}};
    for (const Expr& arg : call.args) loop.values.push_back(value_of(arg).flat());
    for (size_t i = 0; i < call.args.size() && i < function_.params.size(); ++i) {
      unify(function_.params[i]->annotation, annotation_of(call.args[i]), loop.dims);
    }
    loops_.push_back(std::move(loop));
    return {};
  }

  // Whether no iteration of a loop changes the variables in `bytes`.
  bool stays(const PrimExpr& bytes) const {
    for (const Var& var : free_vars(bytes)) {
      for (const Loop& loop : loops_) {
        auto found = loop.dims.find(var.get());
        if (found == loop.dims.end() || !same_expr(found->second, var)) return false;
      }
    }
    return true;
  }

  // After its first iteration a loop holds what that iteration passed on.
  void add_loops() {
    if (loops_.empty()) return;
    PrimExpr most = 0;
    for (const Loop& loop : loops_) {
      PrimExpr bytes = total(loop.args.units);
      most = at_most(most, bytes) ? bytes : at_most(bytes, most) ? most : most + bytes;
    }
    for (Moment& moment : out_.call.moments) {
      if (!stays(moment.bytes + most)) unknown("it calls itself with other shapes");
      moment.bytes = simplified(moment.bytes + most);
      moment.result_bytes = simplified(moment.result_bytes + most);
    }
    // The result may have been passed in by a later iteration.
    Held result = out_.result.flat();
    for (size_t before = 0; before != result.units.size() + result.params.size();) {
      before = result.units.size() + result.params.size();
      for (const Loop& loop : loops_) {
        for (size_t i = 0; i < loop.values.size(); ++i) {
          if (result.params.contains(i)) loop.values[i].flatten(result);
        }
      }
    }
    if (result.units != out_.result.flat().units) {
      out_.result = std::move(result);
      out_.result.maybe = true;
    }
  }

  // `tail`: the last call of this function.
  Held function_call(const CallNode& call, bool tail) {
    const auto* global = as<GlobalVarNode>(call.callee);
    if (!global) return value_call(call);
    const Summary* callee = finder_.summary(global->name);
    if (!callee || !callee->call.peak) {
      unknown(!callee ? "@" + global->name + " is called again before it returns"
                      : "that of @" + global->name + " is not known");
      return arguments(call);
    }
    const Function& function = *as_relax_function(finder_.module_.find(global->name));
    VarMap values;
    for (size_t i = 0; i < call.args.size() && i < function.params.size(); ++i) {
      unify(function.params[i]->annotation, annotation_of(call.args[i]), values);
    }
    auto here = [&](const PrimExpr& bytes) {
      for (const Var& var : free_vars(bytes)) {
        if (!values.contains(var.get())) {
          unknown("no argument of @" + global->name + " gives " + var->name);
        }
      }
      return tapml::substitute(bytes, values);
    };
    out_.call.exact &= callee->call.exact && (tail || !callee->result.flat().maybe);
    moment(global->name, here(callee->call.peak));
    std::map<size_t, size_t> units;  // from the callee's units to this function's
    return result_of(callee->result, call, [&](size_t unit) {
      auto [known, fresh] = units.emplace(unit, 0);
      if (fresh) known->second = add_unit({here(callee->units[unit].bytes), ""});
      return known->second;
    });
  }

  template <class F>
  Held result_of(const Held& from, const CallNode& call, F&& unit_of) {
    Held result;
    result.maybe = from.maybe;
    for (size_t unit : from.units) result.units.insert(unit_of(unit));
    for (size_t param : from.params) {
      if (param < call.args.size()) result = either(result, value_of(call.args[param]));
    }
    for (const Held& field : from.fields) result.fields.push_back(result_of(field, call, unit_of));
    return result;
  }

  // Any function used as a value may be called; the internal memory of a packed function is
  // unknown.
  Held value_call(const CallNode& call) {
    Held result = arguments(call);
    value_of(call.callee).flatten(result);
    if (as<ExternFuncNode>(call.callee)) return result;
    PrimExpr most = 0;
    for (const std::string& name : finder_.values_) {
      const Summary* callee = finder_.summary(name);
      if (!callee || !callee->call.peak || !callee->call.peak.is_int()) {
        unknown("it calls a function value, which may be @" + name);
        return result;
      }
      most = std::max(most->int_value, callee->call.peak->int_value);
    }
    out_.call.exact = false;
    moment("a function value", most);
    if (!most.is_int(0)) result.units.insert(add_unit({most, ""}));
    return result;
  }

  struct Loop {
    std::vector<Held> values;  // by parameter
    Held args;
    VarMap dims;  // of the next iteration, over those of this one
  };

  PeakFinder& finder_;
  const std::string& name_;
  const Function& function_;
  Summary out_;
  std::vector<Unit> units_;
  std::set<size_t> alive_;
  std::map<const VarNode*, Held> held_;
  std::vector<Loop> loops_;
};

PeakFinder::PeakFinder(const Module& planned)
    : module_(planned), values_(functions_as_values(planned)) {}
PeakFinder::~PeakFinder() = default;

const PeakFinder::Summary* PeakFinder::summary(const std::string& name) {
  auto known = summaries_.find(name);
  if (known != summaries_.end()) return known->second.get();
  const Function* function = as_relax_function(module_.find(name));
  if (!function || !open_.insert(name).second) return nullptr;
  auto made = std::make_unique<Summary>(Simulation(*this, name, *function).run());
  open_.erase(name);
  return (summaries_[name] = std::move(made)).get();
}

const CallSummary& PeakFinder::of(const std::string& function) { return summary(function)->call; }

}  // namespace tapml::passes
