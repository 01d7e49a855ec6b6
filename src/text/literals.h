// Literals of the text format: each prints in the shortest form that parses to the same bits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "abi/attributes.h"
#include "tensor/host_tensor.h"

namespace tapml::text {

// "1.5", "-0.0", "inf", "nan", "nan(0x7ff8000000000001)". Always has a point, an exponent or a
// letter, so that it is never taken for an integer. With a float dtype narrower than f64 the digits
// are the shortest that give the value back through f32; a value that f32 does not hold is written
// in hexadecimal ("0x1.999999999999ap-4").
std::string format_float(double value, DType dtype = DType::kF64);

// Parses the output of format_float for `dtype`; std::nullopt if the digits are not a number.
// `digits` has no sign and is not a NaN.
std::optional<double> parse_float_digits(std::string_view digits, DType dtype = DType::kF64);

// In double quotes; the quote, the backslash, control characters and bytes that are not UTF-8 as
// escapes (\" \\ \n \t \xNN).
std::string format_string(std::string_view value);

std::string format_attr(const AttrValue& value);
// "{a: 1, b: f32}".
std::string format_attrs(const AttrMap& attrs);

// Element `index` in the text format: floats in the shortest form of their dtype, NaN with its bits
// unless it is the canonical quiet NaN.
std::string format_element(const HostTensor& tensor, int64_t index);

// Bits of the canonical quiet NaN of a float dtype.
uint64_t canonical_nan(DType dtype);

}  // namespace tapml::text
