#include "tensor.h"

#include <pybind11/stl.h>

#include "base/strings.h"
#include "device/cpu/cpu_device.h"
#include "host_array.h"
#include "runtime/local_session.h"
#include "tensor/uninitialized.h"

namespace tapml::python {

namespace {

py::tuple shape_tuple(std::span<const int64_t> shape) {
  py::tuple tuple(shape.size());
  for (size_t i = 0; i < shape.size(); ++i) tuple[i] = shape[i];
  return tuple;
}

Shape shape_of(const py::object& shape, const char* where) {
  Shape dims;
  auto add = [&](const py::handle& dim) {
    if (!py::isinstance<py::int_>(dim) && PyIndex_Check(dim.ptr()) == 0) {
      throw_user("the shape cannot be allocated", where, "integers from 0",
                 py::str(dim).cast<std::string>(),
                 "symbolic dimensions get their values by Module.bind()");
    }
    py::object number = py::reinterpret_steal<py::object>(PyNumber_Index(dim.ptr()));
    if (!number) throw py::error_already_set();
    dims.push_back(number.cast<int64_t>());
  };
  try {
    if (py::isinstance<py::int_>(shape)) {
      add(shape);
    } else {
      for (py::handle dim : shape) add(dim);
    }
  } catch (const py::cast_error&) {
    throw_user("the shape cannot be allocated", where, "integers of 64 bits",
               py::str(shape).cast<std::string>());
  } catch (const py::error_already_set& failure) {
    throw_user("the shape cannot be allocated", where, "a tuple of integers",
               py::str(failure.value()).cast<std::string>());
  }
  if (!checked_element_count(dims)) {
    throw_user("the shape cannot be allocated", where, "integers from 0 whose product fits 63 bits",
               shape_to_string(dims));
  }
  return dims;
}

// Keeps the memory of an exported tensor alive: it outlives both tensor and session.
struct Exported {
  SessionRef open;
  DeviceTensor::Use held;

  Exported(SessionRef session, DeviceTensor::Use use)
      : open(std::move(session)), held(std::move(use)) {
    open->share(held.tensor.storage->id());
  }
  ~Exported() {
    if (!Py_IsInitialized()) return;
    py::gil_scoped_acquire locked;
    open->unshare(held.tensor.storage->id());
    held.tensor.storage.reset();
    open.reset();
  }
};

// The address of the tensor's elements, null if they are not visible to the host. Waits until all
// writes to them are done.
std::byte* visible_address(const DeviceTensor::Use& use) {
  std::byte* base = use.session->host_address(use.tensor.storage->buffer());
  if (!base) return nullptr;
  without_interpreter([&] { wait_for(*use.session); });
  return base + use.tensor.offset;
}

HostTensor read(const DeviceTensor::Use& use) {
  return without_interpreter([&] {
    wait_for(*use.session);
    return unwrap(runtime::download(use.tensor));
  });
}

std::string why_not_visible(const OpenSession& open) {
  return open.target().endpoint.empty()
             ? "the memory of " + open.target().description.platform + " is not the host's"
             : "the tensor is at " + open.target().endpoint;
}

py::object numpy(const DeviceTensor& tensor, const py::object& dtype, std::optional<bool> copy,
                 bool writable) {
  DeviceTensor::Use use = tensor.use();
  const DType own = tensor.dtype();
  const DType wanted = dtype.is_none() ? own : dtype_of(dtype, "numpy(dtype=...)");
  to_numpy(wanted);  // validates the dtype before anything is read
  std::byte* address = visible_address(use);
  std::string why;
  if (wanted != own) {
    why = std::string("the elements are ") + dtype_name(own) + ", not " + dtype_name(wanted);
  } else if (!address) {
    why = why_not_visible(*tensor.open());
  }
  if (copy == false && !why.empty()) {
    throw_user("the array would be a copy", "numpy(copy=False)", "", why);
  }
  if (why.empty() && copy != true) {
    HostTensor shared = HostTensor::view(own, use.tensor.shape, address, nullptr);
    return as_numpy(shared, std::make_shared<Exported>(tensor.open(), std::move(use)), writable);
  }
  HostTensor host = read(use);
  if (wanted == own) {
    auto owner = std::make_shared<HostTensor>(host);
    return as_numpy(host, owner, true);
  }
  if (own != DType::kBF16 && wanted != DType::kBF16) {
    auto owner = std::make_shared<HostTensor>(host);
    return as_numpy(host, owner, true).attr("astype")(to_numpy(wanted));
  }
  HostTensor made = converted(host, wanted);
  return as_numpy(made, std::make_shared<HostTensor>(made), true);
}

py::capsule dlpack(const DeviceTensor& tensor, const py::object& copy) {
  DeviceTensor::Use use = tensor.use();
  HostArray array;
  array.dtype = tensor.dtype();
  array.shape.assign(tensor.shape().begin(), tensor.shape().end());
  const bool copied = !copy.is_none() && copy.cast<bool>();
  if (std::byte* address = visible_address(use); address && !copied) {
    array.data = address;
    array.owner = std::make_shared<Exported>(tensor.open(), std::move(use));
    return give_dlpack(std::move(array));
  }
  if (!copy.is_none() && !copied) {
    const std::string why = why_not_visible(*tensor.open());
    PyErr_SetString(PyExc_BufferError, why.c_str());
    throw py::error_already_set();
  }
  auto host = std::make_shared<HostTensor>(read(use));
  array.data = host->mutable_bytes().data();
  array.owner = host;
  return give_dlpack(std::move(array));
}

void write(const DeviceTensor& tensor, const py::object& x) {
  DeviceTensor::Use use = tensor.use();
  TakenArray taken = take_array(x, {}, "write(x)");
  if (taken.array.dtype != tensor.dtype() ||
      !std::ranges::equal(taken.array.shape, std::span<const int64_t>(tensor.shape()))) {
    throw_user("the array does not fit the tensor", "write(x)",
               type_text(tensor.dtype(), tensor.shape()),
               type_text(taken.array.dtype, taken.array.shape));
  }
  HostTensor host = as_tensor(taken.array);
  without_interpreter([&] {
    unwrap(use.session->write(runtime::kDefaultStream,
                              {use.tensor.storage->buffer(), use.tensor.offset}, host.bytes()));
    use.tensor.storage->written(use.tensor.offset, use.tensor.byte_size());
  });
}

std::unique_ptr<DeviceTensor> copied_to(const DeviceTensor& tensor, const SessionRef& open) {
  DeviceTensor::Use use = tensor.use();
  std::shared_ptr<runtime::Session> target = open->use();
  runtime::Tensor made = without_interpreter([&] {
    const Shape shape = use.tensor.shape;
    if (target != use.session) {
      wait_for(*use.session);
      return unwrap(runtime::upload(*target, unwrap(runtime::download(use.tensor))));
    }
    runtime::Tensor copy = unwrap(runtime::make_tensor(*target, use.tensor.dtype, shape));
    unwrap(target->copy(runtime::kDefaultStream, {use.tensor.storage->buffer(), use.tensor.offset},
                        {copy.storage->buffer(), 0}, use.tensor.byte_size()));
    copy.storage->written();
    return copy;
  });
  return std::make_unique<DeviceTensor>(open, std::move(made));
}

std::unique_ptr<DeviceTensor> viewed_as(const DeviceTensor& tensor, const py::object& dtype) {
  DeviceTensor::Use use = tensor.use();
  const DType wanted = dtype_of(dtype, "view(dtype)");
  if (dtype_bytes(wanted) != dtype_bytes(use.tensor.dtype)) {
    throw_user("a view needs a dtype of the same size", "view(dtype)",
               "a dtype of " + std::to_string(dtype_bytes(use.tensor.dtype)) + " bytes",
               dtype_name(wanted));
  }
  runtime::Tensor view = use.tensor;
  view.dtype = wanted;
  return std::make_unique<DeviceTensor>(tensor.open(), std::move(view));
}

std::unique_ptr<DeviceTensor> allocate(const py::object& shape, const py::object& dtype,
                                       const py::object& device) {
  const SessionRef open = session_of(device, "allocate(shape, dtype, device)");
  const Shape dims = shape_of(shape, "allocate(shape, dtype, device)");
  const DType element = dtype_of(dtype, "allocate(shape, dtype, device)");
  auto session = open->use();
  runtime::Tensor made =
      without_interpreter([&] { return unwrap(runtime::make_tensor(*session, element, dims)); });
  return std::make_unique<DeviceTensor>(open, std::move(made));
}

std::unique_ptr<DeviceTensor> tensor(const py::object& x, const py::object& device,
                                     const py::object& dtype, std::optional<bool> copy) {
  std::optional<DType> wanted;
  if (!dtype.is_none()) wanted = dtype_of(dtype, "tensor(x, device, dtype=...)");
  return make_tensor(x, session_of(device, "tensor(x, device)"), wanted, copy, "tensor(x, device)");
}

}  // namespace

std::string type_text(DType dtype, std::span<const int64_t> shape) {
  return dtype_name(dtype) + shape_to_string(shape);
}

const DeviceTensor* as_device_tensor(const py::object& x) {
  return py::isinstance<DeviceTensor>(x) ? x.cast<const DeviceTensor*>() : nullptr;
}

DeviceTensor::Use DeviceTensor::use() const {
  if (!tensor_.storage) throw_closed("tensor");
  return {session_, tensor_};
}

std::unique_ptr<DeviceTensor> make_tensor(const py::object& x, const SessionRef& open,
                                          std::optional<DType> dtype, std::optional<bool> copy,
                                          const char* where) {
  if (const DeviceTensor* given = as_device_tensor(x)) {
    if (dtype && *dtype != given->dtype()) {
      return make_tensor(numpy(*given, py::none(), {}, false), open, dtype, copy, where);
    }
    const bool here = given->open() == open;
    if (here && copy != true) return std::make_unique<DeviceTensor>(open, given->use().tensor);
    if (!here && copy == false) {
      throw_user("the tensor would be a copy", where, "a tensor of " + open->target().text,
                 "one of " + given->open()->target().text);
    }
    return copied_to(*given, open);
  }
  auto session = open->use();
  TakenArray taken = take_array(x, dtype, where);
  runtime::LocalSession* local = session->local();
  // Code that the host's processor runs uses this process's memory.
  const bool host_memory = local && !local->info().cpu.empty();
  const auto address = reinterpret_cast<uintptr_t>(taken.array.data);
  std::string why = taken.copied;
  if (why.empty() && !host_memory) why = why_not_visible(*open);
  if (why.empty() && !taken.array.writable) why = "the array is read-only, the tensor is not";
  if (why.empty() && address % dtype_bytes(taken.array.dtype) != 0) {
    why = "its elements are not aligned in memory";
  }
  if (copy == false && !why.empty()) {
    throw_user("the tensor would be a copy", where, "", why, "copy=None copies where it must");
  }
  HostTensor host = as_tensor(taken.array);
  if (why.empty() && copy != true && host.byte_size() > 0) {
    auto memory = device::wrap_host_memory(taken.array.data, static_cast<int64_t>(host.byte_size()),
                                           taken.array.owner);
    const runtime::BufferId buffer{session->new_handle()};
    unwrap(local->adopt(buffer, std::move(memory)));
    runtime::Tensor made{
        unwrap(runtime::Storage::adopt(*session, buffer, static_cast<int64_t>(host.byte_size()))),
        0, host.dtype(), host.shape()};
    return std::make_unique<DeviceTensor>(open, std::move(made));
  }
  runtime::Tensor made =
      without_interpreter([&] { return unwrap(runtime::upload(*session, host)); });
  return std::make_unique<DeviceTensor>(open, std::move(made));
}

void note_foreign_writes(const OpenSession& open, const runtime::Tensor& tensor) {
  if (open.is_shared(tensor.storage->id()) || device::is_wrapped(tensor.storage->memory())) {
    tensor.storage->written();
  }
}

void bind_tensor(py::module_& module) {
  bind_memory(module);
  py::class_<DeviceTensor>(module, "Tensor", py::is_final(), R"doc(
A tensor on a session: compact, row-major.

Made by ``tapml.tensor`` and ``tapml.allocate``, and returned by compiled functions, which enqueue
their work; reading the elements waits for it.)doc")
      .def_property_readonly(
          "shape", [](const DeviceTensor& t) { return shape_tuple(t.shape()); },
          "A tuple of integers.")
      .def_property_readonly(
          "dtype", [](const DeviceTensor& t) { return dtype_name(t.dtype()); },
          "``\"f32\"``, ``\"bf16\"``, ``\"bool\"``, ...")
      .def_property_readonly("ndim", [](const DeviceTensor& t) { return t.shape().size(); })
      .def_property_readonly("size", [](const DeviceTensor& t) { return element_count(t.shape()); })
      .def_property_readonly("nbytes",
                             [](const DeviceTensor& t) {
                               return element_count(t.shape()) *
                                      static_cast<int64_t>(dtype_bytes(t.dtype()));
                             })
      .def_property_readonly(
          "device", [](const DeviceTensor& t) { return t.open(); }, "Its session.")
      .def("numpy", &numpy, py::kw_only(), py::arg("dtype") = py::none(),
           py::arg("copy") = py::none(), py::arg("writable") = false, R"doc(
The elements as a NumPy array.

On a cpu session of this process the array shares the tensor's memory (read-only unless
``writable``) and keeps it alive; on other devices, with ``copy=True`` and with another ``dtype`` it
is a copy. ``copy=False`` raises tapml.UserError if a copy would be made. bf16 needs the package
ml_dtypes, or ``dtype="f32"``.)doc")
      .def(
          "__array__",
          [](const DeviceTensor& t, const py::object& dtype, std::optional<bool> copy) {
            return numpy(t, dtype, copy, false);
          },
          py::arg("dtype") = py::none(), py::arg("copy") = py::none())
      .def(
          "__dlpack__",
          [](const DeviceTensor& t, const py::object&, const py::object&, const py::object&,
             const py::object& copy) { return dlpack(t, copy); },
          py::kw_only(), py::arg("stream") = py::none(), py::arg("max_version") = py::none(),
          py::arg("dl_device") = py::none(), py::arg("copy") = py::none())
      .def("__dlpack_device__", [](const DeviceTensor&) { return py::make_tuple(1, 0); })
      .def("write", &write, py::arg("x"), R"doc(
Copies the elements of ``x``, of the same dtype and shape, to the tensor.)doc")
      .def(
          "to",
          [](py::object self, const py::object& device) {
            const auto& t = self.cast<const DeviceTensor&>();
            SessionRef open = session_of(device, "to(device)");
            if (open == t.open()) return self;
            return py::cast(copied_to(t, open));
          },
          py::arg("device"), "A copy on another session; the tensor itself if it is already there.")
      .def(
          "copy", [](const DeviceTensor& t) { return copied_to(t, t.open()); },
          "A tensor with a copy of the elements.")
      .def("view", &viewed_as, py::arg("dtype"),
           "A tensor that shares the memory, with another dtype of the same size.")
      .def("__len__",
           [](const DeviceTensor& t) {
             if (t.shape().empty()) {
               throw py::type_error("a tensor of rank 0 has no length");
             }
             return t.shape()[0];
           })
      .def("__repr__", [](const DeviceTensor& t) {
        return "<tapml.Tensor " + type_text(t.dtype(), t.shape()) + " on " +
               in_quotes(t.open()->target().text) + (t.open()->closed() ? ", closed>" : ">");
      });
  module.def("tensor", &tensor, py::arg("x"), py::arg("device"), py::arg("dtype") = py::none(),
             py::kw_only(), py::arg("copy") = py::none());
  module.def("allocate", &allocate, py::arg("shape"), py::arg("dtype"), py::arg("device"));
}

}  // namespace tapml::python
