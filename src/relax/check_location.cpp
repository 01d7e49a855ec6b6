#include "relax/check_location.h"

#include "arith/broadcast_dim.h"
#include "relax/solve.h"
#include "relax/visit.h"

namespace tapml::relax {

std::string parameter_location(const Variable& param, const std::string& function) {
  return "parameter " + param->name + " of " + function;
}

std::string result_location(const std::string& function) { return "result of " + function; }

const std::string& written_name(const Binding& binding) {
  return binding.check.binding.empty() ? binding.var->name : binding.check.binding;
}

const std::string& planned_name(const Binding& binding) {
  if (binding.check.empty() && called_operator(binding.value) == "call_tir_dps") {
    const auto* outputs = as<TupleNode>(as<CallNode>(binding.value)->args[2]);
    const auto* made =
        outputs && !outputs->fields.empty() ? as<VarNode>(outputs->fields[0]) : nullptr;
    if (made) return made->name;
  }
  return written_name(binding);
}

CheckNote written_note(const Binding& binding) {
  return {"", written_name(binding), binding.check.function};
}

CheckNote check_note(const Binding& binding) {
  if (!binding.check.what.empty()) return binding.check;
  CheckNote note = written_note(binding);
  if (binding.match_cast) {
    if (binding.check.empty()) note = {"match_cast " + note.binding, "", ""};
  } else if (const auto* call = as<CallNode>(binding.value)) {
    if (const auto* var = as<VarNode>(call->callee)) {
      note.what = "result of " + var->name;
    } else if (const auto* packed = as<ExternFuncNode>(call->callee)) {
      note.what = "result of extern \"" + packed->name + "\"";
    } else if (is_call_tir(binding.value)) {
      note.what = "result of @" + call_tir_callee(*call);
    }
  }
  return note;
}

CheckNote operand_note(const std::string& operand, const std::string& op, const Binding& binding) {
  return {"operand " + operand + " of " + op, written_name(binding), binding.check.function};
}

CheckNote call_note(const std::string& what, const std::string& op, const Binding& binding) {
  return {what + " of " + op, written_name(binding), binding.check.function};
}

CheckNote argument_note(const std::string& argument, const std::string& program,
                        const Binding& binding) {
  return {"argument " + argument + " of @" + program, written_name(binding),
          binding.check.function};
}

std::string binding_location(const Binding& binding) {
  const CheckNote note = check_note(binding);
  std::string text = note.what;
  if (!note.binding.empty()) text += (text.empty() ? "binding " : " in binding ") + note.binding;
  return note.function.empty() ? text : text + " of " + note.function;
}

std::string binding_location(const Binding& binding, const std::string& function) {
  const std::string text = binding_location(binding);
  return binding.check.function.empty() ? text + " of " + function : text;
}

std::string operation_location(const Binding& binding, const std::string& function) {
  const std::string& written_in = binding.check.function;
  return "binding " + written_name(binding) + " of " + (written_in.empty() ? function : written_in);
}

namespace {

class SourceFinder {
 public:
  explicit SourceFinder(const Function& function) : attrs_(function.attrs) {
    for (const Variable& param : function.params) {
      add(param->annotation, "parameter " + param->name);
      if (param == function.params.front()) captured_ = integers_.size();
    }
    solve();
    captured_ = 0;
    visit_bindings(function.body, [&](const Binding& binding, bool) {
      if (!binding.match_cast) return;
      add(binding.match_cast, binding_location(binding));
      solve();
    });
  }

  std::map<const tapml::ExprNode*, SymbolSource> sources;

 private:
  void add_integer(const PrimExpr& value, const std::string& what, const std::string& place) {
    integers_.push_back(value);
    places_.push_back(what + " of " + place);
  }

  void add_dims(const Dims& dims, const std::string& place) {
    for (size_t d = 0; d < dims.size(); ++d) {
      add_integer(dims[d], "dimension " + std::to_string(d), place);
    }
  }

  void add(const Annotation& annotation, const std::string& place) {
    if (const auto* prim = as_prim(annotation)) {
      if (prim->value) add_integer(prim->value, "the value", place);
    } else if (const auto* shape = as_shape(annotation)) {
      if (shape->dims) add_dims(*shape->dims, place);
    } else if (const auto* tensor = as_tensor(annotation)) {
      if (tensor->shape) add_dims(*tensor->shape, place);
    } else if (const auto* tuple = as_tuple(annotation)) {
      for (size_t f = 0; f < tuple->fields.size(); ++f) {
        add(tuple->fields[f], place + ", field " + std::to_string(f));
      }
    }
  }

  void take_from_outside(SymbolSource& source) const {
    const auto* outside = find_attr<std::vector<std::string>>(attrs_, kSourcePrefix + source.name);
    if (!outside || outside->empty()) return;
    source.place = outside->front();
    if (outside->size() > 1) source.expression = (*outside)[1];
  }

  void solve() {
    for (const SolvedSymbol& one : solve_symbols(integers_, known_)) {
      const PrimExpr& from = integers_[one.integer];
      SymbolSource source{one.symbol->name, "", places_[one.integer]};
      if (!from.is_var()) source.expression = arith::dim_text(from);
      if (one.integer < captured_) take_from_outside(source);
      sources.emplace(one.symbol, std::move(source));
    }
    integers_.clear();
    places_.clear();
  }

  const AttrMap& attrs_;
  SymbolIds known_;
  std::vector<PrimExpr> integers_;
  std::vector<std::string> places_;
  size_t captured_ = 0;  // integers of the first parameter
};

}  // namespace

std::map<const tapml::ExprNode*, SymbolSource> symbol_sources(const Function& function) {
  return SourceFinder(function).sources;
}

}  // namespace tapml::relax
