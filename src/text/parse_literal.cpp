// Attributes, numbers, strings, constants.
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/suggest.h"
#include "ir/exceptions.h"
#include "text/literals.h"
#include "text/names.h"
#include "text/parser_impl.h"

namespace tapml::text {

namespace {

// Names of the dtypes in other systems.
constexpr std::pair<std::string_view, const char*> kForeignDTypes[] = {
    {"float64", "f64"}, {"double", "f64"}, {"float32", "f32"},   {"float", "f32"},
    {"float16", "f16"}, {"half", "f16"},   {"bfloat16", "bf16"}, {"int64", "i64"},
    {"int32", "i32"},   {"int16", "i16"},  {"int8", "i8"},       {"uint64", "u64"},
    {"uint32", "u32"},  {"uint16", "u16"}, {"uint8", "u8"},      {"boolean", "bool"},
};

std::string dtype_suggestion(std::string_view name) {
  for (const auto& [foreign, ours] : kForeignDTypes) {
    if (name == foreign) return std::string("did you mean '") + ours + "'?";
  }
  return suggestion(name, {"bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16",
                           "bf16", "f32", "f64"});
}

// "-128 to 127".
std::string integer_range(DType type) {
  if (type == DType::kBool) return "true or false";
  const unsigned width = 8 * static_cast<unsigned>(dtype_bytes(type));
  if (!is_signed_integer(type)) {
    return "0 to " + std::to_string(std::numeric_limits<uint64_t>::max() >> (64 - width));
  }
  const uint64_t most = (uint64_t{1} << (width - 1)) - 1;
  return "-" + std::to_string(most + 1) + " to " + std::to_string(most);
}

bool is_nan_of(DType type, uint64_t bits) {
  switch (type) {
    case DType::kF16:
      return (bits >> 16) == 0 && (bits & 0x7fff) > 0x7c00;
    case DType::kBF16:
      return (bits >> 16) == 0 && (bits & 0x7fff) > 0x7f80;
    case DType::kF32:
      return (bits >> 32) == 0 && (bits & 0x7fffffff) > 0x7f800000;
    default:
      return std::isnan(std::bit_cast<double>(bits));
  }
}

}  // namespace

std::optional<DType> Parser::peek_dtype(size_t ahead) const {
  const Token& token = peek(ahead);
  return token.kind == TokenKind::kName ? parse_dtype(token.text) : std::nullopt;
}

DType Parser::dtype() {
  std::optional<DType> dtype = peek_dtype();
  if (!dtype) {
    const Token& token = peek();
    if (token.kind != TokenKind::kName) unexpected("a dtype such as f32, bf16, i64 or bool");
    fail(token, "'" + std::string(token.text.substr(0, 40)) + "' is not a dtype",
         "one of bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64",
         dtype_suggestion(token.text));
  }
  advance();
  return *dtype;
}

uint64_t Parser::magnitude(const Token& token) const {
  std::string_view digits = token.text;
  int base = 10;
  if (digits.starts_with("0x")) {
    digits.remove_prefix(2);
    base = 16;
  }
  uint64_t value = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    fail(token, "the integer does not fit into 64 bits",
         digits.empty() ? "hexadecimal digits after 0x"
                        : "0 to " + std::to_string(std::numeric_limits<uint64_t>::max()));
  }
  return value;
}

int64_t Parser::integer() {
  bool negative = accept("-");
  if (peek().kind != TokenKind::kInteger) unexpected("an integer");
  const Token& token = advance();
  uint64_t value = magnitude(token);
  constexpr uint64_t kLimit = uint64_t{1} << 63;
  if (value > kLimit || (value == kLimit && !negative)) {
    fail(token, "the integer does not fit into 64 bits with a sign", integer_range(DType::kI64));
  }
  return static_cast<int64_t>(negative ? 0 - value : value);
}

int Parser::small_integer(const char* what) {
  if (peek().kind != TokenKind::kInteger) unexpected(what);
  const Token& token = advance();
  uint64_t value = magnitude(token);
  if (value > static_cast<uint64_t>(std::numeric_limits<int>::max())) {
    fail(token, std::string(what) + " is out of range",
         "0 to " + std::to_string(std::numeric_limits<int>::max()));
  }
  return static_cast<int>(value);
}

uint64_t Parser::nan_bits(DType type) {
  if (!accept("(")) return canonical_nan(type);
  const Token& token = peek();
  if (token.kind != TokenKind::kInteger) unexpected("the bits of the NaN, such as 0x7fc00001");
  uint64_t bits = magnitude(advance());
  if (!is_nan_of(type, bits)) {
    fail(token, std::string("these are not the bits of a NaN of ") + dtype_name(type));
  }
  expect(")");
  return bits;
}

double Parser::float_literal(DType dtype) {
  bool negative = accept("-");
  const Token& token = peek();
  double value = 0;
  if (accept("inf")) {
    value = std::numeric_limits<double>::infinity();
  } else if (!negative && accept("nan")) {
    return std::bit_cast<double>(nan_bits(DType::kF64));
  } else if (token.kind == TokenKind::kInteger || token.kind == TokenKind::kFloat) {
    advance();
    std::optional<double> parsed = parse_float_digits(token.text, dtype);
    if (!parsed) fail(token, std::string("the number is out of the range of ") + dtype_name(dtype));
    value = *parsed;
  } else {
    unexpected("a number, inf or nan");
  }
  return negative ? -value : value;
}

std::string Parser::string(const char* what) {
  if (peek().kind != TokenKind::kString) unexpected(what);
  return advance().value;
}

bool Parser::at_attrs() const {
  if (!at("{")) return false;
  TokenKind key = peek(1).kind;
  if (key != TokenKind::kName && key != TokenKind::kQuotedName) return false;
  if (!at(":", 2)) return false;
  // A binding starts the same way, but an annotation follows its colon.
  const Token& value = peek(3);
  if (value.kind != TokenKind::kName) return true;
  return value.text == "true" || value.text == "false" || value.text == "inf" ||
         value.text == "nan" || value.text == "str" || parse_dtype(value.text).has_value();
}

AttrMap Parser::attrs() {
  AttrMap map;
  expect("{");
  while (!accept("}")) {
    const Token& key_token = peek();
    std::string key = expect_free_name("an attribute's name or '}'");
    expect(":", "the attribute's name");
    AttrValue value = attr_value();
    if (!map.emplace(key, std::move(value)).second) {
      fail(key_token, "the attribute '" + key + "' is given twice", "each attribute once");
    }
    if (!at("}") && !accept(",")) unexpected("',' or '}'");
  }
  return map;
}

AttrValue Parser::attr_value() {
  if (accept("true")) return true;
  if (accept("false")) return false;
  if (peek().kind == TokenKind::kString) return advance().value;
  if (at("[")) return attr_list();
  if (accept("str")) {
    expect("[");
    expect("]");
    return std::vector<std::string>();
  }
  if (peek_dtype()) {
    DType type = dtype();
    if (type == DType::kF64 && accept("[")) {
      expect("]");
      return std::vector<double>();
    }
    return type;
  }
  size_t number = at("-") ? 1 : 0;
  if (peek(number).kind == TokenKind::kInteger) return integer();
  if (peek(number).kind == TokenKind::kFloat || at("inf", number) || at("nan", number)) {
    return float_literal(DType::kF64);
  }
  unexpected("an attribute's value: true, false, a number, a string, a dtype or a list");
}

AttrValue Parser::attr_list() {
  expect("[");
  std::vector<int64_t> integers;
  std::vector<double> floats;
  std::vector<std::string> strings;
  if (accept("]")) return integers;
  size_t index = 0;
  do {
    const Token& item = peek();
    // Checked before parsing: each nested list would take a recursive call.
    if (at("[")) fail(item, "a list holds integers, floats or strings");
    AttrValue value = attr_value();
    size_t before = index++;
    if (auto* i = std::get_if<int64_t>(&value)) {
      integers.push_back(*i);
    } else if (auto* f = std::get_if<double>(&value)) {
      floats.push_back(*f);
    } else if (auto* s = std::get_if<std::string>(&value)) {
      strings.push_back(std::move(*s));
    } else {
      fail(item, "a list holds integers, floats or strings");
    }
    if (integers.size() != index && floats.size() != index && strings.size() != index) {
      const char* kind = integers.size() == before ? "an integer"
                         : floats.size() == before ? "a float"
                                                   : "a string";
      fail(item, "a list holds values of one kind", kind);
    }
  } while (accept(","));
  expect("]", "the list's values");
  if (!integers.empty()) return integers;
  if (!floats.empty()) return floats;
  return strings;
}

HostTensor Parser::constant() {
  const Token& place = expect("const");
  expect("(");
  DType type = dtype();
  expect(",", "the constant's dtype");
  expect("(");
  Shape shape;
  while (!accept(")")) {
    shape.push_back(integer());
    if (!at(")") && !accept(",")) unexpected("',' or ')'");
  }
  expect(",", "the constant's shape");
  HostTensor value = peek().kind == TokenKind::kString ? constant_from_side(type, shape)
                                                       : constant_elements(type, shape, place);
  expect(")");
  return value;
}

void Parser::constant_element(DType type, std::vector<std::byte>& bytes) {
  uint64_t bits = 0;
  const Token& token = peek();
  if (is_float(type) && at("nan")) {
    advance();
    bits = nan_bits(type);
  } else if (is_float(type)) {
    double value = float_literal(type);
    auto narrow = static_cast<float>(value);
    bits = type == DType::kF64   ? std::bit_cast<uint64_t>(value)
           : type == DType::kF32 ? std::bit_cast<uint32_t>(narrow)
           : type == DType::kF16 ? f32_to_f16(narrow)
                                 : f32_to_bf16(narrow);
  } else if (type == DType::kBool && (accept("true") || accept("false"))) {
    bits = token.text == "true" ? 1 : 0;
  } else {
    bool negative = accept("-");
    if (peek().kind != TokenKind::kInteger) unexpected("an element of the constant");
    bits = magnitude(advance());
    unsigned width = 8 * static_cast<unsigned>(dtype_bytes(type));
    uint64_t most = is_signed_integer(type)
                        ? (uint64_t{1} << (width - 1)) - (negative ? 0 : 1)
                        : (negative ? 0 : std::numeric_limits<uint64_t>::max() >> (64 - width));
    if (type == DType::kBool) most = 1;
    if (bits > most) {
      fail(token, std::string("the element is out of the range of ") + dtype_name(type),
           integer_range(type));
    }
    if (negative) bits = 0 - bits;
  }
  for (size_t i = 0; i < dtype_bytes(type); ++i) {
    bytes.push_back(static_cast<std::byte>(bits >> (8 * i)));
  }
}

HostTensor Parser::constant_elements(DType type, Shape shape, const Token& place) {
  Result<int64_t> count = checked_element_count(shape);
  if (!count) fail(place, "the constant's shape is not valid: " + count.error().message);
  expect("[", "the constant's shape");
  std::vector<std::byte> bytes;
  while (!accept("]")) {
    constant_element(type, bytes);
    if (!at("]") && !accept(",")) unexpected("',' or ']'");
  }
  auto found = static_cast<int64_t>(bytes.size() / dtype_bytes(type));
  if (found != *count) {
    source_.fail(place.offset, "the constant's number of elements does not match its shape",
                 std::to_string(*count) + " for " + shape_to_string(shape), std::to_string(found));
  }
  HostTensor value = HostTensor::zeros(type, std::move(shape));
  std::copy(bytes.begin(), bytes.end(), value.mutable_bytes().begin());
  return value;
}

HostTensor Parser::constant_from_side(DType type, const Shape& shape) {
  const Token& token = advance();
  if (!options_.side) {
    fail(token, "a large constant is in a side file, but no side file was given", "",
         "the module was printed together with a safetensors file of its constants");
  }
  auto it = options_.side->find(token.value);
  if (it == options_.side->end()) fail(token, "the side file does not hold this constant");
  const HostTensor& value = it->second;
  if (value.dtype() != type || value.shape() != shape) {
    source_.fail(token.offset, "the constant in the side file has a different dtype or shape",
                 std::string(dtype_name(type)) + " " + shape_to_string(shape),
                 std::string(dtype_name(value.dtype())) + " " + shape_to_string(value.shape()));
  }
  return value;
}

}  // namespace tapml::text
