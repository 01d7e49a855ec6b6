#include "dlpack.h"

#include <array>
#include <string>

namespace tapml::python {

namespace {

// The structures of DLPack's unversioned ABI, following its specification.
struct DlDevice {
  int32_t kind;
  int32_t id;
};
struct DlType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};
struct DlTensor {
  void* data;
  DlDevice device;
  int32_t ndim;
  DlType dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
};
struct DlManaged {
  DlTensor tensor;
  void* context;
  void (*deleter)(DlManaged*);
};

constexpr int32_t kCpu = 1;
constexpr const char* kFresh = "dltensor";
constexpr const char* kTaken = "used_dltensor";
constexpr int32_t kMostDims = 64;

struct Code {
  DType dtype;
  uint8_t code;
};
constexpr uint8_t kInt = 0, kUint = 1, kFloat = 2, kBfloat = 4, kBool = 6;
constexpr std::array<Code, 13> kCodes = {{{DType::kBool, kBool},
                                          {DType::kI8, kInt},
                                          {DType::kI16, kInt},
                                          {DType::kI32, kInt},
                                          {DType::kI64, kInt},
                                          {DType::kU8, kUint},
                                          {DType::kU16, kUint},
                                          {DType::kU32, kUint},
                                          {DType::kU64, kUint},
                                          {DType::kF16, kFloat},
                                          {DType::kBF16, kBfloat},
                                          {DType::kF32, kFloat},
                                          {DType::kF64, kFloat}}};

// Bits of an element in memory: bool is a byte.
uint8_t memory_bits(DType dtype) { return static_cast<uint8_t>(8 * dtype_bytes(dtype)); }

// Owns the contents of a capsule that tapml exported.
struct Given {
  DlManaged managed;
  HostArray array;
};

void release(DlManaged* managed) { delete static_cast<Given*>(managed->context); }

// Destructor of a capsule that was never consumed.
void drop_capsule(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, kFresh)) return;
  auto* managed = static_cast<DlManaged*>(PyCapsule_GetPointer(capsule, kFresh));
  if (managed && managed->deleter) managed->deleter(managed);
}

[[noreturn]] void refuse(const py::error_already_set& failure, const char* where) {
  throw_user("the array does not share its memory", where, "an array in the memory of the host",
             py::str(failure.value()).cast<std::string>(),
             "torch: x.detach().cpu(); else numpy.asarray(x)");
}

}  // namespace

bool HostArray::compact() const {
  if (strides.empty()) return true;
  int64_t expected = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 0) return true;
    if (shape[i] != 1 && strides[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

HostArray take_dlpack(const py::object& x, const char* where) {
  py::object given;
  try {
    if (py::hasattr(x, "__dlpack_device__")) {
      auto device = x.attr("__dlpack_device__")().cast<std::pair<int, int>>();
      if (device.first != kCpu) {
        throw_user("the array is not in the memory of the host", where, "DLPack device 1 (cpu)",
                   "DLPack device " + std::to_string(device.first),
                   "copy it to the host first, as x.cpu() does in PyTorch");
      }
    }
    given = x.attr("__dlpack__")();
  } catch (const py::error_already_set& failure) {
    refuse(failure, where);
  }
  if (!PyCapsule_IsValid(given.ptr(), kFresh)) {
    throw_user("__dlpack__() did not return a capsule", where, "a capsule \"dltensor\"");
  }
  auto* managed = static_cast<DlManaged*>(PyCapsule_GetPointer(given.ptr(), kFresh));
  const DlTensor& tensor = managed->tensor;
  HostArray array;
  bool known = false;
  for (const Code& code : kCodes) {
    if (tensor.dtype.code != code.code || tensor.dtype.bits != memory_bits(code.dtype)) continue;
    array.dtype = code.dtype;
    known = true;
  }
  // The capsule still owns the memory, so a refusal leaks nothing.
  if (!known || tensor.dtype.lanes != 1) {
    throw_user("the array's dtype is not supported", where, "one of tapml's dtypes",
               "DLPack type code " + std::to_string(tensor.dtype.code) + " of " +
                   std::to_string(tensor.dtype.bits) + " bits and " +
                   std::to_string(tensor.dtype.lanes) + " lanes");
  }
  if (tensor.device.kind != kCpu || tensor.ndim < 0 || tensor.ndim > kMostDims) {
    throw_user("__dlpack__() returned an array that is not in the memory of the host", where,
               "DLPack device 1 (cpu) and at most 64 dimensions");
  }
  for (int32_t i = 0; i < tensor.ndim; ++i) {
    array.shape.push_back(tensor.shape[i]);
    if (tensor.strides) array.strides.push_back(tensor.strides[i]);
  }
  unwrap(checked_byte_count(array.dtype, array.shape));
  array.data = static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
  array.owner = {managed, [](const void* taken) {
                   auto* held = static_cast<DlManaged*>(const_cast<void*>(taken));
                   if (!held->deleter || !Py_IsInitialized()) return;
                   py::gil_scoped_acquire locked;  // deleters of Python libraries require the GIL
                   held->deleter(held);
                 }};
  PyCapsule_SetName(given.ptr(), kTaken);
  PyCapsule_SetDestructor(given.ptr(), nullptr);
  return array;
}

py::capsule give_dlpack(HostArray array) {
  if (array.strides.empty()) {  // some readers require strides
    array.strides.assign(array.shape.size(), 1);
    for (size_t i = array.shape.size(); i-- > 1;) {
      array.strides[i - 1] = array.strides[i] * std::max<int64_t>(array.shape[i], 1);
    }
  }
  auto given = std::make_unique<Given>();
  given->array = std::move(array);
  HostArray& held = given->array;
  given->managed.tensor = {
      held.data,
      {kCpu, 0},
      static_cast<int32_t>(held.shape.size()),
      {kCodes[static_cast<size_t>(held.dtype)].code, memory_bits(held.dtype), 1},
      held.shape.data(),
      held.strides.data(),
      0};
  given->managed.context = given.get();
  given->managed.deleter = release;
  PyObject* capsule = PyCapsule_New(&given->managed, kFresh, drop_capsule);
  if (!capsule) throw py::error_already_set();
  given.release();  // now owned by the capsule or its consumer
  return py::reinterpret_steal<py::capsule>(capsule);
}

}  // namespace tapml::python
