// Suites with the values that a trusted source computed in a run.
#include "topdown/suite/trusted_suite.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <tuple>

#include "base/strings.h"
#include "host_array.h"
#include "suite.h"
#include "topdown/suite/merge_suites.h"

namespace tapml::python {

namespace {

using NamedPlace = std::pair<int64_t, std::string>;  // call, parameter
using NamedTensor =
    std::tuple<int64_t, std::string, py::object, std::string>;  // ..., array, name of the boundary
// Calls, inputs, links (from, to) and outputs.
using NamedGroup =
    std::tuple<std::vector<int64_t>, std::vector<NamedTensor>,
               std::vector<std::pair<NamedPlace, NamedPlace>>, std::vector<NamedTensor>>;

size_t call_number(const topdown::Suite& suite, int64_t call) {
  if (call < 0 || call >= std::ssize(suite.calls)) {
    throw_user("the suite has no such call", "group",
               "0 to " + std::to_string(std::ssize(suite.calls) - 1), std::to_string(call));
  }
  return static_cast<size_t>(call);
}

topdown::CallParameter place_of(const topdown::Suite& suite, int64_t call,
                                const std::string& param) {
  const size_t number = call_number(suite, call);
  const auto& kernel = suite.kernels[static_cast<size_t>(suite.calls[number].kernel)];
  const auto found = std::ranges::find(kernel.params, param);
  if (found == kernel.params.end()) {
    std::string names;
    for (const std::string& one : kernel.params) names += (names.empty() ? "" : ", ") + one;
    throw_user("the kernel has no such parameter", kernel.name, names, in_quotes(param));
  }
  return {number, static_cast<size_t>(found - kernel.params.begin())};
}

std::vector<topdown::TrustedTensor> tensors_at(const topdown::Suite& suite,
                                               const std::vector<NamedTensor>& given) {
  std::vector<topdown::TrustedTensor> tensors;
  for (const auto& [call, param, array, name] : given) {
    tensors.push_back({place_of(suite, call, param),
                       as_tensor(take_array(array, std::nullopt, "group").array), name});
  }
  return tensors;
}

// Also returns the position of each group in the suite: (in its groups and not in its calls,
// index).
std::pair<CarvedSuite, std::vector<std::pair<bool, size_t>>> trusted_suite(
    const CarvedSuite& carved, const std::vector<NamedGroup>& groups, const std::string& source) {
  const topdown::Suite& suite = *carved.suite;
  std::vector<topdown::TrustedCalls> tests;
  for (const auto& [calls, inputs, links, outputs] : groups) {
    topdown::TrustedCalls& test = tests.emplace_back();
    for (int64_t call : calls) test.calls.push_back(call_number(suite, call));
    test.inputs = tensors_at(suite, inputs);
    for (const auto& [from, to] : links) {
      test.links.push_back(
          {place_of(suite, from.first, from.second), place_of(suite, to.first, to.second)});
    }
    test.outputs = tensors_at(suite, outputs);
  }
  auto made = without_interpreter([&] { return topdown::trusted_suite(suite, tests, source); });
  std::vector<std::pair<bool, size_t>> places;
  for (const topdown::TestTensor& place : made.tests) places.emplace_back(place.group, place.index);
  return {{std::make_shared<const topdown::Suite>(std::move(made.suite)), ""}, std::move(places)};
}

CarvedSuite merge(const std::vector<CarvedSuite>& suites) {
  return without_interpreter([&] {
    std::vector<topdown::Suite> all;
    std::vector<std::string> names;
    for (const CarvedSuite& one : suites) {
      all.push_back(*one.suite);
      names.push_back(one.folder.empty() ? "suite " + std::to_string(names.size()) : one.folder);
    }
    return CarvedSuite{std::make_shared<const topdown::Suite>(topdown::merge(all, names)), ""};
  });
}

}  // namespace

void bind_trusted_suite(py::module_& module) {
  module.def("trusted_suite", &trusted_suite, py::arg("suite"), py::arg("groups"),
             py::arg("source"));
  module.def("merge", &merge, py::arg("suites"));
}

}  // namespace tapml::python
