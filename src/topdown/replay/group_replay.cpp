#include "topdown/replay/group_replay.h"

#include <algorithm>

#include "base/clock.h"
#include "base/strings.h"
#include "ir/exceptions.h"

namespace tapml::topdown {

namespace {

const SuiteKernel& kernel_of(const Suite& suite, size_t call) {
  return suite.kernels[static_cast<size_t>(suite.calls[call].kernel)];
}

std::string name_of(const Suite& suite, const CallParam& place) {
  return kernel_of(suite, place.call).params[place.param] + " of call " +
         std::to_string(suite.calls[place.call].sequence) + " (" +
         kernel_of(suite, place.call).name + ")";
}

std::string form(const HostTensor& tensor) {
  return std::string(dtype_name(tensor.dtype())) + shape_to_string(tensor.shape());
}

void check_places(const Suite& suite, const std::vector<GroupTensor>& tensors, bool written) {
  for (const auto& [place, tensor] : tensors) {
    if (place.call >= suite.calls.size() ||
        place.param >= kernel_of(suite, place.call).params.size()) {
      throw_user("the suite has no such call or parameter", "group",
                 "a call below " + std::to_string(suite.calls.size()), std::to_string(place.call));
    }
    const SuiteCall& call = suite.calls[place.call];
    const std::string& hash = (written ? call.after : call.before)[place.param];
    if (hash.empty()) {
      throw_user(written ? "the parameter is not written" : "the parameter is not read",
                 name_of(suite, place), written ? "an output" : "an input", "another one");
    }
    const HostTensor& carved = suite.tensors.at(hash);
    if (carved.dtype() != tensor.dtype() || carved.shape() != tensor.shape()) {
      throw_user("the tensor does not fit the call", name_of(suite, place), form(carved),
                 form(tensor));
    }
  }
}

const HostTensor* find(const std::vector<GroupTensor>& tensors, const CallParam& place) {
  const auto found = std::ranges::find(tensors, place, &GroupTensor::place);
  return found == tensors.end() ? nullptr : &found->tensor;
}

// What calls of a group wrote so far, one tensor a place.
template <class Tensor>
class Written {
 public:
  const Tensor* find(const CallParam& place) const {
    for (const auto& [at, tensor] : tensors_) {
      if (at == place) return &tensor;
    }
    return nullptr;
  }
  void add(const CallParam& place, Tensor tensor) {
    tensors_.emplace_back(place, std::move(tensor));
  }

 private:
  std::vector<std::pair<CallParam, Tensor>> tensors_;
};

const CallParam* link_to(const JoinedCalls& group, const CallParam& place) {
  const auto found = std::ranges::find(group.links, place, &GroupLink::to);
  return found == group.links.end() ? nullptr : &found->from;
}

// Kernels pass flat memory on: a view has other dimensions.
HostTensor reshaped(const HostTensor& tensor, const HostTensor& like) {
  if (tensor.byte_size() != like.byte_size()) {
    throw_internal("tensors of a link have " + std::to_string(tensor.byte_size()) + " and " +
                   std::to_string(like.byte_size()) + " bytes");
  }
  return HostTensor::view(like.dtype(), like.shape(), tensor.bytes().data(),
                          std::make_shared<HostTensor>(tensor));
}

op::RefTensor reshaped(op::RefTensor tensor, const HostTensor& like) {
  if (static_cast<int64_t>(tensor.values.size()) != like.size()) {
    throw_internal("tensors of a link have " + std::to_string(tensor.values.size()) + " and " +
                   std::to_string(like.size()) + " elements");
  }
  tensor.shape = like.shape();
  return tensor;
}

class GroupRun {
 public:
  GroupRun(const Suite& suite, Judge& judge, const JoinedCalls& group)
      : suite_(suite), judge_(judge), group_(group) {}

  // On the device; that a call is refused is a verdict.
  Status run(runtime::KernelRunner& runner, KernelVerdict& verdict) {
    for (size_t c : group_.calls) {
      // A suite of this call alone, with the tensors that it has here.
      const SuiteKernel& kernel = kernel_of(suite_, c);
      Suite step;
      step.kernels = {kernel};
      step.calls = {suite_.calls[c]};
      SuiteCall& call = step.calls[0];
      call.kernel = 0;
      for (size_t i = 0; i < kernel.params.size(); ++i) {
        if (!call.after[i].empty()) {
          step.tensors.emplace(call.after[i], suite_.tensors.at(call.after[i]));
        }
        if (call.before[i].empty()) continue;
        HostTensor tensor = input(c, i);
        call.before[i] = "input " + std::to_string(i);
        step.tensors.emplace(call.before[i], std::move(tensor));
      }
      std::string strayed;
      auto outputs = run_call(step, 0, runner, &strayed);
      if (!outputs) {
        if (!is_refusal(outputs.error())) return fail(outputs.error());
        verdict.failed = Failure::kRefused;
        verdict.failure = kernel.name + ": " + outputs.error().message;
        return {};
      }
      if (!strayed.empty()) {
        verdict.failed = Failure::kOutOfBounds;
        verdict.failure = kernel.name + " writes outside of its outputs: " + strayed;
        return {};
      }
      size_t next = 0;
      for (size_t i = 0; i < kernel.params.size(); ++i) {
        if (kernel.modes[i] == AccessMode::kIn) continue;
        computed_.add({c, i}, std::move((*outputs)[next++]));
      }
    }
    return {};
  }

  void evaluate() {
    for (size_t c : group_.calls) {
      const SuiteKernel& kernel = kernel_of(suite_, c);
      std::vector<op::RefTensor> inputs;
      for (size_t i = 0; i < kernel.params.size(); ++i) {
        if (kernel.modes[i] == AccessMode::kOut) continue;
        const HostTensor& carved = suite_.tensors.at(suite_.calls[c].before[i]);
        if (const HostTensor* given = find(group_.inputs, {c, i})) {
          inputs.push_back(op::RefTensor::from(*given));
        } else if (const CallParam* from = link_to(group_, {c, i})) {
          inputs.push_back(reshaped(*judged_.find(*from), carved));
        } else {
          inputs.push_back(op::RefTensor::from(carved));
        }
      }
      std::vector<op::RefTensor> outputs = judge_.evaluate(c, std::move(inputs));
      size_t next = 0;
      for (size_t i = 0; i < kernel.params.size(); ++i) {
        if (kernel.modes[i] == AccessMode::kIn) continue;
        judged_.add({c, i}, std::move(outputs[next++]));
      }
    }
  }

  void compare_outputs(KernelVerdict& verdict) const {
    for (const auto& [place, trusted] : group_.outputs) {
      const HostTensor& target = *computed_.find(place);
      const Comparison comparison = compare(target, trusted, *judged_.find(place));
      verdict.judged += comparison.target.judged;
      verdict.elements += target.size();
      judge_source(verdict, comparison.source, kernel_of(suite_, place.call).params[place.param],
                   suite_.calls[place.call].sequence);
      verdict.passed &= comparison.target_ok;
      if (verdict.worst_sequence >= 0 && !is_worse(comparison, verdict.worst)) continue;
      verdict.worst = comparison;
      verdict.worst_output = kernel_of(suite_, place.call).params[place.param];
      verdict.worst_sequence = suite_.calls[place.call].sequence;
    }
  }

 private:
  HostTensor input(size_t c, size_t i) const {
    const HostTensor& carved = suite_.tensors.at(suite_.calls[c].before[i]);
    if (const HostTensor* given = find(group_.inputs, {c, i})) return *given;
    if (const CallParam* from = link_to(group_, {c, i})) {
      return reshaped(*computed_.find(*from), carved);
    }
    return carved;
  }

  const Suite& suite_;
  Judge& judge_;
  const JoinedCalls& group_;
  Written<HostTensor> computed_;
  Written<op::RefTensor> judged_;
};

// Every link starts at a call in front of the one that it ends at, every output in the group.
void check_group(const Suite& suite, const JoinedCalls& group) {
  check_places(suite, group.inputs, false);
  check_places(suite, group.outputs, true);
  auto position = [&](size_t call) { return std::ranges::find(group.calls, call); };
  for (size_t call : group.calls) {
    if (call < suite.calls.size()) continue;
    throw_user("the suite has no such call", "group",
               "a call below " + std::to_string(suite.calls.size()), std::to_string(call));
  }
  auto is_written = [&](const CallParam& place) {
    return position(place.call) != group.calls.end() &&
           place.param < kernel_of(suite, place.call).params.size() &&
           kernel_of(suite, place.call).modes[place.param] != AccessMode::kIn;
  };
  for (const GroupLink& link : group.links) {
    if (is_written(link.from) && position(link.from.call) < position(link.to.call)) continue;
    throw_user("a link starts at no output of an earlier call of the group", "group",
               "an earlier call", std::to_string(link.from.call));
  }
  for (const GroupTensor& output : group.outputs) {
    if (is_written(output.place)) continue;
    throw_user("an output of no call of the group", name_of(suite, output.place),
               "a call of the group", "another one");
  }
  if (group.calls.empty() || group.outputs.empty()) {
    throw_user("a group without calls or outputs says nothing", "group", "one at least", "none");
  }
}

}  // namespace

Result<KernelVerdict> replay_group(const Suite& suite, Judge& judge, const JoinedCalls& group,
                                   Sandbox& sandbox) {
  const double start = seconds_now();
  auto checked = guard([&] { check_group(suite, group); });
  if (!checked) return fail(checked.error());
  KernelVerdict verdict;
  verdict.calls = 1;
  std::vector<std::string> names;
  for (size_t call : group.calls) {
    const std::string& name = kernel_of(suite, call).name;
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    verdict.origin = merge_origins(verdict.origin, suite.calls[call].origin);
  }
  for (const std::string& name : names)
    verdict.kernel += (verdict.kernel.empty() ? "" : " + ") + name;
  for (const GroupTensor& output : group.outputs) {
    verdict.shapes.insert(shape_to_string(output.tensor.shape()));
  }
  GroupRun run(suite, judge, group);
  const Status ran = run.run(sandbox.runner(), verdict);
  if (!ran) {
    if (!sandbox.contains(ran.error())) return fail(ran.error());
    sandbox.restart();
    verdict.failed = failure_of(ran.error());
    verdict.failure = ran.error().message;
  }
  verdict.passed = verdict.failed == Failure::kNone;
  if (verdict.passed) {
    auto judged = guard([&] {
      run.evaluate();
      run.compare_outputs(verdict);
    });
    if (!judged) return fail(judged.error());
  }
  verdict.seconds = seconds_now() - start;
  return verdict;
}

Suite with_tensors(const Suite& suite, const std::vector<size_t>& calls,
                   const std::vector<GroupTensor>& inputs, const std::vector<GroupTensor>& outputs,
                   const std::string& source) {
  check_places(suite, inputs, false);
  check_places(suite, outputs, true);
  Suite made;
  made.source = source;
  made.boundary_policy = suite.boundary_policy;
  made.model = suite.model;
  auto keep = [&](const HostTensor& tensor) {
    std::string hash = content_hash(tensor);
    made.tensors.emplace(hash, tensor);
    return hash;
  };
  std::map<std::string, int64_t> known;  // sequence by test_key
  for (size_t c : calls) {
    SuiteCall call = suite.calls.at(c);
    const SuiteKernel& kernel = kernel_of(suite, c);
    call.kernel = made.find_kernel(kernel.name);
    if (call.kernel < 0) {
      call.kernel = static_cast<int32_t>(made.kernels.size());
      made.kernels.push_back(kernel);
      made.kernels.back().dropped = 0;
    }
    call.times = 1;
    for (size_t i = 0; i < kernel.params.size(); ++i) {
      auto place = [&](const std::vector<GroupTensor>& given, std::string& hash) {
        if (hash.empty()) return;
        if (const HostTensor* tensor = find(given, {c, i})) {
          hash = keep(*tensor);
          return;
        }
        made.tensors.emplace(hash, suite.tensors.at(hash));
        if (auto weight = suite.weights.find(hash); weight != suite.weights.end()) {
          made.weights.insert(*weight);
          made.model_folder = suite.model_folder;
        }
      };
      place(inputs, call.before[i]);
      place(outputs, call.after[i]);
    }
    if (known.emplace(test_key(call), call.sequence).second) made.calls.push_back(std::move(call));
  }
  return made;
}

}  // namespace tapml::topdown
