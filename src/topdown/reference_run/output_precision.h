// Whether the errors of a whole output are those of honest rounding (docs/verdicts.md).
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "op/reference.h"
#include "topdown/reference_run/tolerance.h"

namespace tapml::topdown {

// Ends of the bins of OutputPrecision::histogram; the last bin has all larger errors.
inline constexpr std::array kErrorBins = {0.125, 0.25, 0.5,  1.0,   2.0,   4.0,  8.0,
                                          16.0,  32.0, 64.0, 128.0, 256.0, 512.0};

// The errors of an output, in standard deviations of honest rounding.
struct OutputPrecision {
  int64_t elements = 0;  // with a known deviation; 0: nothing was tested
  // Root mean square over these of the error beyond its systematic part, in deviations. Honest
  // rounding has 1 at most.
  double rms = 0;
  double gain =
      0;  // slope of the errors on the reference: -1e-4 if all elements are 0.9999 times it
  double bias = 0;  // mean error
  // The elements by their errors beyond the systematic part, in deviations: one bin for each of
  // kErrorBins, and one more. Empty: nothing was tested.
  std::vector<int64_t> histogram;
  // The part that is less precise than honest rounding allows: "all elements", "row 3", "column 5",
  // "the gain", "the bias", "the shape of its errors". Empty: none is.
  std::string where;
  double factor = 0;  // of that part: its RMS (1: honest), or its gain or bias over the allowed one
  std::string cause;  // the likely cause, as in "f16 operands"; empty: none is known

  bool passed() const { return where.empty(); }
};

// Tests the elements that the reference compares; of a sample, those that were drawn at random.
// `tolerance`, if given, widens what is allowed.
OutputPrecision output_precision(const HostTensor& value, const op::RefTensor& reference,
                                 const Tolerance* tolerance = nullptr);

// How many of `elements` are in each bin if the errors are normal with a deviation of 1, the widest
// that honest rounding makes.
std::vector<double> widest_honest_histogram(int64_t elements);

// A lower precision that a kernel may have.
struct SuspectedCause {
  const char* name;
  op::ProductRounding products;
};
std::span<const SuspectedCause> suspected_causes();

// How much of the errors a cause explains: their regression on the errors that the cause would make
// and on the reference.
struct CauseFit {
  double slope = 0;      // 0: honest, 1: the cause is there
  double deviation = 0;  // of the slope
  double explained = 0;  // share of the errors' squares

  // Whether the cause is there: false alarms are below 1e-8.
  bool found() const;
};
// `under_cause`: the reference with the cause in it.
CauseFit fit_cause(const HostTensor& value, const op::RefTensor& reference,
                   const op::RefTensor& under_cause);

// "errors 181 times those of honest rounding in all elements, as by f16 operands"; empty if it
// passed.
std::string precision_text(const OutputPrecision& precision);

}  // namespace tapml::topdown
