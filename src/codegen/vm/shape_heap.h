// A function's part of the shape heap: the slot of each symbolic variable, the programs over the
// slots, and the checks that fill them.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "exec/executable.h"
#include "relax/expr.h"

namespace tapml::codegen {

// A value in a register, at a function boundary or a match_cast, and its expected annotation.
struct CheckedValue {
  int32_t reg = 0;
  relax::Annotation annotation;
  std::string where;  // for messages: "parameter x of main"
};

// Writes slots, programs, layouts and checks into one VmFunction.
class ShapeHeap {
 public:
  // Writes into `out`, the lowered `function`; its attribute "bound.n" is checked when n gets its
  // value.
  ShapeHeap(VmFunction& out, const relax::Function& function);

  // Emits the checks of values that arrive together. A dimension that is a variable without a slot
  // defines it; dimensions with one unknown variable, linear in it, are solved (n + 1, 2*n);
  // everything else must be equal. UserError for variables that no dimension determines.
  void check(const std::vector<CheckedValue>& values);
  // The same for one value whose variables all have slots.
  void check_known(const CheckedValue& value);
  // Number of a check that runs later; -1 if there is nothing to check.
  int32_t later_check(const relax::Annotation& annotation, const std::string& where);

  // Program number of an integer expression. UserError that names a variable without a slot.
  int32_t program(const PrimExpr& expr);
  std::vector<int32_t> programs(const Dims& dims);
  // `offset`: bytes from the start of the storage; null: none.
  int32_t layout(DType dtype, const Dims& dims, const PrimExpr& offset = {});

  // Slots defined after mark() go out of scope at forget().
  size_t mark() const { return defined_.size(); }
  void forget(size_t mark);

 private:
  struct Open;

  int32_t find(const Var& var) const;  // -1: none
  int32_t define(const Var& var);
  std::vector<Var> unknown(const PrimExpr& expr) const;
  ScalarProgram scalar_program(const PrimExpr& expr);
  ValueCheck value_check(const relax::Annotation& annotation, const std::string& where,
                         std::vector<Open>& open);
  void fill_dims(ValueCheck& result, const Dims& dims, std::vector<Open>& open);
  bool solve(const Open& open);
  void emit_check(int32_t reg, ValueCheck check);
  void emit(Instruction instruction) { out_.code.push_back(std::move(instruction)); }

  int64_t most(const Var& var) const;  // -1: no bound

  VmFunction& out_;
  const SymbolBounds& bounds_;
  const std::map<const tapml::ExprNode*, SymbolSource> sources_;
  std::map<const tapml::ExprNode*, int32_t> slots_;  // of the variables in scope
  std::vector<Var> defined_;                         // by slot
  struct ByCode {
    bool operator()(const ScalarProgram& a, const ScalarProgram& b) const;
  };
  std::map<ScalarProgram, int32_t, ByCode> programs_;  // numbers in out_.programs
};

}  // namespace tapml::codegen
