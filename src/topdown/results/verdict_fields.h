// The JSON fields of verdicts of kernels and of checks of a model. Internal to results/, except for
// the state of a migration.
#pragma once

#include "abi/device_info.h"
#include "runtime/residency.h"
#include "topdown/profile/timeline.h"
#include "topdown/reference_run/model_check.h"
#include "topdown/reference_run/repeated_check.h"
#include "topdown/results/json_archive.h"
#include "topdown/results/kernel_verdict.h"
#include "topdown/results/speed_table.h"
#include "topdown/suite/source_nan.h"
#include "topdown/suite/suite.h"

namespace tapml::topdown {

template <class A>
void fields(A& a, DeviceInfo& x) {
  a("platform", x.platform);
  a("name", x.name);
  a("version", x.version);
}

template <class A>
void fields(A& a, runtime::CopyCount& x) {
  a("to_target", x.to_target);
  a("bytes_to_target", x.bytes_to_target);
  a("from_target", x.from_target);
  a("bytes_from_target", x.bytes_from_target);
}

template <class A>
void fields(A& a, KernelUse& x) {
  a("kernel", x.kernel);
  a("layers", x.origin.layers);
  a("lines", x.origin.lines);
}

template <class A>
void fields(A& a, SourceNaN& x) {
  a("kernel", x.kernel);
  a("output", x.output);
  a("sequence", x.sequence);
  // One string: the summary of a summary is itself.
  std::string layers = layers_summary(x.origin);
  a("layers", layers);
  if (A::kReads && !layers.empty()) x.origin = {layers};
  a("inputs_with_nan", x.inputs);
  a("calls", x.calls);
}

template <class A>
void fields(A& a, TimelineSpan& x) {
  a("kind", x.lane);
  a("step", x.name);
  a("start", x.start);
  a("seconds", x.seconds);
}

template <class A>
void fields(A& a, KernelSpeed& x) {
  a("kernel", x.kernel);
  a("call", x.sequence);
  a("seconds", x.seconds);
  a("flops", x.work.flops);
  a("bytes", x.work.bytes);
}

template <class A>
void fields(A& a, SpeedTable& x) {
  a("flops_per_s", x.ceilings.flops_per_s);
  a("bytes_per_s", x.ceilings.bytes_per_s);
  a.derived("launch_seconds", [&] { return real(x.launch_seconds()); });
  a("failure", x.failure);
  a.items("kernels", x.kernels, [&](auto& item, KernelSpeed& kernel) {
    fields(item, kernel);
    // Null if the amount of work is unknown.
    if (A::kReads) kernel.work.exact = item.has("excess");
    const double excess = A::kReads ? 0 : x.excess(kernel);
    const auto known = [&](double value) { return excess > 0 ? real(value) : Json::null(); };
    item.derived("share_of_ceiling", [&] { return known(kernel.share(x.ceilings)); });
    item.derived("excess", [&] { return known(excess); });
    item("slow", kernel.slow);
  });
}

template <class A>
void fields(A& a, OutputPrecision& x) {
  a("elements", x.elements);
  a("rms", x.rms);
  a("gain", x.gain);
  a("bias", x.bias);
  a("histogram", x.histogram);
  a.expect("histogram", x.histogram.empty() || x.histogram.size() == kErrorBins.size() + 1,
           "has another number of bins", std::to_string(kErrorBins.size() + 1) + " numbers");
  a("less_precise_in", x.where);
  a("factor", x.factor);
  a("likely_cause", x.cause);
}

template <class A>
void fields(A& a, Errors& x) {
  a("max_abs", x.max_abs);
  a("error_over_bound", x.max_ratio);
  a("bound", x.bound_at_max);
  a("worst_element", x.worst);
  a("max_relative", x.max_relative);
  a("max_ulp", x.max_ulp);
  a("cosine", x.cosine);
  a("nmse", x.nmse);
  a("nan_inf_mismatches", x.mask_mismatches);
  a("compared", x.compared);
  a("open", x.open);
  a("precision", x.precision);
}

template <class A>
void fields(A& a, ModelCheck& x) {
  a("passed", x.passed);
  a("max_abs", x.max_abs);
  a("bound", x.bound);
  a("rms", x.rms);
  a("rms_bound", x.rms_bound);
  a("source_error", x.source_error);
  a("top1_changes", x.top1_changes);
  a("positions", x.positions);
  a("kl_max", x.kl_max);
  a("kl_mean", x.kl_mean);
  a.derived("top_k", [] { return Json::integer(ModelCheck::kTopK); });
  a("top_k_agreement", x.top_k_agreement);
  a("first_divergent", x.first_divergent);
  constexpr int64_t kMaxToken = std::numeric_limits<int32_t>::max();
  a.range("reference_token", x.reference_token, -1, kMaxToken);
  a.range("own_token", x.own_token, -1, kMaxToken);
  a("margin", x.margin);
  a("failure", x.failure);
  if (A::kReads ? a.has("allowances") : !x.allowances.empty()) a("allowances", x.allowances);
  a.present("cosine_distance", x.cosine_distance);
}

template <class A>
void fields(A& a, TokenMargin& x) {
  a.range("token", x.token, -1, std::numeric_limits<int32_t>::max());
  a("margin", x.margin);
  a("bound", x.bound);
  a.derived("open", [&] { return Json::boolean(x.open()); });
}

template <class A>
void fields(A& a, RepeatedCheck& x) {
  a("runs", x.runs);
  a("wrong", x.wrong);
  a.derived("flaky", [&] { return Json::boolean(x.flaky()); });
  a("candidates", x.candidates);
}

template <class A>
void fields(A& a, LaunchCount& x) {
  a("count", x.launches);
  a("wrong", x.wrong);
  a("unequal", x.unequal);
  a("seed", x.seed);
  a("flaky", x.flaky);
  a("cut", x.cut);
}

template <class A>
void fields(A& a, CallGroup& x) {
  a("function", x.function);
  a("layers", x.origin.layers);
  a("first_call", x.sequence);
  a("calls", x.calls);
  a("compared_calls", x.compared);
  a("error_over_bound", x.ratio);
}

template <class A>
void fields(A& a, DifferenceMap& x) {
  a("shape", x.shape);
  a.range("height", x.height, 0);
  a.range("width", x.width, 0);
  a.range("block_height", x.block_height, 1);
  a.range("block_width", x.block_width, 1);
  a.range("rows", x.rows, 0, DifferenceMap::kMostBlocks);
  a.range("columns", x.columns, 0, DifferenceMap::kMostBlocks);
  a("blocks", x.blocks);
  a.expect("blocks", std::ssize(x.blocks) == x.rows * x.columns,
           "does not match its rows and columns", std::to_string(x.rows * x.columns) + " numbers");
  a("outside", x.outside);
  a("first_row", x.first_row);
  a("last_row", x.last_row);
  a("first_column", x.first_column);
  a("last_column", x.last_column);
}

template <class A>
void fields(A& a, SourceError& x) {
  a("output", x.output);
  a("call", x.sequence);
  a("error", x.error);
  a("bound", x.bound);
  a("error_over_bound", x.ratio);
  a("nan_inf_mismatches", x.mask_mismatches);
  a("imprecise", x.imprecise);
}

template <class A>
void fields(A& a, Tolerance& x) {
  a("kernel", x.kernel);
  a("factor", x.factor);
  a("absolute", x.absolute);
  a("reason", x.reason);
}

template <class A>
void fields(A& a, ComparedGroup& x) {
  a.range("group", x.index, 0);
  a("trusted", x.source);
  a("kernels", x.kernels);
  a("inputs", x.inputs);
  a("outputs", x.outputs);
}

template <class A>
void fields(A& a, ElementCount& x) {
  a("output", x.output);
  a("elements", x.elements);
  a("compared", x.compared);
  a("open", x.open);
}

template <class A>
void fields(A& a, KernelVerdict& x) {
  a("kernel", x.kernel);
  a("layers", x.origin.layers);
  a("lines", x.origin.lines);
  a("calls", x.calls);
  a("shapes", x.shapes);
  a("passed", x.passed);
  a("source_wrong", x.source_wrong);
  a("against_source_only", x.against_source);
  a.choice("failed", x.failed, kLastFailure, failure_name);
  a("failure", x.failure);
  a("note", x.note);
  a("provider", x.provider);
  a("worst_output", x.worst_output);
  a("worst_call", x.worst_sequence);
  a("output_elements", x.outputs);
  a.derived("elements", [&] { return Json::integer(x.total().elements); });
  a.derived("compared_elements", [&] { return Json::integer(x.total().compared); });
  a.derived("open_elements", [&] { return Json::integer(x.total().open); });
  a("allowed", x.worst.allowed);
  a("target", x.worst.target);
  a("source", x.worst.source);
  if (A::kReads) settle(x.worst);
  a("launches", x.launches);
  a("call_groups", x.groups);
  a("seconds", x.seconds);
  if (A::kReads && a.has("group")) x.group.emplace();
  if (x.group) fields(a, *x.group);
  a.present("difference", x.difference);
  a.present("source_error", x.source_error);
  if (A::kReads ? a.has("allowances") : !x.allowances.empty()) a("allowances", x.allowances);
  a.inside("tolerance", x.tolerance.has_value(), [&](auto& tolerance) {
    if (A::kReads) x.tolerance.emplace();
    fields(tolerance, *x.tolerance);
    tolerance("decided", x.tolerated);
  });
}

}  // namespace tapml::topdown
