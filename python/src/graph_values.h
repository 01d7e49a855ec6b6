// Converts Python values for graph-level calls: annotations, operands, attributes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "binding.h"
#include "op/operator.h"
#include "relax/expr.h"

namespace tapml::python {

// The symbolic variables of one function, by name.
class Symbols {
 public:
  // Parses an annotation in the text format. An unknown name that is a dimension by itself becomes
  // a new variable. UserError that names `where`.
  relax::Annotation annotation(const std::string& text, const std::string& where);
  // A tensor's annotation from its dimensions (integers and texts; None: unknown) and its dtype
  // (None: unknown).
  relax::Annotation tensor(const py::object& shape, const py::object& dtype,
                           const std::string& where);
  // Dimensions over known variables only.
  Dims dims(const py::sequence& list, const std::string& where);

 private:
  std::vector<Var> known_;
};

// A value of a graph-level function under construction or rewriting.
struct GraphVar {
  relax::Variable var;
};

// A GraphVar, a tuple or list of them, or None for the empty tuple.
relax::Expr operand_of(const py::handle& value, const std::string& where);

// A call of an operator: operands of the kinds that the operator declares, attributes by keyword.
relax::Expr operator_call(const std::string& name, const py::args& args, const py::kwargs& attrs,
                          Symbols& symbols);
// The same without information about the operands, as in patterns.
relax::Expr pattern_call(const std::string& names, const py::args& args, const py::kwargs& attrs);

AttrMap attributes_of(const py::kwargs& attrs, const op::OperatorInfo* info,
                      const std::string& where);
py::dict attributes_as_dict(const AttrMap& attrs);

}  // namespace tapml::python
