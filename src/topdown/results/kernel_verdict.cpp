#include "topdown/results/kernel_verdict.h"

#include <algorithm>
#include <utility>

namespace tapml::topdown {

namespace {

bool is_wholly_open(const ElementCount& output) {
  return output.compared > 0 && output.open == output.compared;
}

}  // namespace

ElementCount KernelVerdict::total() const {
  ElementCount total;
  for (const ElementCount& output : outputs) {
    total.elements += output.elements;
    total.compared += output.compared;
    total.open += output.open;
  }
  return total;
}

bool KernelVerdict::proven() const {
  return passed && std::ranges::none_of(outputs, is_wholly_open);
}

void count_elements(KernelVerdict& verdict, const std::string& output, int64_t elements,
                    const Errors& target) {
  auto count = std::ranges::find(verdict.outputs, output, &ElementCount::output);
  if (count == verdict.outputs.end()) {
    verdict.outputs.push_back({.output = output});
    count = std::prev(verdict.outputs.end());
  }
  count->elements += elements;
  count->compared += target.compared;
  count->open += target.open;
}

std::string open_text(const KernelVerdict& verdict) {
  std::string outputs;
  for (const ElementCount& output : verdict.outputs) {
    if (is_wholly_open(output)) outputs += (outputs.empty() ? "" : ", ") + output.output;
  }
  if (!outputs.empty()) return "no element of " + outputs + " has a bound";
  const ElementCount total = verdict.total();
  if (total.open == 0) return "";
  return std::to_string(total.open) + " of " + std::to_string(total.compared) +
         (total.open == 1 ? " elements has no bound" : " elements have no bound");
}

void check_source(KernelVerdict& verdict, const Errors& source, const std::string& output,
                  int64_t sequence) {
  if (is_right(source)) return;
  verdict.source_wrong = true;
  std::optional<SourceError>& worst = verdict.source_error;
  if (worst && std::pair(worst->mask_mismatches, worst->ratio) >=
                   std::pair(source.mask_mismatches, source.max_ratio)) {
    return;
  }
  worst = {output,
           sequence,
           source.max_abs,
           source.bound_at_max,
           source.max_ratio,
           source.mask_mismatches,
           within_bound(source) ? precision_text(source.precision) : ""};
}

const char* failure_name(Failure failure) {
  switch (failure) {
    case Failure::kNone:
      return "none";
    case Failure::kRefused:
      return "cannot run";
    case Failure::kCrash:
      return "crash";
    case Failure::kTimeout:
      return "timeout";
    case Failure::kOutOfBounds:
      return "out of bounds";
    case Failure::kSideEffect:
      return "side effect";
  }
  return "none";
}

std::string launches_text(const LaunchCount& count) {
  std::string text;
  const std::string all = std::to_string(count.launches);
  if (count.wrong > 0 && count.wrong < count.launches) {
    text = std::to_string(count.wrong) + " of " + all +
           (count.wrong == 1 ? " launches was wrong" : " launches were wrong") +
           ", in the order of seed " + std::to_string(count.seed);
    if (count.flaky) text += ", and other launches of the same call were right: flaky";
  }
  if (count.unequal > 0) {
    text += (text.empty() ? "" : "; ") + std::string("not deterministic: ") +
            std::to_string(count.unequal) + " of " + all +
            " launches gave other bits than the first one of their call";
  }
  if (count.cut) {
    text += (text.empty() ? "" : "; ") + std::string("launched ") + all + " times: time ran out";
  }
  return text;
}

bool was_compared(const KernelVerdict& verdict) {
  return verdict.worst.target.compared > 0 || verdict.worst.target.worst >= 0;
}

std::string verdict_outcome(const KernelVerdict& verdict) {
  if (verdict.failed != Failure::kNone) return failure_name(verdict.failed);
  if (verdict.passed) return verdict.proven() ? "pass" : "not proven";
  return verdict.worst.outcome == Outcome::kImprecise ? "imprecise" : "mismatch";
}

std::string user_file(const KernelVerdict& verdict) {
  constexpr std::string_view kUser = "user:";
  return verdict.provider.starts_with(kUser) ? verdict.provider.substr(kUser.size()) : "";
}

}  // namespace tapml::topdown
