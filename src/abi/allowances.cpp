#include "abi/allowances.h"

#include <algorithm>

namespace tapml {

namespace {

const char* precision_name(OperandPrecision precision) {
  switch (precision) {
    case OperandPrecision::kF32:
      return "f32";
    case OperandPrecision::kTF32:
      return "tf32";
    case OperandPrecision::kF16:
      return "f16";
    case OperandPrecision::kBF16:
      return "bf16";
  }
  return "f32";
}

}  // namespace

std::vector<Allowances> Allowances::parts() const {
  std::vector<Allowances> parts;
  if (precision != OperandPrecision::kF32) parts.push_back({.precision = precision});
  if (half_sums) parts.push_back({.half_sums = true});
  if (relaxed_division) parts.push_back({.relaxed_division = true});
  return parts;
}

Allowances Allowances::with(const Allowances& other) const {
  // In the order of the formats' digits.
  return {std::max(precision, other.precision), half_sums || other.half_sums,
          relaxed_division || other.relaxed_division};
}

std::string allowances_text(const Allowances& allowances) {
  std::string text;
  const auto add = [&](const std::string& option) { text += (text.empty() ? "" : ", ") + option; };
  if (allowances.precision != OperandPrecision::kF32) {
    add("precision=" + std::string(precision_name(allowances.precision)));
  }
  if (allowances.half_sums) add("accumulation=f16");
  if (allowances.relaxed_division) add("division=relaxed");
  return text;
}

}  // namespace tapml
