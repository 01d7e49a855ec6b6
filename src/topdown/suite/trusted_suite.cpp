#include "topdown/suite/trusted_suite.h"

#include <algorithm>
#include <utility>

#include "ir/exceptions.h"

namespace tapml::topdown {

namespace {

std::string form(const HostTensor& tensor) {
  return std::string(dtype_name(tensor.dtype())) + shape_to_string(tensor.shape());
}

class Maker {
 public:
  Maker(const Suite& carved, const std::string& source) : carved_(carved) {
    made_.suite.source = source;
    made_.suite.fusion_policy = carved.fusion_policy;
    made_.suite.model = carved.model;
    made_.suite.incomplete = carved.incomplete;
  }

  void add(const TrustedCalls& test) {
    check(test);
    SuiteGroup group = group_of(test);
    const SuiteKernel& first = made_.suite.kernels[static_cast<size_t>(group.calls[0].kernel)];
    const auto written =
        std::ranges::count_if(first.modes, [](AccessMode mode) { return mode != AccessMode::kIn; });
    if (group.calls.size() == 1 && std::ssize(group.outputs) == written) {
      add_call(group);
    } else {
      add_group(std::move(group));
    }
  }

  TrustedSuite take() { return std::move(made_); }

 private:
  const SuiteKernel& kernel_of(size_t call) const {
    return carved_.kernels[static_cast<size_t>(carved_.calls[call].kernel)];
  }
  std::string name_of(const CallParameter& place) const {
    const SuiteKernel& kernel = kernel_of(place.call);
    return kernel.params[place.param] + " of call " +
           std::to_string(carved_.calls[place.call].sequence) + " (" + kernel.name + ")";
  }

  void check_call(size_t call) const {
    if (call < carved_.calls.size()) return;
    throw_user("the suite has no such call", "group",
               "a call below " + std::to_string(carved_.calls.size()), std::to_string(call));
  }

  // The tensor that was carved at a parameter of one of the test's calls.
  const HostTensor& carved_at(const TrustedCalls& test, const CallParameter& place,
                              bool written) const {
    check_call(place.call);
    const SuiteKernel& kernel = kernel_of(place.call);
    if (place.param >= kernel.params.size()) {
      throw_user("the kernel has no such parameter", kernel.name,
                 "one below " + std::to_string(kernel.params.size()), std::to_string(place.param));
    }
    if (std::ranges::find(test.calls, place.call) == test.calls.end()) {
      throw_user("a value or link belongs to no call of the group", name_of(place),
                 "a call of the group", "another one");
    }
    const SuiteCall& call = carved_.calls[place.call];
    const std::string& hash = (written ? call.after : call.before)[place.param];
    if (hash.empty()) {
      throw_user(written ? "the parameter is not written" : "the parameter is not read",
                 name_of(place), written ? "an output" : "an input", "another one");
    }
    return carved_.tensors.at(hash);
  }

  void check(const TrustedCalls& test) const {
    for (size_t call : test.calls) check_call(call);
    if (test.calls.empty() || test.outputs.empty()) {
      throw_user("a group needs calls and outputs", "group", "one at least", "none");
    }
    std::set<CallParameter> given;
    auto once = [&](const CallParameter& place) {
      if (given.insert(place).second) return;
      throw_user("a parameter is given twice", name_of(place), "one value or link for it", "two");
    };
    for (bool written : {false, true}) {
      for (const TrustedTensor& one : written ? test.outputs : test.inputs) {
        const HostTensor& known = carved_at(test, one.place, written);
        if (!written) once(one.place);
        if (known.dtype() == one.tensor.dtype() && known.shape() == one.tensor.shape()) continue;
        throw_user("the tensor does not fit the call", name_of(one.place), form(known),
                   form(one.tensor));
      }
    }
    for (const auto& [from, to] : test.links) {
      const HostTensor& source = carved_at(test, from, true);
      const HostTensor& known = carved_at(test, to, false);
      once(to);
      if (position(test, from) >= position(test, to)) {
        throw_user("a link does not start at an output of an earlier call of the group",
                   name_of(to), "an earlier call", name_of(from));
      }
      if (known.dtype() == source.dtype() && known.size() == source.size()) continue;
      throw_user("the tensors of a link do not fit", name_of(to), form(known), form(source));
    }
  }

  static size_t position(const TrustedCalls& test, const CallParameter& place) {
    return static_cast<size_t>(std::ranges::find(test.calls, place.call) - test.calls.begin());
  }

  std::string keep(const HostTensor& tensor) {
    std::string hash = content_hash(tensor);
    made_.suite.tensors.emplace(hash, tensor);
    return hash;
  }

  SuiteGroup group_of(const TrustedCalls& test) {
    SuiteGroup group;
    group.source = made_.suite.source;
    group.carved_on = carved_.source;
    auto moved = [&](const CallParameter& place) {
      return CallParameter{position(test, place), place.param};
    };
    for (const auto& [from, to] : test.links) group.links.push_back({moved(from), moved(to)});
    for (bool written : {false, true}) {
      for (const TrustedTensor& one : written ? test.outputs : test.inputs) {
        (written ? group.outputs : group.inputs)
            .push_back({moved(one.place), keep(one.tensor), one.name});
      }
    }
    for (size_t c : test.calls) {
      SuiteCall& call = group.calls.emplace_back(carved_.calls[c]);
      call.times = 1;
      call.kernel = number_of(kernel_of(c));
      call.after.assign(call.after.size(), "");
    }
    auto remote_target = [&](const CallParameter& place) {
      group.calls[place.call].before[place.param].clear();
    };
    for (const GroupValue& value : group.inputs) remote_target(value.place);
    for (const SuiteLink& link : group.links) remote_target(link.to);
    for (const SuiteCall& call : group.calls) {
      for (const std::string& hash : call.before) keep_carved(hash);
    }
    return group;
  }

  void keep_carved(const std::string& hash) {
    if (hash.empty()) return;
    made_.suite.tensors.emplace(hash, carved_.tensors.at(hash));
    const auto weight = carved_.weights.find(hash);
    if (weight == carved_.weights.end()) return;
    made_.suite.weights.insert(*weight);
    made_.suite.model_folder = carved_.model_folder;
    made_.suite.quantization = carved_.quantization;
  }

  int32_t number_of(const SuiteKernel& kernel) {
    const int32_t number = made_.suite.find_kernel(kernel.name);
    if (number >= 0) return number;
    made_.suite.kernels.push_back(kernel);
    made_.suite.kernels.back().dropped = 0;
    return static_cast<int32_t>(made_.suite.kernels.size() - 1);
  }

  void add_call(const SuiteGroup& group) {
    SuiteCall call = group.calls[0];
    for (const GroupValue& value : group.inputs) call.before[value.place.param] = value.hash;
    for (const GroupValue& value : group.outputs) call.after[value.place.param] = value.hash;
    auto& calls = made_.suite.calls;
    const auto [known, fresh] = known_.emplace(test_key(call), calls.size());
    if (fresh) calls.push_back(std::move(call));
    made_.tests.push_back({false, known->second});
  }

  void add_group(SuiteGroup group) {
    auto& groups = made_.suite.groups;
    const auto [known, fresh] = known_.emplace(test_key(group), groups.size());
    if (fresh) groups.push_back(std::move(group));
    made_.tests.push_back({true, known->second});
  }

  const Suite& carved_;
  TrustedSuite made_;
  std::map<std::string, size_t> known_;  // by test_key(); tests of groups have keys of their own
};

}  // namespace

TrustedSuite trusted_suite(const Suite& carved, const std::vector<TrustedCalls>& tests,
                           const std::string& source) {
  Maker maker(carved, source);
  for (const TrustedCalls& test : tests) maker.add(test);
  return maker.take();
}

}  // namespace tapml::topdown
