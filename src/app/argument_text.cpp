#include "app/argument_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <limits>
#include <optional>

#include "arith/evaluate.h"
#include "base/rng.h"
#include "base/strings.h"
#include "base/suggest.h"
#include "io/host/files.h"
#include "io/numpy.h"
#include "io/safetensors.h"
#include "ir/exceptions.h"

namespace tapml::app {

namespace {

using Kind = HostValue::Kind;

constexpr const char* kForms =
    "FILE:NAME, f32[2, 3]:[1, 2, ...], f32[2]:random(1), i32(5), 5, true, prim(5), shape(2, 3), "
    "(VALUE, VALUE), @FUNCTION";

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::map<std::string, HostTensor> tensors_of(const std::string& path) {
  const MappedFile file = unwrap(map_file(path));
  if (path.ends_with(".npz")) return unwrap(parse_npz(file.bytes, path));
  return unwrap(parse_safetensors(file.bytes, file.owner, path)).tensors;
}

// A number of a literal, as an integer where it is written as one.
struct Number {
  bool is_integer = false;
  int64_t integer = 0;
  double value = 0;
};

// One argument's text.
class Reader {
 public:
  Reader(std::string_view text, std::string parameter, const relax::Annotation& annotation,
         const arith::Values& sizes)
      : text_(text), parameter_(std::move(parameter)), annotation_(annotation), sizes_(sizes) {}

  HostValue read() {
    HostValue value = read_value(annotation_);
    skip();
    if (at_ < text_.size()) fail("an argument goes on behind its value", std::string(rest()));
    return value;
  }

 private:
  [[noreturn]] void fail(const std::string& problem, const std::string& found,
                         const std::string& hint = "") const {
    throw_user(problem, "argument " + parameter_, relax::to_string(annotation_),
               found.empty() ? "nothing" : found, hint);
  }

  std::string_view rest() const { return text_.substr(at_); }
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  bool take(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail(std::string("an argument lacks '") + c + "'", in_quotes(rest()));
  }
  // `word` with an opening bracket, or alone.
  bool take_word(std::string_view word, bool with_bracket) {
    skip();
    if (!rest().starts_with(word)) return false;
    size_t end = at_ + word.size();
    if (!with_bracket) {
      if (end < text_.size() && !std::string_view(",)] ").contains(text_[end])) return false;
    } else {
      if (end >= text_.size() || text_[end] != '(') return false;
      ++end;
    }
    at_ = end;
    return true;
  }

  std::optional<Number> take_number() {
    skip();
    size_t end = at_;
    while (end < text_.size() &&
           (is_word(text_[end]) || text_[end] == '.' || text_[end] == '-' || text_[end] == '+')) {
      ++end;
    }
    const std::string_view word = text_.substr(at_, end - at_);
    const char* last = word.data() + word.size();
    // from_chars takes no plus.
    const char* first = word.data() + (word.starts_with('+') ? 1 : 0);
    Number number;
    if (auto read = std::from_chars(first, last, number.integer);
        read.ec == std::errc() && read.ptr == last && first != last) {
      number.is_integer = true;
      number.value = static_cast<double>(number.integer);
    } else if (auto real = std::from_chars(first, last, number.value);
               real.ec != std::errc() || real.ptr != last || first == last) {
      return {};
    }
    at_ = end;
    return number;
  }
  int64_t expect_integer(const char* what) {
    const size_t begin = at_;
    const std::optional<Number> number = take_number();
    if (!number || !number->is_integer) {
      fail(std::string(what) + " is no integer of 64 bits", in_quotes(text_.substr(begin)));
    }
    return number->integer;
  }
  // Up to and with the closing bracket.
  std::vector<int64_t> take_integers(char close, const char* what) {
    std::vector<int64_t> values;
    if (take(close)) return values;
    do {
      values.push_back(expect_integer(what));
    } while (take(','));
    expect(close);
    return values;
  }

  std::optional<DType> take_dtype() {
    skip();
    size_t end = at_;
    while (end < text_.size() && is_word(text_[end])) ++end;
    if (end == text_.size() || (text_[end] != '[' && text_[end] != '(')) return {};
    const std::optional<DType> dtype = parse_dtype(text_.substr(at_, end - at_));
    if (dtype) at_ = end;
    return dtype;
  }

  HostValue read_value(const relax::Annotation& wanted) {
    skip();
    if (take('@')) {
      const size_t begin = at_;
      while (at_ < text_.size() && !std::string_view(",) ").contains(text_[at_])) ++at_;
      HostValue value;
      value.kind = Kind::kFunction;
      value.function = text_.substr(begin, at_ - begin);
      return value;
    }
    if (take_word("tuple", true) || take('(')) return read_tuple(wanted);
    if (take_word("shape", true)) {
      HostValue value;
      value.kind = Kind::kShape;
      value.shape = take_integers(')', "a dimension");
      return value;
    }
    if (take_word("prim", true)) {
      HostValue value = read_prim(wanted);
      expect(')');
      return value;
    }
    if (const std::optional<DType> dtype = take_dtype()) {
      if (take('(')) {
        const std::optional<Number> number = take_scalar();
        if (!number) fail("a scalar tensor is no number", in_quotes(rest()));
        expect(')');
        return filled(*dtype, {}, {*number});
      }
      expect('[');
      const Shape shape = take_shape();
      expect(':');
      return read_elements(*dtype, shape);
    }
    if (starts_elements()) {
      const auto [dtype, shape] = shape_of(wanted);
      return read_elements(dtype, shape);
    }
    const size_t begin = at_;
    if (const std::optional<Number> number = take_scalar()) {
      const relax::TensorAnnotation* tensor = relax::as_tensor(wanted);
      if (tensor) return filled(tensor->dtype.value_or(DType::kF32), {}, {*number});
      at_ = begin;
      return read_prim(wanted);
    }
    return read_file();
  }

  HostValue read_tuple(const relax::Annotation& wanted) {
    const relax::TupleAnnotation* tuple = relax::as_tuple(wanted);
    HostValue value;
    value.kind = Kind::kTuple;
    if (take(')')) return value;
    do {
      const bool known = tuple && value.fields.size() < tuple->fields.size();
      if (take(')')) return value;  // (VALUE,)
      value.fields.push_back(
          read_value(known ? tuple->fields[value.fields.size()] : relax::object_annotation()));
    } while (take(','));
    expect(')');
    return value;
  }

  HostValue read_prim(const relax::Annotation& wanted) {
    HostValue value;
    value.kind = Kind::kPrim;
    const relax::PrimAnnotation* prim = relax::as_prim(wanted);
    if (prim) value.dtype = prim->dtype;
    const bool is_true = take_word("true", false);
    if (is_true || take_word("false", false)) {
      if (!prim) value.dtype = DType::kBool;
      value.integer = is_true ? 1 : 0;
      return value;
    }
    value.integer = expect_integer("a host scalar");
    return value;
  }

  // A number, or a truth value as 1 or 0.
  std::optional<Number> take_scalar() {
    if (take_word("true", false)) return Number{true, 1, 1};
    if (take_word("false", false)) return Number{true, 0, 0};
    return take_number();
  }

  // Dimensions up to the closing bracket: numbers, or variables of --bind.
  Shape take_shape() {
    Shape shape;
    if (take(']')) return shape;
    do {
      skip();
      const size_t begin = at_;
      while (at_ < text_.size() && is_word(text_[at_])) ++at_;
      const std::string word(text_.substr(begin, at_ - begin));
      int64_t dim = -1;
      const char* last = word.data() + word.size();
      if (std::from_chars(word.data(), last, dim).ptr != last || word.empty() || dim < 0) {
        const std::optional<int64_t> bound = size_of(word);
        if (!bound) {
          fail("a dimension is neither a number nor a variable with a value",
               in_quotes(text_.substr(begin)), "--bind " + (word.empty() ? "n" : word) + "=4");
        }
        dim = *bound;
      }
      shape.push_back(dim);
    } while (take(','));
    expect(']');
    return shape;
  }

  std::optional<int64_t> size_of(const std::string& name) const {
    for (const auto& [node, value] : sizes_) {
      if (node->name == name) return value;
    }
    return {};
  }

  bool starts_elements() {
    skip();
    for (const std::string_view word : {"random(", "full(", "arange("}) {
      if (rest().starts_with(word)) return true;
    }
    for (const std::string_view word : {"zeros", "ones"}) {
      if (rest() == word || rest().starts_with(std::string(word) + ",") ||
          rest().starts_with(std::string(word) + ")")) {
        return true;
      }
    }
    return rest().starts_with('[');
  }

  // Of elements whose dtype and shape are not written.
  std::pair<DType, std::optional<Shape>> shape_of(const relax::Annotation& wanted) {
    const relax::TensorAnnotation* tensor = relax::as_tensor(wanted);
    if (!tensor || !tensor->dtype) {
      fail("elements need a dtype and a shape here", in_quotes(rest()), "f32[2, 3]:[1, 2, ...]");
    }
    if (!tensor->shape) return {*tensor->dtype, {}};
    Shape shape;
    for (const PrimExpr& dim : *tensor->shape) {
      const std::optional<int64_t> value = arith::evaluate(dim, sizes_);
      if (!value) return {*tensor->dtype, {}};
      shape.push_back(*value);
    }
    return {*tensor->dtype, shape};
  }

  HostValue read_elements(DType dtype, std::optional<Shape> shape) {
    if (take('[')) {
      std::vector<Number> numbers;
      Shape nesting;
      read_list(numbers, nesting, 0);
      const auto count = std::ssize(numbers);
      if (!shape) shape = nesting;
      // A flat list fills any shape; a nested one says its own.
      const bool flat = nesting.size() == 1;
      if (count != elements_of(*shape) || (!flat && nesting != *shape)) {
        fail(
            "the elements do not fit the shape " + shape_to_string(*shape),
            flat ? std::to_string(count) + " elements" : "elements of " + shape_to_string(nesting));
      }
      return filled(dtype, *shape, numbers);
    }
    if (!shape) {
      fail("the shape is not known: a variable of the annotation has no value", in_quotes(rest()),
           "--bind n=4, or the shape in front: f32[4]:" + std::string(rest()));
    }
    const int64_t count = elements_of(*shape);
    HostTensor tensor = HostTensor::zeros(dtype, *shape);
    if (take_word("zeros", false)) return HostValue::of(std::move(tensor));
    if (take_word("ones", false)) {
      for (int64_t i = 0; i < count; ++i) tensor.set_f64(i, 1);
    } else if (take_word("arange", true)) {
      double first = 0;
      if (const std::optional<Number> number = take_number()) first = number->value;
      expect(')');
      for (int64_t i = 0; i < count; ++i) tensor.set_f64(i, first + static_cast<double>(i));
    } else if (take_word("full", true)) {
      const std::optional<Number> number = take_scalar();
      if (!number) fail("full takes a number", in_quotes(rest()));
      expect(')');
      for (int64_t i = 0; i < count; ++i) set(tensor, i, *number);
    } else if (take_word("random", true)) {
      fill_random(tensor);
    } else {
      fail("elements of an unknown form", in_quotes(rest()),
           "[1, 2, ...], random(SEED), full(NUMBER), arange(FIRST), zeros or ones");
    }
    return HostValue::of(std::move(tensor));
  }

  // random(seed), random(seed, low, high): floats in [low, high), integers from low to high.
  void fill_random(HostTensor& tensor) {
    const int64_t seed = expect_integer("a seed");
    const bool real = is_float(tensor.dtype());
    double low = real ? -1 : 0, high = real ? 1 : (tensor.dtype() == DType::kBool ? 1 : 99);
    if (take(',')) {
      const std::optional<Number> from = take_number();
      expect(',');
      const std::optional<Number> to = take_number();
      if (!from || !to || !(from->value <= to->value) || !std::isfinite(to->value - from->value)) {
        fail("random takes a seed, or a seed, the least and the largest", in_quotes(text_));
      }
      low = from->value;
      high = to->value;
    }
    expect(')');
    RandomStream stream(static_cast<uint64_t>(seed), "argument");
    for (int64_t i = 0; i < tensor.size(); ++i) {
      tensor.set_f64(i, real ? low + (high - low) * stream.unit()
                             : static_cast<double>(stream.between(static_cast<int64_t>(low),
                                                                  static_cast<int64_t>(high))));
    }
  }

  // A list whose opening bracket is behind: its numbers, and the extents of the nesting.
  void read_list(std::vector<Number>& numbers, Shape& nesting, size_t depth) {
    constexpr size_t kDeepest = 64;
    if (depth > kDeepest) fail("elements are nested too deeply", "more than 64 brackets");
    if (nesting.size() == depth) nesting.push_back(-1);
    int64_t count = 0;
    if (!take(']')) {
      do {
        ++count;
        if (take('[')) {
          read_list(numbers, nesting, depth + 1);
          continue;
        }
        const size_t begin = at_;
        const std::optional<Number> number = take_scalar();
        if (!number) fail("an element is no number", in_quotes(text_.substr(begin)));
        if (nesting.size() != depth + 1) fail("elements are nested unevenly", in_quotes(text_));
        numbers.push_back(*number);
      } while (take(','));
      expect(']');
    }
    if (nesting[depth] >= 0 && nesting[depth] != count) {
      fail("elements are nested unevenly", in_quotes(text_));
    }
    nesting[depth] = count;
  }

  int64_t elements_of(const Shape& shape) const {
    const Result<int64_t> bytes = checked_byte_count(DType::kF64, shape);
    constexpr int64_t kMost = int64_t{1} << 36;
    if (!bytes || *bytes > kMost) fail("the argument is too large", shape_to_string(shape));
    return element_count(shape);
  }

  void set(HostTensor& tensor, int64_t index, const Number& number) const {
    const DType dtype = tensor.dtype();
    if (is_float(dtype)) return tensor.set_f64(index, number.value);
    const auto bits = dtype_bits(dtype);
    const bool is_signed = is_signed_integer(dtype);
    // Integers as they are written: no saturation, no rounding.
    double low = 0, high = 1;
    if (dtype != DType::kBool) {
      high = std::ldexp(1.0, is_signed ? bits - 1 : bits);
      low = is_signed ? -high : 0;
      high -= bits < 64 ? 1 : 0;
    }
    if (!number.is_integer || number.value < low || number.value > high) {
      fail("a number does not fit " + std::string(dtype_name(dtype)),
           number.is_integer ? std::to_string(number.integer) : std::to_string(number.value));
    }
    if (bits == 64) {
      tensor.mutable_values<int64_t>()[static_cast<size_t>(index)] = number.integer;
    } else {
      tensor.set_f64(index, number.value);
    }
  }

  HostValue filled(DType dtype, const Shape& shape, const std::vector<Number>& numbers) const {
    HostTensor tensor = HostTensor::zeros(dtype, shape);
    for (size_t i = 0; i < numbers.size(); ++i) set(tensor, static_cast<int64_t>(i), numbers[i]);
    return HostValue::of(std::move(tensor));
  }

  // "x.safetensors:name", "x.npz:name", "x.npy"; the name may be left out where the file has the
  // parameter's, or one tensor alone.
  HostValue read_file() {
    const size_t begin = at_;
    int brackets = 0;
    while (at_ < text_.size() && (brackets > 0 || (text_[at_] != ',' && text_[at_] != ')'))) {
      brackets += (text_[at_] == '(') - (text_[at_] == ')');
      ++at_;
    }
    std::string path(text_.substr(begin, at_ - begin));
    while (path.ends_with(' ')) path.pop_back();
    std::string name;
    std::error_code ignored;
    if (const size_t colon = path.rfind(':');
        colon != std::string::npos && !std::filesystem::exists(path, ignored)) {
      name = path.substr(colon + 1);
      path.resize(colon);
    }
    if (!std::filesystem::exists(path, ignored)) {
      fail("an argument is neither a value nor a file that is there", in_quotes(path), kForms);
    }
    if (path.ends_with(".npy")) {
      const MappedFile file = unwrap(map_file(path));
      return HostValue::of(unwrap(parse_npy(file.bytes, path)));
    }
    const std::map<std::string, HostTensor> tensors = tensors_of(path);
    if (name.empty()) name = tensors.size() == 1 ? tensors.begin()->first : parameter_;
    const auto tensor = tensors.find(name);
    if (tensor == tensors.end()) {
      std::vector<std::string_view> names;
      for (const auto& [known, value] : tensors) names.push_back(known);
      throw_user("the file has no such tensor for argument " + parameter_, path,
                 names.empty() ? "a file with tensors" : join_choices(names), in_quotes(name),
                 suggestion(name, names));
    }
    return HostValue::of(tensor->second);
  }

  std::string_view text_;
  std::string parameter_;
  const relax::Annotation& annotation_;
  const arith::Values& sizes_;
  size_t at_ = 0;
};

const char* kind_name(Kind kind) {
  switch (kind) {
    case Kind::kTensor:
      return "tensor";
    case Kind::kShape:
      return "shape";
    case Kind::kPrim:
      return "host scalar";
    case Kind::kTuple:
      return "tuple";
    case Kind::kFunction:
      return "function";
  }
  return "value";
}

// What of `value` cannot be what the annotation says; empty: nothing that needs other arguments to
// be known.
std::string misfit(const HostValue& value, const relax::Annotation& annotation,
                   const arith::Values& sizes) {
  auto kind_is = [&](Kind kind) { return value.kind == kind; };
  auto other_kind = [&] { return std::string("a ") + kind_name(value.kind); };
  auto dims_misfit = [&](const Shape& shape, const std::optional<Dims>& dims, int ndim) {
    if (ndim >= 0 && std::ssize(shape) != ndim) return std::to_string(shape.size()) + " dimensions";
    for (size_t i = 0; dims && i < shape.size(); ++i) {
      const std::optional<int64_t> known = arith::evaluate((*dims)[i], sizes);
      if (known && *known != shape[i]) {
        return std::to_string(shape[i]) + " in dimension " + std::to_string(i);
      }
    }
    return std::string();
  };
  if (const auto* tensor = relax::as_tensor(annotation)) {
    if (!kind_is(Kind::kTensor)) return other_kind();
    if (tensor->dtype && *tensor->dtype != value.tensor.dtype()) {
      return dtype_name(value.tensor.dtype());
    }
    return dims_misfit(value.tensor.shape(), tensor->shape, tensor->ndim);
  }
  if (const auto* shape = relax::as_shape(annotation)) {
    if (!kind_is(Kind::kShape)) return other_kind();
    return dims_misfit(value.shape, shape->dims, shape->ndim);
  }
  if (const auto* prim = relax::as_prim(annotation)) {
    if (!kind_is(Kind::kPrim)) return other_kind();
    return prim->dtype == value.dtype ? "" : dtype_name(value.dtype);
  }
  if (const auto* tuple = relax::as_tuple(annotation)) {
    if (!kind_is(Kind::kTuple)) return other_kind();
    if (tuple->fields.size() != value.fields.size()) {
      return std::to_string(value.fields.size()) + " fields";
    }
    for (size_t i = 0; i < value.fields.size(); ++i) {
      const std::string field = misfit(value.fields[i], tuple->fields[i], sizes);
      if (!field.empty()) return field + " in field " + std::to_string(i);
    }
    return "";
  }
  if (relax::as_callable(annotation) && !kind_is(Kind::kFunction)) return other_kind();
  return "";
}

arith::Values sizes_of(const relax::Function& function,
                       const std::map<std::string, int64_t>& sizes) {
  std::vector<Var> vars;
  for (const relax::Variable& param : function.params) {
    relax::collect_vars(param->annotation, vars);
  }
  arith::Values values;
  std::vector<std::string_view> names;
  for (const Var& var : vars) {
    names.push_back(var.get()->name);
    if (const auto size = sizes.find(var.get()->name); size != sizes.end()) {
      values[var.get()] = size->second;
    }
  }
  for (const auto& [name, value] : sizes) {
    if (std::ranges::find(names, name) != names.end()) continue;
    throw_user("the function's parameters have no variable of this name", "--bind",
               names.empty() ? "no variable" : join_choices(names), name, suggestion(name, names));
  }
  return values;
}

}  // namespace

ArgumentReader::ArgumentReader(const relax::Function& function, std::string name,
                               std::map<std::string, int64_t> sizes)
    : function_(function), name_(std::move(name)), sizes_(std::move(sizes)) {}

std::vector<HostValue> ArgumentReader::read(const std::vector<std::string>& texts) const {
  const arith::Values sizes = sizes_of(function_, sizes_);
  std::vector<std::string_view> names;
  std::string signature;
  for (const relax::Variable& param : function_.params) {
    names.push_back(param->name);
    signature +=
        (signature.empty() ? "" : ", ") + param->name + ": " + relax::to_string(param->annotation);
  }
  const std::string expected = name_ + "(" + signature + ")";
  std::vector<std::optional<std::string_view>> given(names.size());
  for (const std::string& text : texts) {
    size_t end = 0;
    while (end < text.size() && (is_word(text[end]) || text[end] == '.')) ++end;
    const bool named = end > 0 && end < text.size() && text[end] == '=';
    const std::string name = text.substr(0, end);
    auto at =
        named ? std::ranges::find(names, name)
              : names.begin() + (std::ranges::find_if(given, [](const auto& one) { return !one; }) -
                                 given.begin());
    if (at == names.end()) {
      throw_user(named ? "the function has no such parameter" : "the function has fewer parameters",
                 "--args", expected, in_quotes(text), named ? suggestion(name, names) : "");
    }
    auto& place = given[static_cast<size_t>(at - names.begin())];
    if (place) throw_user("an argument is given twice", "--args", "one value", in_quotes(text));
    place = std::string_view(text).substr(named ? end + 1 : 0);
  }
  std::vector<HostValue> values;
  for (size_t i = 0; i < given.size(); ++i) {
    const relax::Variable& param = function_.params[i];
    if (!given[i]) {
      throw_user("argument " + param->name + " is missing", "--args", expected,
                 std::to_string(texts.size()) + (texts.size() == 1 ? " argument" : " arguments"),
                 "NAME=VALUE, with a VALUE like " + std::string(kForms));
    }
    HostValue value = Reader(*given[i], param->name, param->annotation, sizes).read();
    if (const std::string found = misfit(value, param->annotation, sizes); !found.empty()) {
      throw_user("argument " + param->name + " does not fit its annotation", "--args",
                 relax::to_string(param->annotation), describe(value) + ": " + found);
    }
    values.push_back(std::move(value));
  }
  return values;
}

}  // namespace tapml::app
