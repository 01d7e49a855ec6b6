#include "library/routine_table.h"

#include <algorithm>

#include "arith/analyzer.h"
#include "base/strings.h"
#include "ir/exceptions.h"
#include "library/choose.h"
#include "relax/visit.h"
#include "text/printer.h"

namespace tapml::library {

using namespace relax;  // NOLINT: this file is about relax and libraries

namespace {

// What the annotation of a call's tensor specifies.
struct KnownTensor {
  RoutineTensor tensor;
  std::optional<Dims> dims;
};

std::optional<RoutineFault> find_fault_of(const RoutineSignature& signature,
                                          const std::vector<KnownTensor>& inputs,
                                          const std::vector<KnownTensor>& outputs,
                                          const std::vector<int64_t>& parameters) {
  auto tensors = [](const std::vector<KnownTensor>& list) {
    std::vector<RoutineTensor> result;
    for (const KnownTensor& one : list) result.push_back(one.tensor);
    return result;
  };
  if (auto fault =
          find_type_fault(signature, tensors(inputs), tensors(outputs), parameters.size())) {
    return fault;
  }
  arith::Analyzer analyzer;
  for (const auto* list : {&inputs, &outputs}) {
    for (const KnownTensor& one : *list) {
      if (!one.dims) continue;
      for (const PrimExpr& dim : *one.dims) {
        for (const Var& var : free_vars(dim)) analyzer.bind(var, 0, std::nullopt);
      }
    }
  }
  auto dims_of = [&](size_t i) -> std::optional<std::span<const PrimExpr>> {
    const bool is_input = i < signature.inputs;
    if (is_input && i >= inputs.size()) return {};
    const KnownTensor& one = is_input ? inputs[i] : outputs[i - signature.inputs];
    if (!one.dims) return {};
    return std::span<const PrimExpr>(*one.dims);
  };
  auto differs = [&](const PrimExpr& a, const PrimExpr& b) {
    if (a.is_int() && b.is_int()) return a->int_value != b->int_value;
    return analyzer.prove_less(a, b) || analyzer.prove_less(b, a);
  };
  return find_shape_fault<PrimExpr>(signature, parameters, dims_of, differs,
                                    [](const PrimExpr& dim) { return text::print(dim); });
}

KnownTensor known(const Annotation& annotation) {
  const auto* tensor = as_tensor(annotation);
  if (!tensor) return {};
  KnownTensor one;
  one.tensor.dtype = tensor->dtype;
  if (tensor->shape) {
    one.tensor.rank = tensor->shape->size();
    one.dims = *tensor->shape;
  }
  return one;
}

}  // namespace

RoutineTable::RoutineTable(const std::vector<UserLibrary>& user) {
  for (const UserLibrary& library : user) {
    for (const auto& [name, signature] : library.routines) {
      routines_.push_back({library.name, name, signature, true});
    }
  }
  for (const Library& library : libraries()) {
    for (const Routine& routine : library.routines) {
      const std::string name = std::string(library.name) + "." + routine.name;
      routines_.push_back({library.name, routine.name,
                           unwrap(parse_routine_signature(routine.signature, "routine " + name))});
    }
  }
}

const KnownRoutine* RoutineTable::find(const std::string& name) const {
  for (const KnownRoutine& one : routines_) {
    if (one.full_name() == name || (one.user && one.routine == name)) return &one;
  }
  return nullptr;
}

const KnownRoutine& RoutineTable::get(const std::string& library,
                                      const std::string& routine) const {
  const KnownRoutine* known = find(library + "." + routine);
  if (!known) throw_internal("no routine is called " + library + "." + routine);
  return *known;
}

std::string RoutineTable::names() const {
  return routines_.empty() ? "none" : join(routines_, &KnownRoutine::full_name);
}

std::optional<RoutineFault> find_fault(const RoutineSignature& signature,
                                       const std::vector<Operand>& inputs,
                                       const std::vector<Operand>& outputs,
                                       const std::vector<int64_t>& parameters) {
  auto tensors = [](const std::vector<Operand>& list) {
    std::vector<KnownTensor> result;
    for (const Operand& one : list) result.push_back({{one.dtype, one.dims.size()}, one.dims});
    return result;
  };
  return find_fault_of(signature, tensors(inputs), tensors(outputs), parameters);
}

void refuse_call(const KnownRoutine& routine, const RoutineFault& fault, const std::string& where) {
  throw_user(fault_message(routine.signature, routine.full_name(), fault), where, fault.expected,
             fault.found, "its signature: " + routine.signature.text);
}

void check_routine_calls(const Module& module, const std::vector<UserLibrary>& user,
                         const std::function<std::string(const std::string& function,
                                                         const std::string& variable)>& place) {
  const RoutineTable table(user);
  for (const auto& [name, function] : module.functions) {
    const Function* graph = as_relax_function(function.get());
    if (!graph) continue;
    visit_bindings(graph->body, [&](const Binding& binding, bool) {
      if (called_operator(binding.value) != "call_dps_library") return;
      const auto& call = *as<CallNode>(binding.value);
      const auto* routine = call.args.empty() ? nullptr : as<ExternFuncNode>(call.args[0]);
      const auto* tensors = call.args.size() == 2 ? as<TupleNode>(call.args[1]) : nullptr;
      const KnownRoutine* found = routine ? table.find(routine->name) : nullptr;
      if (!found || !tensors) return;
      std::vector<KnownTensor> inputs, outputs;
      for (const Expr& tensor : tensors->fields) inputs.push_back(known(annotation_of(tensor)));
      for (const Annotation& output : call.annotations) outputs.push_back(known(output));
      const auto fault =
          find_fault_of(found->signature, inputs, outputs,
                        attr_or<std::vector<int64_t>>(call.attrs, kParametersAttr, {}));
      if (fault) refuse_call(*found, *fault, place(name, binding.var->name));
    });
  }
}

}  // namespace tapml::library
