#include "program.h"

#include <pybind11/stl.h>

#include <map>
#include <vector>

#include "base/strings.h"
#include "build/pattern.h"
#include "io/host/files.h"
#include "language_model.h"
#include "passes/kernel.h"
#include "passes/specialize.h"
#include "path.h"
#include "pipeline/check_input.h"
#include "text/parser.h"
#include "text/printer.h"

namespace tapml::python {

namespace {

struct FunctionType {
  std::string name;
  relax::FunctionRef function;
};

Program checked(const std::string& text, const std::string& name) {
  return without_interpreter([&] {
    text::SourceMap places;
    Module module = text::parse(text, name, {.places = &places});
    return Program{pipeline::normal_input(module, name, &places), name};
  });
}

Program load_program(const Path& path) {
  std::string text = without_interpreter([&] { return unwrap(read_text_file(path)); });
  return checked(text, path);
}

// Names of graph-level functions that can be called.
std::map<std::string, relax::FunctionRef> functions_of(const Module& module) {
  std::map<std::string, relax::FunctionRef> found;
  for (const auto& [name, function] : module.functions) {
    if (function->level != FunctionLevel::kRelax || passes::is_kernel(function.get()) ||
        build::is_pattern(function.get())) {
      continue;
    }
    found.emplace(name, std::static_pointer_cast<const relax::Function>(function));
  }
  return found;
}

std::string names_of(const std::map<std::string, relax::FunctionRef>& functions) {
  std::string names;
  for (const auto& [name, function] : functions) names += (names.empty() ? "" : ", ") + name;
  return names.empty() ? "a module with a graph-level function" : names;
}

FunctionType function_of(const Program& program, const std::string& name) {
  auto functions = functions_of(program.module);
  auto found = functions.find(name);
  if (found == functions.end()) {
    throw_user("the module has no such function", program.name, names_of(functions), name);
  }
  return {name, found->second};
}

// The only function, or the one called main.
FunctionType only_function(const Program& program) {
  auto functions = functions_of(program.module);
  if (functions.size() == 1) return {functions.begin()->first, functions.begin()->second};
  if (auto found = functions.find("main"); found != functions.end()) return {"main", found->second};
  throw_user("the function is ambiguous", program.name, "one function, or one that is called main",
             names_of(functions), "module[\"name\"] takes one");
}

std::vector<ValueType> inputs_of(const FunctionType& type) {
  std::vector<ValueType> inputs;
  for (const relax::Variable& param : type.function->params) {
    inputs.push_back({param->name, param->annotation});
  }
  return inputs;
}

// The fields of a tuple, or the one value.
std::vector<ValueType> output_of(const FunctionType& type) {
  std::vector<ValueType> outputs;
  if (const auto* tuple = relax::as_tuple(type.function->result)) {
    for (const relax::Annotation& field : tuple->fields) outputs.push_back({"", field});
  } else {
    outputs.push_back({"", type.function->result});
  }
  return outputs;
}

Program bound(const Program& program, const std::optional<std::string>& function,
              const py::kwargs& values) {
  const std::string name =
      function ? function_of(program, *function).name : only_function(program).name;
  std::map<std::string, int64_t> known;
  for (const auto& [variable, value] : values) {
    if (!py::isinstance<py::int_>(value)) {
      throw_user("not a dimension", "bind(" + variable.cast<std::string>() + "=...)", "an integer",
                 py::repr(value).cast<std::string>());
    }
    known[variable.cast<std::string>()] = value.cast<int64_t>();
  }
  return {passes::bind_shapes(program.module, {{name, known}}), program.name};
}

const char* kind_of(const ValueType& type) {
  switch (type.annotation->kind) {
    case relax::AnnotationKind::kTensor:
      return "tensor";
    case relax::AnnotationKind::kShape:
      return "shape";
    case relax::AnnotationKind::kPrim:
      return "prim";
    case relax::AnnotationKind::kTuple:
      return "tuple";
    case relax::AnnotationKind::kCallable:
      return "callable";
    case relax::AnnotationKind::kObject:
      break;
  }
  return "object";
}

// Integers, and texts for symbolic dimensions; None if unknown.
py::object dims_of(const ValueType& type) {
  const auto* tensor = relax::as_tensor(type.annotation);
  const auto* shape = relax::as_shape(type.annotation);
  const std::optional<Dims>* dims = tensor ? &tensor->shape : shape ? &shape->dims : nullptr;
  if (!dims || !*dims) return py::none();
  py::list list;
  for (const PrimExpr& dim : **dims) {
    if (dim.is_int()) {
      list.append(dim->int_value);
    } else {
      list.append(text::print(dim));
    }
  }
  return py::tuple(list);
}

py::object dtype_name_of(const ValueType& type) {
  if (const auto* tensor = relax::as_tensor(type.annotation); tensor && tensor->dtype) {
    return py::str(dtype_name(*tensor->dtype));
  }
  if (const auto* prim = relax::as_prim(type.annotation)) {
    return py::str(dtype_name(prim->dtype));
  }
  return py::none();
}

std::string repr_of(const ValueType& type) {
  std::string text = relax::to_string(type.annotation);
  return "<tapml.ValueType " + (type.name.empty() ? text : type.name + ": " + text) + ">";
}

}  // namespace

const Module& module_of(const py::object& program, const char* where) {
  if (py::isinstance<Program>(program)) return program.cast<const Program&>().module;
  if (py::isinstance<LanguageModel>(program)) {
    return program.cast<const LanguageModel&>().loaded->files.module;
  }
  throw_user("not a module", where, "a tapml.Module or a tapml.LanguageModel",
             py::str(py::type::of(program).attr("__name__")).cast<std::string>(),
             "tapml.parse(text) and tapml.Module.load(path) make one");
}

void bind_program(py::module_& module) {
  py::class_<ValueType>(module, "ValueType", py::is_final(),
                        "Static information about a parameter or a result.")
      .def_readonly("name", &ValueType::name, "Name of the parameter; empty for results.")
      .def_property_readonly("kind", &kind_of,
                             "``\"tensor\"``, ``\"shape\"``, ``\"prim\"`` (a host scalar), "
                             "``\"tuple\"``, ``\"callable\"`` or ``\"object\"``.")
      .def_property_readonly("dtype", &dtype_name_of, "``\"f32\"``, ...; None if unknown.")
      .def_property_readonly("shape", &dims_of,
                             "Integers, and texts (``\"n + 1\"``) for symbolic dimensions; None "
                             "if unknown.")
      .def("__repr__", &repr_of);
  py::class_<FunctionType>(module, "FunctionType", py::is_final(),
                           "The signature of a function of a module.")
      .def_readonly("name", &FunctionType::name)
      .def_property_readonly("inputs", &inputs_of, "A ValueType for each parameter.")
      .def_property_readonly("output", &output_of,
                             "A ValueType for each result: the fields of a tuple, else one.")
      .def("__repr__", [](const FunctionType& type) {
        return "<tapml.FunctionType " + type.name + " of " +
               std::to_string(type.function->params.size()) + " parameters>";
      });
  py::class_<Program>(module, "Module", py::is_final(), R"doc(
A program before it is compiled: functions over tensors, read from the text format.)doc")
      .def_static("parse", &checked, py::arg("text"), py::arg("name") = "<text>", R"doc(
Reads a module from its text, checks it and returns it.

Messages call the text ``name``. Raises tapml.UserError with line, column and caret.)doc")
      .def_static("load", &load_program, py::arg("path"), "Reads a module from a file.")
      .def_property_readonly(
          "functions",
          [](const Program& program) {
            py::list names;
            for (const auto& [name, function] : functions_of(program.module)) names.append(name);
            return py::tuple(names);
          },
          "Names of the functions that can be called once compiled.")
      .def("__getitem__", &function_of, py::arg("name"), "The signature of a function.")
      .def_property_readonly(
          "inputs", [](const Program& program) { return inputs_of(only_function(program)); },
          "Parameters of the module's only function, or of its main.")
      .def_property_readonly(
          "output", [](const Program& program) { return output_of(only_function(program)); },
          "Results of the module's only function, or of its main.")
      .def("bind", &bound, py::arg("function") = py::none(), R"doc(
The module with symbolic variables of a function's parameters replaced: ``bind(n=128)``.

Branches, calls and loops that the values decide are decided.

``function`` may be omitted if the module has only one function, or a main.)doc")
      .def("__str__",
           [](const Program& program) {
             return without_interpreter([&] { return text::print(program.module); });
           })
      .def("__repr__", [](const Program& program) {
        return "<tapml.Module " + in_quotes(program.name) + ": " +
               names_of(functions_of(program.module)) + ">";
      });
}

}  // namespace tapml::python
