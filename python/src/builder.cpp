// The graph builder, patterns, and passes written in Python.
#include <pybind11/stl.h>

#include <algorithm>
#include <optional>

#include "build/block_builder.h"
#include "build/pattern.h"
#include "build/pattern_builder.h"
#include "graph_values.h"
#include "host_array.h"
#include "passes/canonicalize.h"
#include "passes/graph_functions.h"
#include "pipeline/check_input.h"
#include "pipeline/pass_table.h"
#include "program.h"
#include "relax/visit.h"
#include "text/printer.h"

namespace tapml::python {

namespace {

using relax::Binding;
using relax::CallNode;
using relax::Expr;

// --- the graph builder -------------------------------------------------------------------------

// The module under construction, shared by the builders of its functions.
using SharedModule = std::shared_ptr<Module>;

void add_function(Module& module, const std::string& name, relax::FunctionRef function) {
  if (module.find(name)) {
    throw_user("the module has a function of this name", name, "another name", name);
  }
  module.functions[name] = std::move(function);
}

HostTensor copy_of(const HostTensor& tensor) {
  HostTensor copy = HostTensor::zeros(tensor.dtype(), tensor.shape());
  std::ranges::copy(tensor.bytes(), copy.mutable_bytes().begin());
  return copy;
}

class GraphFunction {
 public:
  GraphFunction(SharedModule module, std::string name)
      : module_(std::move(module)), name_(std::move(name)), builder_(*module_) {
    builder_.begin_dataflow();
  }

  GraphVar param(const std::string& name, const py::object& shape, const py::object& dtype) {
    check_open();
    const std::string where = "parameter " + name + " of " + name_;
    // "Tensor((n,), f32)", or a shape and a dtype.
    return {builder_.param(name, py::isinstance<py::str>(shape)
                                     ? symbols_.annotation(shape.cast<std::string>(), where)
                                     : symbols_.tensor(shape, dtype, where))};
  }
  GraphVar op(const std::string& name, const py::args& args, const py::kwargs& attrs) {
    check_open();
    return {builder_.emit(operator_call(name, args, attrs, symbols_))};
  }
  GraphVar call(const std::string& function, const py::args& args) {
    check_open();
    std::vector<Expr> operands;
    for (const py::handle arg : args) operands.push_back(operand_of(arg, "call of @" + function));
    return {builder_.emit(relax::make_call(relax::make_global(function), std::move(operands)))};
  }
  GraphVar constant(const py::object& array, const py::object& dtype) {
    check_open();
    std::optional<DType> wanted;
    if (!dtype.is_none()) wanted = dtype_of(dtype, "constant(array, dtype)");
    const TakenArray taken = take_array(array, wanted, "constant(array)");
    // The constant keeps a copy: later writes to the array do not change the program.
    return {builder_.emit(relax::make_constant(copy_of(as_tensor(taken.array))))};
  }
  GraphVar item(const GraphVar& tuple, int64_t index) {
    check_open();
    const auto* fields = relax::as_tuple(tuple.var->annotation);
    if (!fields || index < 0 || index >= std::ssize(fields->fields)) {
      throw_user("the value has no such field", tuple.var->name,
                 fields ? "0 to " + std::to_string(std::ssize(fields->fields) - 1) : "a tuple",
                 std::to_string(index));
    }
    return {builder_.emit(relax::make_get_item(tuple.var, static_cast<int>(index)))};
  }
  GraphVar match_cast(const GraphVar& value, const py::object& shape, const py::object& dtype) {
    check_open();
    return {builder_.emit_match_cast(value.var, symbols_.tensor(shape, dtype, "match_cast"))};
  }
  // Makes the value, or a tuple of several, the function's result and adds the function to the
  // module.
  void returns(const py::object& value) {
    check_open();
    const Expr result = operand_of(value, "result of " + name_);
    const relax::Variable output = builder_.emit(result, "result", /*output=*/true);
    done_ = true;
    add_function(*module_, name_, builder_.finish(output));
  }

 private:
  void check_open() const {
    if (!done_) return;
    throw_user("the function is complete", name_, "calls before returns()", "a call after it");
  }

  SharedModule module_;
  std::string name_;
  Symbols symbols_;
  build::FunctionBuilder builder_;
  bool done_ = false;
};

// A complete pattern.
struct Pattern {
  relax::FunctionRef function;
};

class GraphBuilder {
 public:
  std::shared_ptr<GraphFunction> function(const std::string& name) {
    return std::make_shared<GraphFunction>(module_, name);
  }
  void add_pattern(const std::string& name, const Pattern& pattern) {
    build::check_pattern(*pattern.function, name);
    add_function(*module_, name, pattern.function);
  }
  Program module(const std::string& name) const {
    return {pipeline::normal_input(passes::canonicalize(*module_), name), name};
  }

 private:
  SharedModule module_ = std::make_shared<Module>();
};

// --- patterns ----------------------------------------------------------------------------------

class PatternBuilder {
 public:
  GraphVar any(const std::string& name, const py::object& shape, const py::object& dtype) {
    if (shape.is_none() && dtype.is_none()) return {builder_.any(name)};
    return {builder_.any(name, symbols_.tensor(shape, dtype, "pattern parameter " + name))};
  }
  void require(const std::string& name, const std::string& condition) {
    const relax::Annotation annotation =
        symbols_.annotation("Prim(bool, " + condition + ")", "condition " + name);
    builder_.require(name, relax::as_prim(annotation)->value);
  }
  GraphVar op(const std::string& names, const py::args& args, const py::kwargs& attrs) {
    const Expr call = pattern_call(names, args, attrs);
    const auto& node = *relax::as<CallNode>(call);
    return {builder_.op(names, node.args, node.attrs)};
  }
  Pattern finish(const py::kwargs& attrs) {
    return {builder_.finish(attributes_of(attrs, nullptr, "pattern"))};
  }

 private:
  Symbols symbols_;
  build::PatternBuilder builder_;
};

// --- passes ------------------------------------------------------------------------------------

// Rewrites one block: holds the bindings before the current one, and new ones.
class BlockRewriter {
 public:
  BlockRewriter(const Module& module, std::map<const relax::VarNode*, Binding>& producers)
      : module_(module), producers_(producers) {}

  void begin(const relax::Block& block) { dataflow_ = block.dataflow; }
  void keep(Binding binding) {
    producers_[binding.var.get()] = binding;
    bindings_.push_back(std::move(binding));
  }
  std::vector<Binding> take() { return std::exchange(bindings_, {}); }

  GraphVar op(const std::string& name, const py::args& args, const py::kwargs& attrs) {
    const Expr call = operator_call(name, args, attrs, symbols_);
    const relax::Variable var = relax::make_variable(
        name, build::deduce_call(*relax::as<CallNode>(call), module_), dataflow_);
    keep({var, call, nullptr, origin_});
    return {var};
  }
  std::optional<Binding> producer(const GraphVar& value) const {
    const auto found = producers_.find(value.var.get());
    if (found == producers_.end() || !relax::as<CallNode>(found->second.value)) return {};
    return found->second;
  }
  void set_origin(const Origin& origin) { origin_ = origin; }

 private:
  const Module& module_;
  std::map<const relax::VarNode*, Binding>& producers_;
  Symbols symbols_;
  Origin origin_;
  std::vector<Binding> bindings_;
  bool dataflow_ = false;
};

// A call of an operator in a function.
struct OperatorCall {
  Binding binding;
  const CallNode& node() const { return *relax::as<CallNode>(binding.value); }
};

py::object operand_as_object(const Expr& operand) {
  if (relax::as<relax::VarNode>(operand)) {
    return py::cast(GraphVar{std::static_pointer_cast<const relax::VarNode>(operand)});
  }
  if (const auto* tuple = relax::as<relax::TupleNode>(operand)) {
    py::list fields;
    for (const Expr& field : tuple->fields) fields.append(operand_as_object(field));
    return py::tuple(fields);
  }
  return py::str(text::print(operand));
}

py::tuple operands_of(const OperatorCall& call) {
  py::list list;
  for (const Expr& operand : call.node().args) list.append(operand_as_object(operand));
  return py::tuple(list);
}

// Calls visit(rewriter, call) for every operator call of the module's functions; a GraphVar that it
// returns replaces the call's result.
Program rewritten(const Program& program, const py::function& visit) {
  Module result = program.module;
  for (const auto& [name, source] : passes::graph_functions(program.module)) {
    std::map<const relax::VarNode*, Binding> producers;
    Expr body = relax::map_blocks(source->body, [&](const relax::Block& block) {
      auto rewriter = std::make_shared<BlockRewriter>(program.module, producers);
      rewriter->begin(block);
      for (Binding binding : block.bindings) {
        if (!binding.match_cast && !relax::called_operator(binding.value).empty()) {
          rewriter->set_origin(binding.origin);
          const py::object made = visit(rewriter, OperatorCall{binding});
          if (!made.is_none()) binding.value = operand_of(made, "result of a rewrite");
        }
        rewriter->keep(std::move(binding));
      }
      return relax::Block{.dataflow = block.dataflow, .bindings = rewriter->take()};
    });
    result.functions[name] = passes::with_body(*source, std::move(body));
  }
  // A replaced result is another variable's value: readers take that variable.
  return {pipeline::normal_input(passes::canonicalize(result), program.name), program.name};
}

Program run_passes(const Program& program, const std::vector<std::string>& names) {
  return without_interpreter([&] {
    Module module = program.module;
    int number = 0;
    for (const std::string& name : names) {
      module = pipeline::run_by_name(module, name, nullptr, {.verify = true}, number);
    }
    return Program{std::move(module), program.name};
  });
}

py::tuple pass_names() {
  py::list names;
  for (const pipeline::PassInfo& row : pipeline::pass_table()) {
    if (row.is_common()) names.append(row.name);
  }
  return py::tuple(names);
}

std::string annotation_text(const GraphVar& value) {
  return relax::to_string(value.var->annotation);
}

}  // namespace

pipeline::AddedPass pass_of(const std::string& name, const std::string& after, py::function run) {
  // The compiler calls and releases it without the GIL.
  const std::shared_ptr<const void> held = keep_alive(run);
  const PyObject* function = run.ptr();
  return {name, after, [held, name, function](const Module& module) {
            const py::gil_scoped_acquire locked;
            const auto callable =
                py::reinterpret_borrow<py::function>(const_cast<PyObject*>(function));
            const py::object made = callable(Program{module, "pass " + name});
            if (!py::isinstance<Program>(made)) {
              throw_user("a pass did not return a module", "pass " + name, "a tapml.Module",
                         py::repr(made).cast<std::string>());
            }
            return made.cast<const Program&>().module;
          }};
}

void bind_builder(py::module_& module) {
  py::class_<GraphVar>(module, "Var", py::is_final(), "A value of a function under construction.")
      .def_property_readonly("name", [](const GraphVar& value) { return value.var->name; })
      .def_property_readonly("annotation", &annotation_text,
                             "Its annotation: ``\"Tensor((n, 4), f32)\"``.")
      .def("__eq__", [](const GraphVar& a, const GraphVar& b) { return a.var == b.var; })
      .def("__hash__",
           [](const GraphVar& value) { return std::hash<const void*>()(value.var.get()); })
      .def("__repr__", [](const GraphVar& value) {
        return "<tapml.Var " + value.var->name + ": " + annotation_text(value) + ">";
      });
  py::class_<Pattern>(module, "Pattern", py::is_final(), "A complete pattern (docs/patterns.md).")
      .def("__str__",
           [](const Pattern& pattern) { return text::print(*pattern.function, "pattern"); });
  py::class_<GraphFunction, std::shared_ptr<GraphFunction>>(
      module, "GraphFunction", py::is_final(),
      "A function under construction, made by GraphBuilder.function().")
      .def("param", &GraphFunction::param, py::arg("name"), py::arg("shape"),
           py::arg("dtype") = py::none(), R"doc(
Adds a parameter: ``param("x", ("n", 4), "f32")``, or ``param("x", "Tensor((n, 4), f32)")``.

Dimensions are integers, names of symbolic variables, or expressions over them.)doc")
      .def("op", &GraphFunction::op, py::arg("name"), R"doc(
Calls an operator of docs/operators.md: ``op("matmul", x, w, transpose_b=True)``.

Shape and dtype of the result are deduced. Raises UserError for invalid operands.)doc")
      .def("call", &GraphFunction::call, py::arg("function"),
           "Calls a complete function of the module.")
      .def("constant", &GraphFunction::constant, py::arg("array"), py::arg("dtype") = py::none(),
           "A constant tensor: a copy of an argument of tapml.tensor().")
      .def("item", &GraphFunction::item, py::arg("tuple"), py::arg("index"),
           "The field of a tuple with this index.")
      .def("match_cast", &GraphFunction::match_cast, py::arg("value"), py::arg("shape"),
           py::arg("dtype") = py::none(),
           "The value with a shape that is checked at run time; new names in it become "
           "symbolic variables.")
      .def("returns", &GraphFunction::returns, py::arg("value"),
           "Ends the function: its result is ``value``, or a tuple of several.");
  py::class_<GraphBuilder>(module, "GraphBuilder", py::is_final(), R"doc(
Builds a module: functions by function(), patterns by add_pattern(), then module().)doc")
      .def(py::init<>())
      .def("function", &GraphBuilder::function, py::arg("name"))
      .def("add_pattern", &GraphBuilder::add_pattern, py::arg("name"), py::arg("pattern"))
      .def("module", &GraphBuilder::module, py::arg("name") = "<builder>",
           "The module so far. Raises UserError if it is invalid.");
  py::class_<PatternBuilder>(module, "PatternBuilder", py::is_final(), R"doc(
Builds a pattern: a match becomes one kernel, or a library routine (docs/patterns.md).)doc")
      .def(py::init<>())
      .def("any", &PatternBuilder::any, py::arg("name"), py::arg("shape") = py::none(),
           py::arg("dtype") = py::none(), "A parameter: any value of this shape and dtype.")
      .def("require", &PatternBuilder::require, py::arg("name"), py::arg("condition"),
           "A condition over symbolic variables that must be provable: ``\"d <= 128\"``.")
      .def("op", &PatternBuilder::op, py::arg("names"),
           "A call of one of the operators, joined by ``|``, with at least these attributes.")
      .def("finish", &PatternBuilder::finish,
           "The pattern with the value of the last call; ``library=\"name.routine\"`` names the "
           "routine that computes it.");
  py::class_<OperatorCall>(module, "OperatorCall", py::is_final(),
                           "A call of an operator, passed to the function of tapml.rewrite().")
      .def_property_readonly(
          "op", [](const OperatorCall& call) { return relax::called_operator(call.binding.value); })
      .def_property_readonly("args", &operands_of,
                             "Operands: Var, tuples of them, and texts for shapes and scalars.")
      .def_property_readonly(
          "attrs", [](const OperatorCall& call) { return attributes_as_dict(call.node().attrs); })
      .def_property_readonly("result",
                             [](const OperatorCall& call) { return GraphVar{call.binding.var}; })
      .def_property_readonly("layers", [](const OperatorCall& call) {
        const std::set<std::string>& layers = call.binding.origin.layers;
        return py::tuple(py::cast(std::vector<std::string>(layers.begin(), layers.end())));
      });
  py::class_<BlockRewriter, std::shared_ptr<BlockRewriter>>(
      module, "Rewriter", py::is_final(),
      "Adds calls to a block; passed to the function of tapml.rewrite().")
      .def("op", &BlockRewriter::op, py::arg("name"),
           "Adds a call of an operator before the current call.")
      .def(
          "producer",
          [](const BlockRewriter& rewriter, const GraphVar& value) -> py::object {
            std::optional<Binding> found = rewriter.producer(value);
            return found ? py::cast(OperatorCall{std::move(*found)}) : py::none();
          },
          py::arg("value"), "The call that computes the value in this function, or None.");
  module.def("rewrite", &rewritten, py::arg("module"), py::arg("visit"));
  module.def("run_passes", &run_passes, py::arg("module"), py::arg("names"));
  module.def("pass_names", &pass_names);
}

}  // namespace tapml::python
