#include "graph_values.h"

#include <pybind11/stl.h>

#include <algorithm>

#include "base/strings.h"
#include "base/suggest.h"
#include "dtypes.h"
#include "relax/visit.h"
#include "text/parser.h"
#include "text/printer.h"

namespace tapml::python {

namespace {

std::string type_name(const py::handle& value) {
  return py::str(py::type::handle_of(value).attr("__name__")).cast<std::string>();
}

std::string dim_text(const py::handle& dim, const std::string& where) {
  const bool integer = py::isinstance<py::int_>(dim) && !py::isinstance<py::bool_>(dim);
  if (!integer && !py::isinstance<py::str>(dim)) {
    throw_user("not a dimension", where, "an integer, or a text such as \"n\" or \"n + 1\"",
               py::repr(dim).cast<std::string>());
  }
  return py::str(dim).cast<std::string>();
}

std::string dims_text(const py::sequence& list, const std::string& where) {
  std::string text;
  for (const py::handle dim : list) text += (text.empty() ? "" : ", ") + dim_text(dim, where);
  return "(" + text + (list.size() == 1 ? ",)" : ")");
}

const op::OperatorInfo& operator_named(const std::string& name, const std::string& where) {
  if (const op::OperatorInfo* info = op::find_operator(name)) return *info;
  std::vector<std::string_view> names;
  for (const op::OperatorInfo* entry : op::operator_table()) names.push_back(entry->name);
  throw_user("no operator is called '" + name + "'", where, "an operator of docs/operators.md",
             name, suggestion(name, names));
}

bool is_list(const py::handle& value) {
  return py::isinstance<py::list>(value) || py::isinstance<py::tuple>(value);
}

relax::Expr argument_of(const py::handle& value, const op::ArgumentSpec& spec, Symbols& symbols,
                        const std::string& where) {
  const std::string at = where + ", argument " + spec.name;
  if (spec.kind == op::ArgumentKind::kShape && is_list(value)) {
    return relax::make_shape(symbols.dims(value.cast<py::sequence>(), at));
  }
  const bool scalar = py::isinstance<py::int_>(value) || py::isinstance<py::str>(value);
  if (spec.kind == op::ArgumentKind::kPrim && scalar) {
    return relax::make_prim_value(symbols.dims(py::make_tuple(value), at).front());
  }
  return operand_of(value, at);
}

// Integers if all elements are; else floats.
AttrValue list_attribute(const py::handle& value, const std::string& where) {
  const auto list = value.cast<py::sequence>();
  const auto all = [&](auto&& is) {
    for (const py::handle one : list) {
      if (!is(one)) return false;
    }
    return true;
  };
  if (all([](const py::handle& one) { return py::isinstance<py::str>(one); }) && list.size() > 0) {
    return list.cast<std::vector<std::string>>();
  }
  if (all([](const py::handle& one) { return py::isinstance<py::int_>(one); })) {
    return list.cast<std::vector<int64_t>>();
  }
  if (all([](const py::handle& one) {
        return py::isinstance<py::int_>(one) || py::isinstance<py::float_>(one);
      })) {
    return list.cast<std::vector<double>>();
  }
  throw_user("not an attribute", where, "a list of integers, of numbers or of texts",
             py::repr(value).cast<std::string>());
}

AttrValue attribute_of(const py::handle& value, const op::AttributeSpec* spec,
                       const std::string& where) {
  if (spec && spec->kind == op::AttributeKind::kDType) {
    return dtype_of(py::reinterpret_borrow<py::object>(value), where.c_str());
  }
  if (py::isinstance<py::bool_>(value)) return value.cast<bool>();
  const bool floats = spec && spec->kind == op::AttributeKind::kFloat;
  if (py::isinstance<py::int_>(value)) {
    if (floats) return value.cast<double>();
    return value.cast<int64_t>();
  }
  if (py::isinstance<py::float_>(value)) return value.cast<double>();
  if (py::isinstance<py::str>(value)) return value.cast<std::string>();
  if (is_list(value)) {
    AttrValue list = list_attribute(value, where);
    const auto* integers = std::get_if<std::vector<int64_t>>(&list);
    if (integers && spec && spec->kind == op::AttributeKind::kFloats) {
      return std::vector<double>(integers->begin(), integers->end());
    }
    return list;
  }
  throw_user("not an attribute", where, "a truth value, a number, a text or a list",
             py::repr(value).cast<std::string>());
}

}  // namespace

relax::Annotation Symbols::annotation(const std::string& text, const std::string& where) {
  // Known names come first, so that expressions over them can be resolved.
  std::string known;
  for (const Var& var : known_) known += "_" + var->name + ": Tensor((" + var->name + ",)), ";
  const std::string program =
      "module\n\ndef f(" + known + "x: " + text + ") -> Object {\n  return x\n}\n";
  const Module module = text::parse(program, where);
  const auto& function = static_cast<const relax::Function&>(*module.functions.at("f"));
  std::vector<Var> fresh;
  for (const relax::Variable& param : function.params) {
    relax::collect_vars(param->annotation, fresh);
  }
  VarMap values;
  for (const Var& var : fresh) {
    const auto same = std::ranges::find(known_, var->name, [](const Var& v) { return v->name; });
    if (same == known_.end()) {
      known_.push_back(var);
    } else {
      values[var.get()] = *same;
    }
  }
  return relax::substitute(function.params.back()->annotation, values);
}

relax::Annotation Symbols::tensor(const py::object& shape, const py::object& dtype,
                                  const std::string& where) {
  std::string text;
  if (!shape.is_none()) {
    if (!is_list(shape)) {
      throw_user("not a shape", where, "a tuple of integers and texts", type_name(shape));
    }
    text = dims_text(shape.cast<py::sequence>(), where);
  }
  if (!dtype.is_none()) {
    text += text.empty() ? "" : ", ";
    text += dtype_name(dtype_of(dtype, where.c_str()));
  }
  return annotation("Tensor(" + text + ")", where);
}

Dims Symbols::dims(const py::sequence& list, const std::string& where) {
  const size_t before = known_.size();
  const relax::Annotation made = annotation("Shape(" + dims_text(list, where) + ")", where);
  if (known_.size() != before) {
    const std::string name = known_.back()->name;
    known_.resize(before);
    throw_user("the symbolic variable " + name + " is not known here", where,
               "variables of the function's parameters", name);
  }
  return *relax::as_shape(made)->dims;
}

relax::Expr operand_of(const py::handle& value, const std::string& where) {
  if (py::isinstance<GraphVar>(value)) return value.cast<const GraphVar&>().var;
  if (is_list(value)) {
    std::vector<relax::Expr> fields;
    for (const py::handle field : value) fields.push_back(operand_of(field, where));
    return relax::make_tuple(std::move(fields));
  }
  throw_user("not a value of the graph", where, "a tapml.Var, or a list of them", type_name(value));
}

relax::Expr operator_call(const std::string& name, const py::args& args, const py::kwargs& attrs,
                          Symbols& symbols) {
  const op::OperatorInfo& info = operator_named(name, "op");
  if (args.size() != info.args.size()) {
    std::string names;
    for (const op::ArgumentSpec& spec : info.args) {
      names += (names.empty() ? "" : ", ") + std::string(spec.name);
    }
    throw_user("wrong number of operands", name,
               std::to_string(info.args.size()) + " (" + names + ")", std::to_string(args.size()));
  }
  std::vector<relax::Expr> operands;
  for (size_t i = 0; i < args.size(); ++i) {
    operands.push_back(argument_of(args[i], info.args[i], symbols, name));
  }
  return relax::make_op_call(name, std::move(operands), attributes_of(attrs, &info, name));
}

relax::Expr pattern_call(const std::string& names, const py::args& args, const py::kwargs& attrs) {
  std::vector<relax::Expr> operands;
  for (const py::handle arg : args) operands.push_back(operand_of(arg, names));
  const op::OperatorInfo* first = nullptr;
  for (size_t at = 0; at <= names.size();) {
    const size_t end = std::min(names.find('|', at), names.size());
    const op::OperatorInfo& info = operator_named(names.substr(at, end - at), names);
    if (!first) first = &info;
    at = end + 1;
  }
  return relax::make_op_call(names, std::move(operands), attributes_of(attrs, first, names));
}

AttrMap attributes_of(const py::kwargs& attrs, const op::OperatorInfo* info,
                      const std::string& where) {
  AttrMap map;
  for (const auto& [key, value] : attrs) {
    const std::string name = key.cast<std::string>();
    const op::AttributeSpec* spec = nullptr;
    if (info) {
      const auto found = std::ranges::find(info->attrs, name, [](const op::AttributeSpec& one) {
        return std::string_view(one.name);
      });
      if (found != info->attrs.end()) spec = &*found;
    }
    map[name] = attribute_of(value, spec, where + ", attribute " + name);
  }
  return map;
}

py::dict attributes_as_dict(const AttrMap& attrs) {
  py::dict dict;
  for (const auto& [name, value] : attrs) {
    dict[py::str(name)] = std::visit(
        [](const auto& one) -> py::object {
          if constexpr (std::is_same_v<std::decay_t<decltype(one)>, DType>) {
            return py::str(dtype_name(one));
          } else {
            return py::cast(one);
          }
        },
        value);
  }
  return dict;
}

}  // namespace tapml::python
