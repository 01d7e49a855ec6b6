// Python's view of the tests of a suite: calls and groups.
#include <pybind11/stl.h>

#include "host_array.h"
#include "suite.h"

namespace tapml::python {

namespace {

using SuiteRef = std::shared_ptr<const topdown::Suite>;

// A call of the suite, or of one of its groups.
struct SuiteCall {
  SuiteRef suite;
  size_t index = 0;
  const topdown::SuiteCall* call = nullptr;  // owned by the suite
  const topdown::SuiteKernel& kernel() const {
    return suite->kernels[static_cast<size_t>(call->kernel)];
  }
};

struct SuiteGroup {
  SuiteRef suite;
  size_t index = 0;
  const topdown::SuiteGroup& get() const { return suite->groups[index]; }
  const std::string& parameter(const topdown::CallParameter& place) const {
    const auto kernel = static_cast<size_t>(get().calls[place.call].kernel);
    return suite->kernels[kernel].params[place.param];
  }
};

struct GroupValue {
  SuiteGroup group;
  const topdown::GroupValue* value = nullptr;  // owned by the group
};

// An array over the suite's tensor.
py::object array_of(const SuiteRef& suite, const std::string& hash) {
  HostTensor tensor = suite->tensors.at(hash);
  if (tensor.dtype() == DType::kBF16 &&
      py::module_::import("importlib.util").attr("find_spec")("ml_dtypes").is_none()) {
    tensor = HostTensor::view(DType::kU16, tensor.shape(), tensor.bytes().data(),
                              std::make_shared<HostTensor>(tensor));
  }
  return as_numpy(tensor, std::make_shared<HostTensor>(tensor), false);
}

// Arrays by parameter name.
py::dict tensors_of(const SuiteCall& call, const std::vector<std::string>& hashes) {
  py::dict tensors;
  for (size_t i = 0; i < hashes.size(); ++i) {
    if (hashes[i].empty()) continue;
    tensors[py::str(call.kernel().params[i])] = array_of(call.suite, hashes[i]);
  }
  return tensors;
}

py::tuple call_list(const SuiteRef& suite, const std::vector<topdown::SuiteCall>& calls) {
  py::tuple list(calls.size());
  for (size_t i = 0; i < list.size(); ++i) list[i] = SuiteCall{suite, i, &calls[i]};
  return list;
}

py::tuple group_value_list(const SuiteGroup& group,
                           const std::vector<topdown::GroupValue>& values) {
  py::tuple list(values.size());
  for (size_t i = 0; i < list.size(); ++i) list[i] = GroupValue{group, &values[i]};
  return list;
}

py::tuple links_of(const SuiteGroup& group) {
  py::list list;
  auto named = [&](const topdown::CallParameter& place) {
    return py::make_tuple(place.call, group.parameter(place));
  };
  for (const auto& [from, to] : group.get().links) {
    list.append(py::make_tuple(named(from), named(to)));
  }
  return py::tuple(list);
}

}  // namespace

py::tuple text_tuple(const std::set<std::string>& texts) {
  py::list list;
  for (const std::string& text : texts) list.append(text);
  return py::tuple(list);
}

py::tuple calls_of(const CarvedSuite& suite) { return call_list(suite.suite, suite.suite->calls); }

py::tuple groups_of(const CarvedSuite& suite) {
  py::tuple list(suite.suite->groups.size());
  for (size_t i = 0; i < list.size(); ++i) list[i] = SuiteGroup{suite.suite, i};
  return list;
}

void bind_suite_tests(py::module_& module) {
  py::class_<SuiteCall>(module, "SuiteCall", py::is_final(),
                        "One carved call: kernel, inputs, outputs of the source. It is a test, or "
                        "part of a group's test.")
      .def_readonly("index", &SuiteCall::index, "Index in the calls of the suite, or of the group.")
      .def_property_readonly("kernel", [](const SuiteCall& c) { return c.kernel().name; })
      .def_property_readonly(
          "sequence", [](const SuiteCall& c) { return c.call->sequence; },
          "Position in the carved run.")
      .def_property_readonly(
          "times", [](const SuiteCall& c) { return c.call->times; },
          "Number of calls in the run with these inputs and outputs.")
      .def_property_readonly(
          "added", [](const SuiteCall& c) { return c.call->added; },
          "Whether carving added the call, with inputs that the run did not have.")
      .def_property_readonly("function", [](const SuiteCall& c) { return c.call->function; })
      .def_property_readonly(
          "layers", [](const SuiteCall& c) { return text_tuple(c.call->origin.layers); },
          "Model layers that the call came from.")
      .def_property_readonly(
          "lines", [](const SuiteCall& c) { return text_tuple(c.call->origin.lines); },
          "Lines of the blocks that made the call: 'src/models/blocks/linear.cpp:20'.")
      .def_property_readonly("scalars", [](const SuiteCall& c) { return c.call->scalars; })
      .def_property_readonly(
          "inputs", [](const SuiteCall& c) { return tensors_of(c, c.call->before); },
          "Read-only NumPy arrays by parameter; bf16 as uint16 bits without ml_dtypes. For a call "
          "in a group, only those that are neither inputs of the group nor linked.")
      .def_property_readonly(
          "outputs", [](const SuiteCall& c) { return tensors_of(c, c.call->after); },
          "Outputs of the source, in the form of ``inputs``; empty for a call in a group.")
      .def("__repr__", [](const SuiteCall& c) {
        return "<tapml.SuiteCall " + std::to_string(c.index) + " of " + c.kernel().name + ">";
      });
  py::class_<GroupValue>(module, "GroupValue", py::is_final(),
                         "An input or output of a group, with the tensor of the group's source.")
      .def_property_readonly(
          "call", [](const GroupValue& b) { return b.value->place.call; },
          "Index in the group's calls.")
      .def_property_readonly("parameter",
                             [](const GroupValue& b) { return b.group.parameter(b.value->place); })
      .def_property_readonly(
          "name", [](const GroupValue& b) { return b.value->name; },
          "Name of the value in the source.")
      .def_property_readonly(
          "tensor", [](const GroupValue& b) { return array_of(b.group.suite, b.value->hash); },
          "A read-only NumPy array; bf16 as uint16 bits without ml_dtypes.")
      .def("__repr__",
           [](const GroupValue& b) { return "<tapml.GroupValue " + b.value->name + ">"; });
  py::class_<SuiteGroup>(module, "SuiteGroup", py::is_final(),
                         "Calls that form one test, between values known from a trusted source.")
      .def_readonly("index", &SuiteGroup::index, "Index in the suite's groups.")
      .def_property_readonly(
          "source", [](const SuiteGroup& g) { return g.get().source; },
          "The source of the tensors of its inputs and outputs.")
      .def_property_readonly(
          "carved_on", [](const SuiteGroup& g) { return g.get().carved_on; },
          "The target whose run gave all other tensors.")
      .def_property_readonly("times", [](const SuiteGroup& g) { return g.get().times; })
      .def_property_readonly(
          "kernels",
          [](const SuiteGroup& g) { return py::tuple(py::cast(g.suite->kernels_of(g.get()))); },
          "Distinct names, in execution order.")
      .def_property_readonly(
          "layers",
          [](const SuiteGroup& g) { return text_tuple(topdown::origin_of(g.get()).layers); })
      .def_property_readonly(
          "calls", [](const SuiteGroup& g) { return call_list(g.suite, g.get().calls); },
          "Its calls, in execution order.")
      .def_property_readonly(
          "links", &links_of,
          "((call, parameter), (call, parameter)): the writer and the reader of a "
          "value.")
      .def_property_readonly(
          "inputs", [](const SuiteGroup& g) { return group_value_list(g, g.get().inputs); })
      .def_property_readonly(
          "outputs", [](const SuiteGroup& g) { return group_value_list(g, g.get().outputs); })
      .def("__repr__", [](const SuiteGroup& g) {
        return "<tapml.SuiteGroup " + std::to_string(g.index) + " of " +
               std::to_string(g.get().calls.size()) + " calls>";
      });
}

}  // namespace tapml::python
