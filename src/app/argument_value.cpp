#include "app/argument_value.h"

#include <charconv>
#include <cmath>
#include <filesystem>
#include <optional>

#include "app/argument_cursor.h"
#include "app/tensor_file.h"
#include "base/rng.h"
#include "base/strings.h"
#include "ir/exceptions.h"

namespace tapml::app {

namespace {

using Kind = HostValue::Kind;

class ValueReader : ArgumentCursor {
 public:
  ValueReader(std::string_view text, std::string parameter, const relax::Annotation& annotation,
              const arith::Values& sizes)
      : ArgumentCursor(text, std::move(parameter), annotation),
        annotation_(annotation),
        sizes_(sizes) {}

  HostValue read() {
    HostValue value = read_value(annotation_);
    skip();
    if (!at_end()) fail("the argument has extra text after its value", std::string(rest()));
    return value;
  }

 private:
  HostValue read_value(const relax::Annotation& wanted) {
    skip();
    if (take('@')) {
      HostValue value;
      value.kind = Kind::kFunction;
      value.function = take_until([](char c) { return std::string_view(",) ").contains(c); });
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
        if (!number) fail("a scalar tensor is not a number", in_quotes(rest()));
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
    const size_t begin = at();
    if (const std::optional<Number> number = take_scalar()) {
      const relax::TensorAnnotation* tensor = relax::as_tensor(wanted);
      if (tensor) return filled(tensor->dtype.value_or(DType::kF32), {}, {*number});
      go_back(begin);
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

  // Dimensions up to the closing bracket: numbers, or variables of --bind.
  Shape take_shape() {
    Shape shape;
    if (take(']')) return shape;
    do {
      skip();
      const size_t begin = at();
      const std::string word(take_until([](char c) { return !is_word(c); }));
      int64_t dim = -1;
      const char* last = word.data() + word.size();
      if (std::from_chars(word.data(), last, dim).ptr != last || word.empty() || dim < 0) {
        const std::optional<int64_t> bound = size_of(word);
        if (!bound) {
          fail("a dimension is neither a number nor a variable with a value",
               in_quotes(from(begin)), "--bind " + (word.empty() ? "n" : word) + "=4");
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

  // For elements written without dtype and shape.
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
      // A flat list fills any shape; a nested one determines its shape.
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
           "--bind n=4, or a shape before the elements: f32[4]:" + std::string(rest()));
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
        fail("random takes a seed, or a seed, the least and the largest", in_quotes(text()));
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

  // The rest of a list after its opening bracket: its numbers, and the extents of the nesting.
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
        const size_t begin = at();
        const std::optional<Number> number = take_scalar();
        if (!number) fail("an element is not a number", in_quotes(from(begin)));
        if (nesting.size() != depth + 1) fail("elements are nested unevenly", in_quotes(text()));
        numbers.push_back(*number);
      } while (take(','));
      expect(']');
    }
    if (nesting[depth] >= 0 && nesting[depth] != count) {
      fail("elements are nested unevenly", in_quotes(text()));
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
    // Integers are exact: no saturation, no rounding.
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

  // "x.safetensors:name", "x.npz:name", "x.npy"; the name may be omitted if the file has a tensor
  // of the parameter's name, or only one tensor.
  HostValue read_file() {
    int brackets = 0;
    std::string path(take_until([&](char c) {
      if (brackets == 0 && (c == ',' || c == ')')) return true;
      brackets += (c == '(') - (c == ')');
      return false;
    }));
    while (path.ends_with(' ')) path.pop_back();
    std::string name;
    std::error_code ignored;
    if (const size_t colon = path.rfind(':');
        colon != std::string::npos && !std::filesystem::exists(path, ignored)) {
      name = path.substr(colon + 1);
      path.resize(colon);
    }
    if (!std::filesystem::exists(path, ignored)) {
      fail("the argument is neither a value nor an existing file", in_quotes(path), kArgumentForms);
    }
    return HostValue::of(read_tensor(path, std::move(name), parameter()));
  }

  const relax::Annotation& annotation_;
  const arith::Values& sizes_;
};

}  // namespace

HostValue read_argument(std::string_view text, const std::string& parameter,
                        const relax::Annotation& annotation, const arith::Values& sizes) {
  return ValueReader(text, parameter, annotation, sizes).read();
}

}  // namespace tapml::app
