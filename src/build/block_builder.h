// Builds graph-level functions in A-normal form with forward deduction.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "op/operator.h"
#include "relax/visit.h"

namespace tapml::build {

// Annotation of any call, from the callee's signature or the operator's rule alone: operators,
// call_tir and call_dps_library (explicit outputs), functions of `module` by their signature,
// function values by their Callable annotation.
relax::Annotation deduce_call(const relax::CallNode& call, const Module& module);

// Annotation of an operand: as relax::annotation_of, and for @f the Callable of that function.
relax::Annotation annotation_of_operand(const relax::Expr& operand, const Module& module);
// The Callable annotation of a function's signature.
relax::Annotation annotation_of_function(const relax::Function& function);

// Annotation of any bound value: calls as above, ifs by the join of their branches (each restricted
// to variables visible outside of it), functions by their signature, operands by their own
// annotation.
relax::Annotation annotation_of_value(const relax::Expr& value, const Module& module);

// Whether `expr` is a valid operand in A-normal form: a variable, a literal, a name, or a tuple of
// these. Null counts as an atom: it cannot be bound, and the verifier reports it.
bool is_atom(const relax::Expr& expr);

// Emits bindings into one function. Usage:
//   FunctionBuilder f(module);
//   Variable x = f.param("x", tensor_annotation({n, 4}, DType::kF32));
//   f.begin_dataflow();
//   Variable y = f.emit_op("silu", {x});
//   Variable z = f.emit_op("exp", {y}, {}, "z", /*output=*/true);
//   f.end_dataflow();
//   FunctionRef main = f.finish(z, attrs);
class FunctionBuilder {
 public:
  explicit FunctionBuilder(const Module& module) : module_(module) {}

  relax::Variable param(const std::string& name, relax::Annotation annotation);
  void begin_dataflow();
  void end_dataflow();
  // Origins of the bindings emitted until the next call.
  void set_origin(Origin origin) { origin_ = std::move(origin); }

  // Binds `value` to a fresh variable with the deduced annotation. Operands that are not atoms are
  // bound first. `name` is a hint; dataflow variables unless `output`.
  relax::Variable emit(relax::Expr value, const std::string& name = "", bool output = false);
  relax::Variable emit_op(const std::string& op, std::vector<relax::Expr> args, AttrMap attrs = {},
                          const std::string& name = "", bool output = false);
  relax::Variable emit_match_cast(relax::Expr value, relax::Annotation annotation);
  // `result` is an atom or tuple of atoms; the function gets its annotation.
  relax::FunctionRef finish(relax::Expr result, AttrMap attrs = {});

 private:
  std::string unique(const std::string& hint);
  relax::Expr atom(const relax::Expr& expr);
  relax::Variable bind(relax::Expr value, relax::Annotation annotation,
                       relax::Annotation match_cast, const std::string& name, bool output);

  const Module& module_;
  std::vector<relax::Variable> params_;
  std::vector<relax::Block> blocks_;
  Origin origin_;
  std::map<std::string, int> names_;
  bool in_dataflow_ = false;
};

// A binding, or a function's result, whose annotation provably disagrees with deduction.
struct AnnotationFault {
  enum class Kind { kValue, kAnnotation, kResult };
  Kind kind;
  std::string function;
  std::string variable;  // the binding; empty for the result
  // For kValue, why the value has no valid annotation; else the written annotation and the deduced
  // one.
  Error error;
  std::string stored, deduced;
};

// The first fault, in the order of functions and bindings.
std::optional<AnnotationFault> find_annotation_fault(const Module& module);

// Throws an InternalError that names function, binding and both annotations of the first fault.
void check_annotations(const Module& module, const std::string& after_pass = "");

}  // namespace tapml::build
