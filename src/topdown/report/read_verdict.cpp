#include "topdown/report/read_verdict.h"

#include <cmath>
#include <limits>

namespace tapml::topdown {

namespace {

// Infinities and NaN are texts (report_parts' real()).
Status read_real(const JsonObjectReader& json, std::string_view key, double& value) {
  const Json* found = json.find(key);
  if (found && found->is_string()) {
    const std::string& text = found->as_string();
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (text == "inf" || text == "-inf") {
      value = text == "inf" ? kInfinity : -kInfinity;
      return {};
    }
    if (text == "nan" || text == "-nan") {
      value = std::numeric_limits<double>::quiet_NaN();
      return {};
    }
  }
  TAPML_ASSIGN(value, json.required_float(key));
  return {};
}

Status read_texts(const JsonObjectReader& json, std::string_view key, std::set<std::string>& set) {
  TAPML_ASSIGN(std::vector<std::string> items, json.required_string_array(key));
  set.insert(items.begin(), items.end());
  return {};
}

// What follows from the numbers, as compare() has it.
void settle(Comparison& comparison) {
  auto good = [](const Errors& errors) {
    return errors.max_ratio <= 1 && errors.mask_mismatches == 0;
  };
  comparison.target_ok = good(comparison.target);
  comparison.outcome = !comparison.target_ok      ? Outcome::kFail
                       : !good(comparison.source) ? Outcome::kSourceWrong
                                                  : Outcome::kPass;
}

Result<Failure> read_failure(const JsonObjectReader& json) {
  constexpr Failure kAll[] = {Failure::kNone,    Failure::kRefused,     Failure::kCrash,
                              Failure::kTimeout, Failure::kOutOfBounds, Failure::kSideEffect};
  std::vector<std::string_view> names;
  for (Failure failure : kAll) names.emplace_back(failure_name(failure));
  TAPML_ASSIGN(const std::string name, json.required_choice("failed", names));
  for (Failure failure : kAll) {
    if (name == failure_name(failure)) return failure;
  }
  return Failure::kNone;
}

Result<CallGroup> read_group(const JsonObjectReader& json) {
  CallGroup group;
  TAPML_ASSIGN(group.function, json.required_string("function"));
  TAPML_TRY(read_texts(json, "layers", group.origin));
  TAPML_ASSIGN(group.sequence, json.required_int("first_call"));
  TAPML_ASSIGN(group.calls, json.required_int("calls"));
  TAPML_ASSIGN(group.judged, json.required_int("judged_calls"));
  TAPML_TRY(read_real(json, "error_over_bound", group.ratio));
  return group;
}

// What earlier versions wrote has none.
Status read_launches(const JsonObjectReader& json, LaunchCount& count) {
  TAPML_ASSIGN(const auto launches, json.optional_object("launches"));
  if (!launches) return {};
  TAPML_ASSIGN(count.launches, launches->required_int("count"));
  TAPML_ASSIGN(count.wrong, launches->required_int("wrong"));
  TAPML_ASSIGN(count.unequal, launches->required_int("unequal"));
  TAPML_ASSIGN(const int64_t seed, launches->required_int("seed"));
  count.seed = static_cast<uint64_t>(seed);
  TAPML_ASSIGN(count.flaky, launches->required_bool("flaky"));
  TAPML_ASSIGN(count.cut, launches->required_bool("cut"));
  return {};
}

// The same.
Status read_repeated(const JsonObjectReader& json, RepeatedCheck& repeated) {
  TAPML_ASSIGN(const auto object, json.optional_object("repeated"));
  if (!object) return {};
  TAPML_ASSIGN(repeated.runs, object->required_int("runs"));
  TAPML_ASSIGN(repeated.wrong, object->required_int("wrong"));
  TAPML_ASSIGN(repeated.candidates, object->required_string_array("candidates"));
  return {};
}

Result<runtime::CopyCount> read_copies(const JsonObjectReader& json) {
  runtime::CopyCount count;
  TAPML_ASSIGN(const JsonObjectReader copies, json.required_object("copies"));
  TAPML_ASSIGN(count.to_target, copies.required_int("to_target"));
  TAPML_ASSIGN(count.bytes_to_target, copies.required_int("bytes_to_target"));
  TAPML_ASSIGN(count.from_target, copies.required_int("from_target"));
  TAPML_ASSIGN(count.bytes_from_target, copies.required_int("bytes_from_target"));
  return count;
}

Result<DifferenceMap> read_difference(const JsonObjectReader& json) {
  DifferenceMap map;
  TAPML_ASSIGN(map.shape, json.required_int_array("shape"));
  TAPML_ASSIGN(map.height, json.required_int("height", 0));
  TAPML_ASSIGN(map.width, json.required_int("width", 0));
  TAPML_ASSIGN(map.block_height, json.required_int("block_height", 1));
  TAPML_ASSIGN(map.block_width, json.required_int("block_width", 1));
  TAPML_ASSIGN(map.rows, json.required_int("rows", 0, DifferenceMap::kMostBlocks));
  TAPML_ASSIGN(map.columns, json.required_int("columns", 0, DifferenceMap::kMostBlocks));
  TAPML_ASSIGN(const std::vector<Json>* blocks, json.required_array("blocks"));
  bool numbers = std::ssize(*blocks) == map.rows * map.columns;
  for (const Json& block : *blocks) {
    const bool infinite = block.is_string() && block.as_string() == "inf";
    numbers &= block.is_number() || infinite;
    map.blocks.push_back(infinite ? std::numeric_limits<double>::infinity() : block.as_double());
  }
  if (!numbers) {
    return fail(json.field_error("blocks", "is not what its rows and columns say",
                                 std::to_string(map.rows * map.columns) + " numbers"));
  }
  TAPML_ASSIGN(map.outside, json.required_int("outside"));
  TAPML_ASSIGN(map.first_row, json.required_int("first_row"));
  TAPML_ASSIGN(map.last_row, json.required_int("last_row"));
  TAPML_ASSIGN(map.first_column, json.required_int("first_column"));
  TAPML_ASSIGN(map.last_column, json.required_int("last_column"));
  return map;
}

}  // namespace

Result<Errors> read_errors(const JsonObjectReader& json) {
  Errors errors;
  TAPML_TRY(read_real(json, "max_abs", errors.max_abs));
  TAPML_TRY(read_real(json, "error_over_bound", errors.max_ratio));
  TAPML_TRY(read_real(json, "bound", errors.bound_at_max));
  TAPML_ASSIGN(errors.worst, json.required_int("worst_element"));
  TAPML_TRY(read_real(json, "max_relative", errors.max_relative));
  TAPML_TRY(read_real(json, "max_ulp", errors.max_ulp));
  TAPML_TRY(read_real(json, "cosine", errors.cosine));
  TAPML_TRY(read_real(json, "nmse", errors.nmse));
  TAPML_ASSIGN(errors.mask_mismatches, json.required_int("nan_inf_mismatches"));
  TAPML_ASSIGN(errors.judged, json.required_int("judged"));
  return errors;
}

Result<ModelCheck> read_check(const JsonObjectReader& json) {
  ModelCheck check;
  constexpr int64_t kMaxToken = std::numeric_limits<int32_t>::max();
  TAPML_ASSIGN(check.passed, json.required_bool("passed"));
  TAPML_TRY(read_real(json, "max_abs", check.max_abs));
  TAPML_TRY(read_real(json, "bound", check.bound));
  TAPML_TRY(read_real(json, "source_error", check.source_error));
  TAPML_ASSIGN(check.top1_changes, json.required_int("top1_changes"));
  TAPML_ASSIGN(check.positions, json.required_int("positions"));
  TAPML_TRY(read_real(json, "kl_max", check.kl_max));
  TAPML_TRY(read_real(json, "kl_mean", check.kl_mean));
  TAPML_TRY(read_real(json, "top_k_agreement", check.top_k_agreement));
  TAPML_ASSIGN(check.first_divergent, json.required_int("first_divergent"));
  TAPML_ASSIGN(const int64_t judged, json.required_int("judged_token", -1, kMaxToken));
  TAPML_ASSIGN(const int64_t own, json.required_int("own_token", -1, kMaxToken));
  check.judged_token = static_cast<int32_t>(judged);
  check.own_token = static_cast<int32_t>(own);
  TAPML_TRY(read_real(json, "margin", check.margin));
  TAPML_ASSIGN(check.failure, json.required_string("failure"));
  return check;
}

Result<KernelVerdict> read_verdict(const JsonObjectReader& json) {
  KernelVerdict verdict;
  TAPML_ASSIGN(verdict.kernel, json.required_string("kernel"));
  TAPML_TRY(read_texts(json, "layers", verdict.origin));
  TAPML_ASSIGN(verdict.calls, json.required_int("calls"));
  TAPML_TRY(read_texts(json, "shapes", verdict.shapes));
  TAPML_ASSIGN(verdict.passed, json.required_bool("passed"));
  TAPML_ASSIGN(verdict.source_wrong, json.required_bool("source_wrong"));
  TAPML_ASSIGN(verdict.against_source, json.required_bool("against_source_only"));
  TAPML_ASSIGN(verdict.failed, read_failure(json));
  TAPML_ASSIGN(verdict.failure, json.required_string("failure"));
  TAPML_ASSIGN(verdict.note, json.required_string("note"));
  TAPML_ASSIGN(verdict.provider, json.required_string("provider"));
  TAPML_ASSIGN(verdict.worst_output, json.required_string("worst_output"));
  TAPML_ASSIGN(verdict.worst_sequence, json.required_int("worst_call"));
  TAPML_ASSIGN(verdict.judged, json.required_int("judged_elements"));
  TAPML_ASSIGN(verdict.elements, json.required_int("elements"));
  TAPML_TRY(read_real(json, "allowed", verdict.worst.allowed));
  TAPML_ASSIGN(const JsonObjectReader target, json.required_object("target"));
  TAPML_ASSIGN(verdict.worst.target, read_errors(target));
  TAPML_ASSIGN(const JsonObjectReader source, json.required_object("source"));
  TAPML_ASSIGN(verdict.worst.source, read_errors(source));
  settle(verdict.worst);
  // The rest but the time may be missing, also in what earlier versions wrote.
  TAPML_ASSIGN(const auto wrong, json.optional_object("source_error"));
  if (wrong) {
    SourceError worst;
    TAPML_ASSIGN(worst.output, wrong->required_string("output"));
    TAPML_ASSIGN(worst.sequence, wrong->required_int("call"));
    TAPML_TRY(read_real(*wrong, "error", worst.error));
    TAPML_TRY(read_real(*wrong, "bound", worst.bound));
    TAPML_TRY(read_real(*wrong, "error_over_bound", worst.ratio));
    TAPML_ASSIGN(worst.mask_mismatches, wrong->required_int("nan_inf_mismatches"));
    verdict.source_error = std::move(worst);
  }
  TAPML_TRY(read_launches(json, verdict.launches));
  TAPML_ASSIGN(const std::vector<Json>* groups, json.optional_array("call_groups"));
  for (size_t i = 0; groups && i < groups->size(); ++i) {
    const JsonObjectReader one((*groups)[i], json.source(),
                               "call_groups[" + std::to_string(i) + "]");
    TAPML_ASSIGN(CallGroup group, read_group(one));
    verdict.groups.push_back(std::move(group));
  }
  TAPML_ASSIGN(const auto difference, json.optional_object("difference"));
  if (difference) {
    TAPML_ASSIGN(verdict.difference, read_difference(*difference));
  }
  TAPML_TRY(read_real(json, "seconds", verdict.seconds));
  TAPML_ASSIGN(const auto granted, json.optional_object("tolerance"));
  if (granted) {
    Tolerance tolerance;
    TAPML_ASSIGN(tolerance.kernel, granted->required_string("kernel"));
    TAPML_TRY(read_real(*granted, "factor", tolerance.factor));
    TAPML_TRY(read_real(*granted, "absolute", tolerance.absolute));
    TAPML_ASSIGN(tolerance.reason, granted->required_string("reason"));
    TAPML_ASSIGN(verdict.tolerated, granted->required_bool("decided"));
    verdict.tolerance = std::move(tolerance);
  }
  return verdict;
}

Result<MigrationStep> read_step(const JsonObjectReader& json) {
  MigrationStep step;
  TAPML_ASSIGN(step.verdict, read_verdict(json));
  TAPML_ASSIGN(step.unit, json.required_string("unit"));
  TAPML_ASSIGN(step.migrated, json.required_bool("migrated"));
  TAPML_ASSIGN(const JsonObjectReader hybrid, json.required_object("hybrid"));
  TAPML_ASSIGN(step.hybrid, read_check(hybrid));
  TAPML_ASSIGN(step.dispatched, json.required_int("dispatched"));
  TAPML_ASSIGN(step.copies, read_copies(json));
  TAPML_TRY(read_repeated(json, step.repeated));
  return step;
}

Result<LayerStep> read_layer(const JsonObjectReader& json) {
  LayerStep layer;
  TAPML_ASSIGN(layer.layer, json.required_string("layer"));
  TAPML_ASSIGN(layer.kernels, json.required_string_array("kernels"));
  TAPML_ASSIGN(layer.left, json.required_string_array("left"));
  TAPML_ASSIGN(layer.tried, json.required_bool("tried"));
  TAPML_ASSIGN(const JsonObjectReader hybrid, json.required_object("hybrid"));
  TAPML_ASSIGN(layer.hybrid, read_check(hybrid));
  TAPML_ASSIGN(layer.dispatched, json.required_int("dispatched"));
  TAPML_ASSIGN(layer.copies, read_copies(json));
  TAPML_TRY(read_repeated(json, layer.repeated));
  return layer;
}

}  // namespace tapml::topdown
