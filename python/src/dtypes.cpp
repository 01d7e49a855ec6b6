#include "dtypes.h"

#include <array>
#include <string>
#include <string_view>

#include "base/strings.h"

namespace tapml::python {

namespace {

struct Name {
  DType dtype;
  const char* numpy;
};
constexpr std::array<Name, 13> kNames = {{{DType::kBool, "bool"},
                                          {DType::kI8, "int8"},
                                          {DType::kI16, "int16"},
                                          {DType::kI32, "int32"},
                                          {DType::kI64, "int64"},
                                          {DType::kU8, "uint8"},
                                          {DType::kU16, "uint16"},
                                          {DType::kU32, "uint32"},
                                          {DType::kU64, "uint64"},
                                          {DType::kF16, "float16"},
                                          {DType::kBF16, "bfloat16"},
                                          {DType::kF32, "float32"},
                                          {DType::kF64, "float64"}}};

std::string all_names() {
  std::string text;
  for (const Name& name : kNames) text += (text.empty() ? "" : ", ") + std::string(name.numpy);
  return text;
}

std::optional<DType> by_name(std::string_view name) {
  if (name.starts_with("torch.")) name.remove_prefix(6);
  for (const Name& one : kNames) {
    if (name == one.numpy) return one.dtype;
  }
  return parse_dtype(name);
}

}  // namespace

DType dtype_of(const py::object& dtype, const char* where) {
  // A text, or a numpy.dtype or torch.dtype by name.
  if (auto found = by_name(py::str(dtype).cast<std::string>())) return *found;
  if (!py::isinstance<py::str>(dtype) && !dtype.is_none()) {
    try {
      return from_numpy(py::module_::import("numpy").attr("dtype")(dtype), where);
    } catch (const py::error_already_set&) {
      // numpy does not know it either
    }
  }
  throw_user("not a dtype of tapml", where, all_names() + ", or as in \"f32\"",
             in_quotes(py::str(dtype).cast<std::string>()));
}

DType from_numpy(const py::object& numpy_dtype, const char* where) {
  const std::string name = py::str(numpy_dtype.attr("name")).cast<std::string>();
  if (auto found = by_name(name)) return *found;
  throw_user("the array's dtype is not supported", where, all_names(),
             in_quotes(py::str(numpy_dtype).cast<std::string>()));
}

py::object to_numpy(DType dtype) {
  if (dtype == DType::kBF16) {
    try {
      return py::module_::import("numpy").attr("dtype")(
          py::module_::import("ml_dtypes").attr("bfloat16"));
    } catch (py::error_already_set& failure) {
      if (!failure.matches(PyExc_ImportError)) throw;
    }
    throw_user("NumPy has no bf16", "numpy()", "another dtype, or the package ml_dtypes", "bf16",
               "numpy(dtype=\"f32\") converts, bits() gives the bits as uint16, torch() a "
               "torch.bfloat16");
  }
  return py::module_::import("numpy").attr("dtype")(kNames[static_cast<size_t>(dtype)].numpy);
}

}  // namespace tapml::python
