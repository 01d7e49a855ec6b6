#include "values.h"

namespace tapml::python {

namespace {

using runtime::Prim;
using runtime::Value;
using runtime::ValueList;

// An opaque value that Python can only pass on.
class Opaque final : public Resource {
 public:
  Opaque(SessionRef open, Value value) : open_(std::move(open)), value_(std::move(value)) {
    open_->add(this);
  }
  ~Opaque() override { open_->remove(this); }
  Opaque(const Opaque&) = delete;
  Opaque& operator=(const Opaque&) = delete;
  void drop() noexcept override { value_ = Value(); }
  const Value& value() const {
    open_->use();
    return value_;
  }

 private:
  SessionRef open_;
  Value value_;
};

bool is_integer(const py::object& x) {
  return !py::isinstance<py::bool_>(x) && PyIndex_Check(x.ptr()) != 0 &&
         !py::hasattr(x, "__dlpack__");
}

int64_t integer(const py::handle& x, const std::string& where) {
  py::object number = py::reinterpret_steal<py::object>(PyNumber_Index(x.ptr()));
  if (number) {
    const int64_t value = PyLong_AsLongLong(number.ptr());
    if (value != -1 || !PyErr_Occurred()) return value;
  }
  PyErr_Clear();
  throw_user("the argument is not a 64-bit integer", where, "an integer",
             py::repr(x).cast<std::string>());
}

py::sequence sequence(const py::object& x, const char* what, const std::string& where) {
  if (py::isinstance<py::sequence>(x) && !py::isinstance<py::str>(x)) return x;
  throw_user("the argument has the wrong kind", where, what, py::repr(x).cast<std::string>());
}

}  // namespace

Value to_value(const py::object& x, const ValueCheck* check, const SessionRef& open,
               const std::string& where) {
  using Kind = ValueCheck::Kind;
  const Kind kind = check ? check->kind : Kind::kAny;
  if (py::isinstance<Opaque>(x)) return x.cast<const Opaque&>().value();
  if (const DeviceTensor* tensor = as_device_tensor(x)) {
    if (tensor->open() != open) {
      throw_user("the tensor is on another session", where, "one of " + open->target().text,
                 "one of " + tensor->open()->target().text, "tensor.to(session) copies it there");
    }
    return tensor->use().tensor;
  }
  if (kind == Kind::kShape) {
    Shape shape;
    for (py::handle dim : sequence(x, "a tuple of integers, as a shape", where)) {
      shape.push_back(integer(dim, where));
    }
    return shape;
  }
  if (kind == Kind::kTuple || (kind == Kind::kAny && py::isinstance<py::tuple>(x))) {
    const py::sequence items = sequence(x, "a tuple", where);
    const size_t count = items.size();
    if (kind == Kind::kTuple && !check->fields.empty() && check->fields.size() != count) {
      throw_user("the tuple has the wrong length", where,
                 std::to_string(check->fields.size()) + " fields", std::to_string(count));
    }
    auto list = std::make_shared<ValueList>();
    for (size_t i = 0; i < count; ++i) {
      const bool known = kind == Kind::kTuple && i < check->fields.size();
      list->push_back(to_value(items[i], known ? &check->fields[i] : nullptr, open,
                               where + ", field " + std::to_string(i)));
      if (const ValueList* inner = list->back().tuple()) {
        list->nesting = std::max(list->nesting, inner->nesting + 1);
      }
    }
    Value value;
    value.data = std::shared_ptr<const ValueList>(std::move(list));
    return value;
  }
  if (kind == Kind::kPrim ||
      (kind == Kind::kAny && (is_integer(x) || py::isinstance<py::bool_>(x)))) {
    if (py::isinstance<py::bool_>(x)) return Prim{DType::kBool, x.cast<bool>() ? 1 : 0};
    return Prim{check && check->has_dtype ? check->dtype : DType::kI64, integer(x, where)};
  }
  if (kind == Kind::kCallable) {
    throw_user("the argument has the wrong kind", where, "a function value of the program",
               py::repr(x).cast<std::string>());
  }
  // An array. Numbers and lists have no dtype of their own.
  std::optional<DType> dtype;
  const bool plain = !py::hasattr(x, "dtype") && !py::hasattr(x, "__dlpack__");
  if (plain && check && check->has_dtype) dtype = check->dtype;
  return make_tensor(x, open, dtype, {}, where.c_str())->use().tensor;
}

void collect_tensors(const Value& value, std::vector<runtime::Tensor>& tensors) {
  if (const runtime::Tensor* tensor = value.tensor()) tensors.push_back(*tensor);
  if (const ValueList* list = value.tuple()) {
    for (const Value& field : *list) collect_tensors(field, tensors);
  }
}

py::object from_value(const SessionRef& open, const Value& value) {
  if (const runtime::Tensor* tensor = value.tensor()) {
    return py::cast(std::make_unique<DeviceTensor>(open, *tensor));
  }
  if (const Shape* shape = value.shape()) {
    py::tuple dims(shape->size());
    for (size_t i = 0; i < shape->size(); ++i) dims[i] = (*shape)[i];
    return dims;
  }
  if (const Prim* prim = value.prim()) {
    if (prim->dtype == DType::kBool) return py::bool_(prim->value != 0);
    return py::int_(prim->value);
  }
  if (const ValueList* list = value.tuple()) {
    py::tuple fields(list->size());
    for (size_t i = 0; i < list->size(); ++i) fields[i] = from_value(open, (*list)[i]);
    return fields;
  }
  return py::cast(std::make_unique<Opaque>(open, value));
}

void bind_values(py::module_& module) {
  py::class_<Opaque>(module, "Value", py::is_final(),
                     "An opaque value for functions of its library, such as a closure.");
}

}  // namespace tapml::python
