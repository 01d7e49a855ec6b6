// What the arithmetic of a platform may do beyond the rounding of the program's dtypes, because its
// documentation says so or because the user allows it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tapml {

// The format to which the f32 operands of matrix products may be rounded.
enum class OperandPrecision : uint8_t { kF32, kTF32, kF16, kBF16 };

struct Allowances {
  OperandPrecision precision = OperandPrecision::kF32;
  bool half_sums = false;         // the partial sums of matrix products may be kept in f16
  bool relaxed_division = false;  // divisions and roots are within 4 ULP

  bool any() const { return *this != Allowances{}; }
  bool of_products() const { return precision != OperandPrecision::kF32 || half_sums; }
  // One of each that is allowed.
  std::vector<Allowances> parts() const;
  // What either allows; of two formats, the coarser one.
  Allowances with(const Allowances& other) const;

  friend bool operator==(const Allowances&, const Allowances&) = default;
};

// As in the options of a target: "precision=tf32, division=relaxed"; empty: nothing is allowed.
std::string allowances_text(const Allowances& allowances);

}  // namespace tapml
