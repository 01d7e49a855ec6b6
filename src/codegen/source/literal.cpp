#include "codegen/source/literal.h"

#include <charconv>

namespace tapml::codegen {

namespace {

template <class T>
std::string shortest(T value) {
  char text[64];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  return {text, end};
}

double read(const std::string& text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

std::string decimal_literal(double value, DType dtype) {
  std::string text;
  if (dtype == DType::kF64) {
    text = shortest(value);
  } else {
    auto narrow = static_cast<float>(value);
    if (dtype == DType::kBF16) narrow = bf16_to_f32(f32_to_bf16(narrow));
    if (dtype == DType::kF16) narrow = f16_to_f32(f32_to_f16(narrow));
    text = shortest(narrow);
    // Rounding twice may miss a value between two floats.
    if (static_cast<float>(read(text)) != narrow) text = shortest(static_cast<double>(narrow));
  }
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

std::string decimal_operand(double value, DType dtype, const std::string& suffix) {
  const std::string text = decimal_literal(value, dtype) + suffix;
  return text[0] == '-' ? "(" + text + ")" : text;
}

}  // namespace tapml::codegen
