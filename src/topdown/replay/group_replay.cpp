#include "topdown/replay/group_replay.h"

#include <algorithm>
#include <limits>
#include <map>

#include "base/clock.h"
#include "ir/exceptions.h"
#include "passes/kernel.h"
#include "topdown/runner/call_runner.h"
#include "topdown/runner/contained_run.h"
#include "topdown/suite/parameter_shape.h"

namespace tapml::topdown {

namespace {

// Kernels exchange flat memory: a view has other dimensions.
HostTensor reshaped(const HostTensor& tensor, Shape shape) {
  return HostTensor::view(tensor.dtype(), std::move(shape), tensor.bytes().data(),
                          std::make_shared<HostTensor>(tensor));
}

op::RefTensor reshaped(op::RefTensor tensor, Shape shape) {
  tensor.shape = std::move(shape);
  return tensor;
}

class GroupRun {
 public:
  // `allowances` are those of the target.
  GroupRun(const Suite& suite, const KernelReference& reference, const SuiteGroup& group,
           const Allowances& allowances)
      : suite_(suite), reference_(reference), group_(group), allowances_(allowances) {
    for (const SuiteLink& link : group.links) links_.emplace(link.to, link.from);
    for (const GroupValue& value : group.inputs) given_.emplace(value.place, value.hash);
  }

  // Runs the group on the device; a stray write is a verdict.
  Status run(runtime::KernelRunner& runner, KernelVerdict& verdict) {
    computed_.clear();
    for (size_t c = 0; c < group_.calls.size(); ++c) {
      const SuiteKernel& kernel = kernel_of(c);
      Suite alone = call_alone(c);
      std::string out_of_bounds_writes;
      auto outputs = run_call(alone, 0, runner, &out_of_bounds_writes);
      if (!outputs) {
        if (!is_refusal(outputs.error())) return fail(outputs.error());
        verdict.failed = Failure::kRefused;
        verdict.failure = kernel.name + ": " + outputs.error().message;
        return {};
      }
      if (!out_of_bounds_writes.empty()) {
        verdict.failed = Failure::kOutOfBounds;
        verdict.failure = kernel.name + " writes outside of its outputs: " + out_of_bounds_writes;
        return {};
      }
      size_t next = 0;
      for (size_t i = 0; i < kernel.params.size(); ++i) {
        if (kernel.modes[i] == AccessMode::kIn) continue;
        computed_.insert_or_assign({c, i}, std::move((*outputs)[next++]));
      }
    }
    return {};
  }

  // The references of all outputs, as far as they were needed.
  using Compared = std::map<CallParameter, op::RefTensor>;
  const Compared& compared(const Allowances& allowed) {
    const auto [entry, is_new] = compared_.try_emplace(allowances_text(allowed));
    if (is_new) entry->second = evaluate(allowed);
    return entry->second;
  }

  Compared evaluate(const Allowances& allowed) const {
    Compared result;
    for (size_t c = 0; c < group_.calls.size(); ++c) {
      const SuiteKernel& kernel = kernel_of(c);
      std::vector<op::RefTensor> inputs;
      for (size_t i = 0; i < kernel.params.size(); ++i) {
        if (kernel.modes[i] == AccessMode::kOut) continue;
        const auto link = links_.find({c, i});
        inputs.push_back(link == links_.end() ? op::RefTensor::from(given(c, i))
                                              : reshaped(result.at(link->second), shape_of(c, i)));
      }
      std::vector<op::RefTensor> outputs =
          reference_.evaluate(group_.calls[c], std::move(inputs), allowed);
      size_t next = 0;
      for (size_t i = 0; i < kernel.params.size(); ++i) {
        if (kernel.modes[i] == AccessMode::kIn) continue;
        result.emplace(CallParameter{c, i}, std::move(outputs[next++]));
      }
    }
    return result;
  }

  // Whether the outputs equal, bit by bit, those of the first run for which this was called.
  bool same_as_first() {
    if (first_.empty()) first_ = computed_;
    return std::ranges::all_of(group_.outputs, [&](const GroupValue& value) {
      return std::ranges::equal(first_.at(value.place).bytes(), computed_.at(value.place).bytes());
    });
  }

  void compare_outputs(KernelVerdict& verdict) {
    CallGroup& calls = verdict.groups.at(0);
    const bool first = calls.compared == 0;
    calls.compared = 1;
    for (const GroupValue& value : group_.outputs) {
      const CallParameter& place = value.place;
      const SuiteKernel& kernel = kernel_of(place.call);
      const std::string& output = kernel.params[place.param];
      const int64_t sequence = group_.calls[place.call].sequence;
      const HostTensor& target = computed_.at(place);
      const Tolerance* tolerance = reference_.tolerances().find(kernel.name);
      if (tolerance) verdict.tolerance = *tolerance;
      const Comparison comparison = compare_allowed(
          target, suite_.tensors.at(value.hash),
          [&](const Allowances& allowed) -> const op::RefTensor& {
            return compared(allowed).at(place);
          },
          allowances_, {}, tolerance);
      verdict.tolerated |= comparison.tolerated;
      if (comparison.target_ok) needed_ = needed_.with(comparison.allowances);
      if (first) {
        count_elements(verdict, kernel.name + "." + output, target.size(), comparison.target);
      }
      check_source(verdict, comparison.source, output, sequence);
      calls.ratio = std::max(calls.ratio, comparison.target.mask_mismatches > 0
                                              ? std::numeric_limits<double>::infinity()
                                              : comparison.target.max_ratio);
      verdict.passed &= comparison.target_ok;
      if (verdict.worst_sequence >= 0 && !is_worse(comparison, verdict.worst)) continue;
      verdict.worst = comparison;
      verdict.worst_output = output;
      verdict.worst_sequence = sequence;
      verdict.difference.reset();
      if (!comparison.target_ok) {
        verdict.difference = difference_map(target, compared(comparison.allowances).at(place),
                                            comparison.slack, tolerance);
      }
    }
    verdict.tolerated &= verdict.passed;
    const Allowances& tried = verdict.worst.allowances;
    verdict.allowances = allowances_text(verdict.passed        ? needed_
                                         : tried.of_products() ? tried
                                                               : Allowances{});
    if (verdict.worst.outcome == Outcome::kImprecise && verdict.note.empty()) {
      verdict.note = precision_text(verdict.worst.target.precision);
    }
  }

 private:
  const SuiteKernel& kernel_of(size_t c) const {
    return suite_.kernels[static_cast<size_t>(group_.calls[c].kernel)];
  }
  const tir::PrimFunc& program_of(size_t c) const {
    return passes::kernel_implementation(reference_.module(), kernel_of(c).name);
  }
  Shape shape_of(size_t c, size_t i) const {
    const tir::PrimFunc& program = program_of(c);
    return parameter_shape(program.params[i], scalar_values(program, group_.calls[c].scalars))
        .value();
  }
  const HostTensor& given(size_t c, size_t i) const {
    const auto end = given_.find({c, i});
    return suite_.tensors.at(end == given_.end() ? group_.calls[c].before[i] : end->second);
  }

  // A suite of one call with its current tensors.
  Suite call_alone(size_t c) const {
    const SuiteKernel& kernel = kernel_of(c);
    Suite alone;
    alone.kernels = {kernel};
    alone.calls = {group_.calls[c]};
    SuiteCall& call = alone.calls[0];
    call.kernel = 0;
    for (size_t i = 0; i < kernel.params.size(); ++i) {
      if (kernel.modes[i] == AccessMode::kOut) {
        // Only its dtype and shape are used.
        call.after[i] = "output " + std::to_string(i);
        alone.tensors.emplace(call.after[i], HostTensor::view(program_of(c).params[i].buffer->dtype,
                                                              shape_of(c, i), nullptr, {}));
        continue;
      }
      call.before[i] = "input " + std::to_string(i);
      const auto link = links_.find({c, i});
      alone.tensors.emplace(call.before[i],
                            link == links_.end()
                                ? given(c, i)
                                : reshaped(computed_.at(link->second), shape_of(c, i)));
    }
    return alone;
  }

  const Suite& suite_;
  const KernelReference& reference_;
  const SuiteGroup& group_;
  std::map<CallParameter, CallParameter> links_;  // by reader: the writer
  std::map<CallParameter, std::string> given_;    // by parameter: hash of the given tensor
  std::map<CallParameter, HostTensor> computed_, first_;
  const Allowances allowances_;
  Allowances needed_;                         // by outputs that are right
  std::map<std::string, Compared> compared_;  // by allowances_text()
};

ComparedGroup compared_group(const Suite& suite, size_t index) {
  const SuiteGroup& group = suite.groups[index];
  ComparedGroup compared;
  compared.index = index;
  compared.source = group.source;
  compared.kernels = suite.kernels_of(group);
  for (const GroupValue& value : group.inputs) {
    if (std::ranges::find(compared.inputs, value.name) == compared.inputs.end()) {
      compared.inputs.push_back(value.name);
    }
  }
  for (const GroupValue& value : group.outputs) compared.outputs.push_back(value.name);
  return compared;
}

}  // namespace

Result<KernelVerdict> replay_group(const Suite& suite, KernelReference& reference, size_t index,
                                   Sandbox& sandbox, const ReplayOptions& options) {
  const double start = seconds_now();
  const SuiteGroup& group = suite.groups.at(index);
  for (const SuiteCall& call : group.calls) {
    if (reference.has_specification(call.kernel)) continue;
    return fail(user_error(
        "a kernel of a group has no specification", "group " + std::to_string(index),
        "kernels that have a reference",
        suite.kernels[static_cast<size_t>(call.kernel)].name + ", which only calls a library"));
  }
  KernelVerdict verdict;
  verdict.group = compared_group(suite, index);
  for (const std::string& name : verdict.group->kernels) {
    verdict.kernel += (verdict.kernel.empty() ? "" : " + ") + name;
  }
  verdict.origin = origin_of(group);
  verdict.calls = 1;
  const SuiteCall& last = group.calls[group.outputs.back().place.call];
  verdict.groups = {
      {.function = last.function, .origin = verdict.origin, .sequence = last.sequence, .calls = 1}};
  for (const GroupValue& output : group.outputs) {
    verdict.shapes.insert(shape_to_string(suite.tensors.at(output.hash).shape()));
  }
  GroupRun run(suite, reference, group, sandbox.target().description.allowances);
  LaunchCount& count = verdict.launches;
  count.seed = options.seed;
  bool all_right = true, first_right = true;
  double until = 0;
  while (count.launches < std::max<int64_t>(options.launches, 1)) {
    if (count.launches > 0 && seconds_now() > until) {
      count.cut = true;
      break;
    }
    tell(reference.watcher(),
         {"launch", count.launches, std::max<int64_t>(options.launches, 1), ""});
    const Status ran = run_contained(
        sandbox, verdict, [&](runtime::KernelRunner& runner) { return run.run(runner, verdict); });
    if (!ran && verdict.failed == Failure::kNone) return fail(ran.error());
    if (verdict.failed == Failure::kRefused) break;
    ++count.launches;
    if (verdict.failed != Failure::kNone) {
      ++count.wrong;
      break;
    }
    bool right = first_right;
    if (count.launches == 1 || !run.same_as_first()) {
      verdict.passed = true;
      auto compared = guard([&] { run.compare_outputs(verdict); });
      if (!compared) return fail(compared.error());
      right = verdict.passed;
      count.unequal += count.launches > 1 ? 1 : 0;
    }
    if (count.launches == 1) {
      first_right = right;
      run.same_as_first();
      const double now = seconds_now();
      until = now + std::max(options.seconds, (now - start) / 2);
    }
    count.wrong += right ? 0 : 1;
    count.flaky |= right != first_right;
    all_right &= right;
  }
  verdict.passed = all_right && verdict.failed == Failure::kNone;
  verdict.tolerated &= verdict.passed;
  if (const std::string text = launches_text(count); !text.empty()) {
    verdict.note += (verdict.note.empty() ? "" : "; ") + text;
  }
  verdict.seconds = seconds_now() - start;
  return verdict;
}

}  // namespace tapml::topdown
