// Compares tensors with the reference (docs/verdicts.md).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "abi/allowances.h"
#include "op/reference.h"
#include "topdown/reference_run/output_precision.h"
#include "topdown/reference_run/tolerance.h"

namespace tapml::topdown {

// The errors of a tensor against the reference's.
struct Errors {
  double max_abs = 0;       // largest |value - reference|
  double max_ratio = 0;     // largest |value - reference| / bound; infinity where the bound is 0
  double bound_at_max = 0;  // the bound of the element with the largest ratio
  int64_t worst = -1;       // that element
  double max_relative = 0;
  double max_ulp = 0;  // in units of the output's dtype
  double cosine = 1;
  double nmse = 0;              // sum of squared errors / sum of squares
  int64_t mask_mismatches = 0;  // elements that are NaN or infinite on one side only
  int64_t compared = 0;         // elements that were compared
  int64_t open = 0;             // of those, the ones with a bound that any value meets
  OutputPrecision precision;
};

// What the source's own error adds to the bounds of the elements of a row (the last dimension is
// the width of a row).
class Slack {
 public:
  Slack() = default;  // nothing
  // 4 E for each row, E the largest |value - reference| of the source in it beyond u |reference|,
  // the error that rounding to the dtype may add.
  Slack(const HostTensor& source, const op::RefTensor& reference);

  double at(int64_t element) const {
    return rows_.empty() ? 0 : rows_[static_cast<size_t>(element / width_)];
  }

 private:
  int64_t width_ = 1;
  std::vector<double> rows_;
};

// The error of one element against the reference's.
struct ElementError {
  bool mask_mismatch = false;  // NaN or infinite on one side only; the rest is 0 then
  bool finite = true;          // false: NaN or infinite, and the same on both sides
  double error = 0;            // |value - reference|
  double bound = 0;
  double ratio = 0;  // error / bound; infinity where only the bound is 0
};
// `slack` is added to the element's bound, which `tolerance`, if given, then widens.
ElementError element_error(const HostTensor& value, const op::RefTensor& reference, int64_t element,
                           const Slack& slack, const Tolerance* tolerance = nullptr);

// Whether any value of the element is within its bound.
bool is_open(const op::RefTensor& reference, int64_t element);

// The errors over all elements that the reference compares.
Errors measure(const HostTensor& value, const op::RefTensor& reference, const Slack& slack,
               const Tolerance* tolerance = nullptr);

// Whether each element is within its bound: no ratio above 1, no mask mismatch.
bool within_bound(const Errors& errors);
// Whether a correct implementation may have these errors: the tensor as a whole is precise, too.
bool is_right(const Errors& errors);

enum class Outcome : uint8_t {
  kPass,
  kFail,         // the target is outside its bound
  kImprecise,    // it is within, but less precise as a whole than honest rounding allows
  kSourceWrong,  // the source is one of these; the target is compared without its help
};

// The source's own result: its errors, and what they add to the bounds of others.
struct SourceResult {
  Errors errors;
  Slack slack;  // nothing, if it is not right by honest rounding
};
// `allowed`: the reference with the allowances of the source, or null. A source that is right only
// with these adds nothing: they are no allowances of the target.
SourceResult source_result(const HostTensor& source, const op::RefTensor& reference,
                           const op::RefTensor* allowed = nullptr);

struct Comparison {
  Outcome outcome = Outcome::kPass;
  bool target_ok = true;
  Errors target, source;
  Slack slack;
  double allowed = 0;      // the bound of the worst element
  bool tolerated = false;  // the target is outside its bound, and within the tolerance
  // Of the target, which it needs to be right; if it is not right, all of them.
  Allowances allowances;
};

// |target - reference| <= 4 E + bound, where E is the source's own largest error on this row of the
// output beyond the rounding of its result; and the errors of the target as a whole are those of
// honest rounding. If the source is not right itself, E counts as 0.
Comparison compare(const HostTensor& target, const HostTensor& source,
                   const op::RefTensor& reference, const Tolerance* tolerance = nullptr);
Comparison compare(const HostTensor& target, const SourceResult& source,
                   const op::RefTensor& reference, const Tolerance* tolerance = nullptr);

// The reference of an output with the allowances of a platform.
using ReferenceWith = std::function<const op::RefTensor&(const Allowances& allowances)>;
// The same by honest rounding and, where source or target are not right by that, with their
// allowances.
Comparison compare_allowed(const HostTensor& target, const HostTensor& source,
                           const ReferenceWith& reference, const Allowances& target_allowances,
                           const Allowances& source_allowances,
                           const Tolerance* tolerance = nullptr);

// Derives the outcome from the errors of target and source.
void settle(Comparison& comparison);

// Whether `a` is worse than `b`: a failing target before an imprecise one before a wrong source
// before a pass; then more mask mismatches, then the larger ratio or the lower precision.
bool is_worse(const Comparison& a, const Comparison& b);

}  // namespace tapml::topdown
