#include "host_array.h"

#include <cstring>

#include "tensor/uninitialized.h"

namespace tapml::python {

namespace {

// Bytes that NumPy makes an array of.
struct Memory {
  std::byte* data;
  size_t size;
  bool writable;
  std::shared_ptr<const void> owner;
};

HostArray of_tensor(HostTensor tensor) {
  HostArray array;
  array.dtype = tensor.dtype();
  array.shape = tensor.shape();
  array.data = tensor.mutable_bytes().data();
  array.owner = std::make_shared<HostTensor>(std::move(tensor));
  return array;
}

// Copies one dimension after the other.
void copy_strided(const HostArray& from, size_t dim, const std::byte* source, std::byte*& to) {
  const auto size = static_cast<int64_t>(dtype_bytes(from.dtype));
  if (dim == from.shape.size()) {
    std::memcpy(to, source, static_cast<size_t>(size));
    to += size;
    return;
  }
  for (int64_t i = 0; i < from.shape[dim]; ++i) {
    copy_strided(from, dim + 1, source + i * from.strides[dim] * size, to);
  }
}

HostArray compacted(const HostArray& array) {
  HostTensor copy = uninitialized_tensor(array.dtype, array.shape);
  std::byte* to = copy.mutable_bytes().data();
  copy_strided(array, 0, array.data, to);
  return of_tensor(std::move(copy));
}

std::string numbers(const py::object& list) { return py::str(py::tuple(list)).cast<std::string>(); }

TakenArray take_numpy(py::object array, std::optional<DType> dtype, const char* where) {
  TakenArray taken;
  py::module_ numpy = py::module_::import("numpy");
  DType own = from_numpy(array.attr("dtype"), where);
  if (!array.attr("dtype").attr("isnative").cast<bool>()) {
    taken.copied = "its elements are in the other byte order";
    array = array.attr("astype")(array.attr("dtype").attr("newbyteorder")("="));
  }
  // bf16 is converted below: NumPy alone does not know it.
  if (dtype && *dtype != own && *dtype != DType::kBF16 && own != DType::kBF16) {
    taken.copied =
        std::string("its elements are ") + dtype_name(own) + ", not " + dtype_name(*dtype);
    array = array.attr("astype")(to_numpy(*dtype));
    own = *dtype;
  }
  py::object flags = array.attr("flags");
  if (!flags["C_CONTIGUOUS"].cast<bool>() || !flags["ALIGNED"].cast<bool>()) {
    if (taken.copied.empty()) {
      taken.copied = flags["ALIGNED"].cast<bool>()
                         ? "its elements do not lie together in row-major order (strides of " +
                               numbers(array.attr("strides")) + " bytes)"
                         : "its elements are not aligned in memory";
    }
    array = numpy.attr("array")(array, py::arg("order") = "C", py::arg("copy") = true);
  }
  // pybind11's array API only knows the layout of NumPy 1.
  py::dict interface = array.attr("__array_interface__");
  py::tuple data = interface["data"];
  HostArray& host = taken.array;
  host.dtype = own;
  for (py::handle dim : py::tuple(interface["shape"])) host.shape.push_back(dim.cast<int64_t>());
  host.data = reinterpret_cast<std::byte*>(data[0].cast<uintptr_t>());
  host.writable = !data[1].cast<bool>();
  host.owner = keep_alive(std::move(array));
  return taken;
}

}  // namespace

HostTensor as_tensor(const HostArray& array) {
  return HostTensor::view(array.dtype, array.shape, array.data, array.owner);
}

HostTensor converted(const HostTensor& tensor, DType dtype) {
  HostTensor made = uninitialized_tensor(dtype, tensor.shape());
  for (int64_t i = 0; i < tensor.size(); ++i) made.set_f64(i, tensor.at_f64(i));
  return made;
}

TakenArray take_array(const py::object& x, std::optional<DType> dtype, const char* where) {
  TakenArray taken;
  py::module_ numpy = py::module_::import("numpy");
  if (py::isinstance(x, numpy.attr("ndarray"))) {
    taken = take_numpy(x, dtype, where);
  } else if (py::hasattr(x, "__dlpack__")) {
    taken.array = take_dlpack(x, where);
    if (!taken.array.compact()) {
      taken.array = compacted(taken.array);
      taken.copied = "its elements do not lie together in row-major order";
    }
    taken.array.strides.clear();
  } else {
    // A list, a number, an object with __array__.
    py::object made;
    try {
      py::object wanted = dtype && *dtype != DType::kBF16 ? to_numpy(*dtype) : py::none();
      made = numpy.attr("asarray")(x, wanted);
    } catch (const py::error_already_set& failure) {
      throw_user("not an array", where, "a NumPy array, a tensor with __dlpack__, or numbers",
                 py::str(failure.value()).cast<std::string>());
    }
    taken = take_numpy(made, dtype, where);
    if (taken.copied.empty() && !py::hasattr(x, "__array__")) taken.copied = "it is no array";
  }
  if (dtype && taken.array.dtype != *dtype) {
    taken.copied = std::string("its elements are ") + dtype_name(taken.array.dtype) + ", not " +
                   dtype_name(*dtype);
    HostTensor made = converted(as_tensor(taken.array), *dtype);
    taken.array = of_tensor(std::move(made));
  }
  return taken;
}

py::object as_numpy(const HostTensor& tensor, std::shared_ptr<const void> owner, bool writable) {
  py::module_ numpy = py::module_::import("numpy");
  py::tuple shape(tensor.shape().size());
  for (size_t i = 0; i < shape.size(); ++i) shape[i] = tensor.shape()[i];
  if (tensor.byte_size() == 0) return numpy.attr("empty")(shape, to_numpy(tensor.dtype()));
  return numpy.attr("ndarray")(shape, to_numpy(tensor.dtype()),
                               py::cast(Memory{const_cast<std::byte*>(tensor.bytes().data()),
                                               tensor.byte_size(), writable, std::move(owner)}));
}

void bind_memory(py::module_& module) {
  py::class_<Memory>(module, "_Memory", py::buffer_protocol(),
                     "The memory of arrays returned by numpy().")
      .def_buffer([](const Memory& memory) {
        return py::buffer_info(reinterpret_cast<uint8_t*>(memory.data),
                               static_cast<py::ssize_t>(memory.size), !memory.writable);
      });
}

}  // namespace tapml::python
