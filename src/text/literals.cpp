#include "text/literals.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

#include "base/strings.h"

namespace tapml::text {

namespace {

template <class T>
std::string shortest(T value) {
  char buffer[64];
  auto end = std::to_chars(buffer, buffer + sizeof(buffer), value).ptr;
  return std::string(buffer, end);
}

std::string hex(uint64_t bits) {
  char buffer[32];
  auto end = std::to_chars(buffer, buffer + sizeof(buffer), bits, 16).ptr;
  return "0x" + std::string(buffer, end);
}

std::string with_point(std::string text) {
  return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
}

uint64_t element_bits(const HostTensor& tensor, int64_t index) {
  size_t width = dtype_bytes(tensor.dtype());
  uint64_t bits = 0;
  std::memcpy(&bits, tensor.bytes().data() + static_cast<size_t>(index) * width, width);
  return bits;
}

template <class T>
std::string format_list(const std::vector<T>& items, const char* empty,
                        std::string (*format)(const T&)) {
  if (items.empty()) return empty;
  return "[" + join(items, format) + "]";
}

}  // namespace

uint64_t canonical_nan(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return 0x7e00;
    case DType::kBF16:
      return 0x7fc0;
    case DType::kF32:
      return 0x7fc00000;
    default:
      return 0x7ff8000000000000;
  }
}

std::string format_float(double value, DType dtype) {
  if (std::isnan(value)) {
    uint64_t bits = std::bit_cast<uint64_t>(value);
    return bits == canonical_nan(DType::kF64) ? "nan" : "nan(" + hex(bits) + ")";
  }
  if (dtype == DType::kF64 || std::isinf(value)) return with_point(shortest(value));
  auto narrow = static_cast<float>(value);
  if (static_cast<double>(narrow) == value) return with_point(shortest(narrow));
  char buffer[64];
  auto end =
      std::to_chars(buffer, buffer + sizeof(buffer), std::fabs(value), std::chars_format::hex).ptr;
  return (std::signbit(value) ? "-0x" : "0x") + std::string(buffer, end);
}

std::optional<double> parse_float_digits(std::string_view digits, DType dtype) {
  auto parse = [&]<class T>(T value, std::chars_format format) -> std::optional<double> {
    auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value, format);
    if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
    return static_cast<double>(value);
  };
  if (digits.starts_with("0x")) {
    digits.remove_prefix(2);
    return parse(double{}, std::chars_format::hex);
  }
  return dtype == DType::kF64 ? parse(double{}, std::chars_format::general)
                              : parse(float{}, std::chars_format::general);
}

std::string format_string(std::string_view value) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string text = "\"";
  for (size_t i = 0; i < value.size();) {
    size_t length = utf8_sequence_length(value, i);
    auto byte = static_cast<uint8_t>(value[i]);
    if (byte == '\n') {
      text += "\\n";
    } else if (byte == '\t') {
      text += "\\t";
    } else if (length == 0 || byte < 0x20 || byte == 0x7f) {
      text += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
      length = 1;
    } else {
      if (byte == '"' || byte == '\\') text += '\\';
      text += value.substr(i, length);
    }
    i += length;
  }
  return text + "\"";
}

std::string format_attr(const AttrValue& value) {
  struct Formatter {
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(int64_t v) const { return std::to_string(v); }
    std::string operator()(double v) const { return format_float(v); }
    std::string operator()(const std::string& v) const { return format_string(v); }
    std::string operator()(DType v) const { return dtype_name(v); }
    std::string operator()(const std::vector<int64_t>& v) const {
      return format_list<int64_t>(v, "[]", [](const int64_t& i) { return std::to_string(i); });
    }
    std::string operator()(const std::vector<double>& v) const {
      return format_list<double>(v, "f64[]", [](const double& x) { return format_float(x); });
    }
    std::string operator()(const std::vector<std::string>& v) const {
      return format_list<std::string>(v, "str[]",
                                      [](const std::string& s) { return format_string(s); });
    }
  };
  return std::visit(Formatter{}, value);
}

std::string format_element(const HostTensor& tensor, int64_t index) {
  DType dtype = tensor.dtype();
  uint64_t bits = element_bits(tensor, index);
  switch (dtype) {
    case DType::kBool:
      return bits <= 1 ? (bits ? "true" : "false") : std::to_string(bits);
    case DType::kI8:
      return std::to_string(static_cast<int8_t>(bits));
    case DType::kI16:
      return std::to_string(static_cast<int16_t>(bits));
    case DType::kI32:
      return std::to_string(static_cast<int32_t>(bits));
    case DType::kI64:
      return std::to_string(static_cast<int64_t>(bits));
    case DType::kU8:
    case DType::kU16:
    case DType::kU32:
    case DType::kU64:
      return std::to_string(bits);
    case DType::kF16:
    case DType::kBF16:
    case DType::kF32:
    case DType::kF64:
      break;
  }
  double value = tensor.at_f64(index);
  if (!std::isnan(value)) return format_float(value, dtype);
  return bits == canonical_nan(dtype) ? "nan" : "nan(" + hex(bits) + ")";
}

}  // namespace tapml::text
