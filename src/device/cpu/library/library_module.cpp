#include "device/cpu/library/library_module.h"

#include <array>
#include <map>

#include "device/inline/inline_kernel.h"
#include "exec/library_code.h"

namespace tapml::device {

namespace {

using runtime::DeviceKernel;
using runtime::DeviceModule;

constexpr size_t kMaxTensors = 64;
constexpr size_t kMaxDims = 64;  // all tensors of a call together
constexpr size_t kMessage = 512;

// A library with the state that it created for this module.
struct Opened {
  std::shared_ptr<const HostLibrary> library;
  void* state = nullptr;
  ~Opened() {
    if (library && library->table().close && state) library->table().close(state);
  }
};

DLDataType dl_type(DType dtype) {
  auto bits = static_cast<uint8_t>(8 * dtype_bytes(dtype));
  uint8_t code = kDLInt;
  if (dtype == DType::kBool) code = kDLBool;
  if (is_unsigned_integer(dtype)) code = kDLUInt;
  if (is_float(dtype)) code = dtype == DType::kBF16 ? kDLBfloat : kDLFloat;
  return {code, bits, 1};
}

class LibraryKernel final : public InlineKernel {
 public:
  LibraryKernel(LibraryCode code, const tapml_routine* routine, const RoutineSignature& signature,
                std::shared_ptr<Opened> opened, int threads)
      : code_(std::move(code)),
        routine_(routine),
        signature_(signature),
        opened_(std::move(opened)),
        threads_(threads) {}

  // Everything about a call but its dimensions is checked at load.
  Status check_types() const {
    auto tensors = [](const std::vector<LibraryTensor>& list) {
      std::vector<RoutineTensor> result;
      for (const LibraryTensor& one : list) result.push_back({one.dtype, one.dims.size()});
      return result;
    };
    return refuse(find_type_fault(signature_, tensors(code_.inputs), tensors(code_.outputs),
                                  code_.parameters.size()));
  }

  // Routines parallelize their work themselves.
  Status run(const runtime::LaunchArgs& args, Shares&) const noexcept override {
    if (args.extent <= 0) return {};
    std::array<DLTensor, kMaxTensors> tensors;
    std::array<int64_t, kMaxDims> dims;
    size_t next = 0, dim = 0;
    const size_t count = code_.inputs.size() + code_.outputs.size();
    if (args.buffers.size() != count || count > kMaxTensors) {
      return fail(internal_error("the launch has other buffers than the library call", where()));
    }
    for (const auto* list : {&code_.inputs, &code_.outputs}) {
      for (const LibraryTensor& tensor : *list) {
        if (dim + tensor.dims.size() > kMaxDims) {
          return fail(internal_error("the call has too many dimensions", where()));
        }
        int64_t* shape = dims.data() + dim;
        for (const ScalarProgram& program : tensor.dims) {
          TAPML_ASSIGN(dims[dim], evaluate(program, args.scalars));
          ++dim;
        }
        const runtime::BufferArg& buffer = args.buffers[next];
        TAPML_ASSIGN(int64_t bytes,
                     checked_byte_count(tensor.dtype, std::span(shape, tensor.dims.size())));
        if (bytes > buffer.memory->size() - buffer.offset) {
          return fail(internal_error("a buffer is smaller than its tensor", where()));
        }
        tensors[next++] = {buffer.memory->host_address() + buffer.offset,
                           {kDLCPU, 0},
                           static_cast<int32_t>(tensor.dims.size()),
                           dl_type(tensor.dtype),
                           shape,
                           nullptr,
                           0};
      }
    }
    TAPML_TRY(check_shapes({tensors.data(), count}));
    std::array<char, kMessage> message{};
    tapml_library_call call = {tensors.data(),
                               tensors.data() + code_.inputs.size(),
                               static_cast<int32_t>(code_.inputs.size()),
                               static_cast<int32_t>(code_.outputs.size()),
                               code_.parameters.data(),
                               static_cast<int32_t>(code_.parameters.size()),
                               threads_,
                               opened_->state,
                               message.data(),
                               message.size()};
    if (routine_->run(&call) == 0) return {};
    message.back() = 0;
    return fail(
        user_error("routine " + code_.routine + " of library " + code_.library +
                   " failed: " + (message[0] ? std::string(message.data()) : "no reason given")));
  }

 private:
  Status check_shapes(std::span<const DLTensor> tensors) const {
    const size_t inputs = code_.inputs.size();
    auto dims_of = [&](size_t i) -> std::optional<std::span<const int64_t>> {
      const bool is_input = i < signature_.inputs;
      if (is_input && i >= inputs) return {};
      const DLTensor& tensor = tensors[is_input ? i : i - signature_.inputs + inputs];
      return std::span<const int64_t>(tensor.shape, static_cast<size_t>(tensor.ndim));
    };
    return refuse(find_shape_fault<int64_t>(
        signature_, code_.parameters, dims_of, [](int64_t a, int64_t b) { return a != b; },
        [](int64_t dim) { return std::to_string(dim); }));
  }

  Status refuse(const std::optional<RoutineFault>& fault) const {
    if (!fault) return {};
    return fail(user_error(fault_message(signature_, code_.library + "." + code_.routine, *fault),
                           "kernel " + code_.entry, fault->expected, fault->found,
                           "its signature: " + signature_.text));
  }

  std::string where() const { return "library call of " + code_.library + "." + code_.routine; }

  LibraryCode code_;
  const tapml_routine* routine_;
  const RoutineSignature& signature_;  // of the library, which `opened_` keeps alive
  std::shared_ptr<Opened> opened_;
  int threads_;
};

class LibraryModule final : public DeviceModule {
 public:
  std::map<std::string, std::shared_ptr<DeviceKernel>> kernels;
  Result<std::shared_ptr<DeviceKernel>> kernel(const std::string& entry) noexcept override {
    auto it = kernels.find(entry);
    if (it != kernels.end()) return it->second;
    return fail(internal_error("the module has no entry " + entry));
  }
};

Result<std::shared_ptr<Opened>> open(const std::string& name, const HostLibraries& libraries,
                                     int threads) {
  auto opened = std::make_shared<Opened>();
  for (const auto& library : libraries) {
    if (library->name() == name) opened->library = library;
  }
  if (!opened->library) {
    TAPML_ASSIGN(opened->library, built_in_library(name));
  }
  const tapml_library& table = opened->library->table();
  if (!table.open) return opened;
  std::array<char, kMessage> message{};
  opened->state = table.open(threads, message.data(), message.size());
  if (opened->state) return opened;
  message.back() = 0;
  return fail(platform_error(PlatformFault::kAbsent, "library " + name + " is not available", "cpu",
                             message[0] ? std::string(message.data()) : "no reason given"));
}

}  // namespace

Result<std::shared_ptr<DeviceModule>> load_library_module(const ModuleBlob& blob,
                                                          const HostLibraries& libraries,
                                                          int threads) noexcept {
  TAPML_ASSIGN(std::vector<LibraryCode> code, read_library_module(blob));
  auto module = std::make_shared<LibraryModule>();
  std::map<std::string, std::shared_ptr<Opened>> opened;
  for (LibraryCode& one : code) {
    auto [known, fresh] = opened.try_emplace(one.library);
    if (fresh) {
      TAPML_ASSIGN(known->second, open(one.library, libraries, threads));
    }
    const tapml_routine* routine = known->second->library->find(one.routine);
    if (!routine) {
      return fail(platform_error(PlatformFault::kAbsent,
                                 "library " + one.library + " has no routine " + one.routine,
                                 "cpu"));
    }
    std::string entry = one.entry;
    const RoutineSignature& signature = known->second->library->routines().at(one.routine);
    auto kernel =
        std::make_shared<LibraryKernel>(std::move(one), routine, signature, known->second, threads);
    TAPML_TRY(kernel->check_types());
    module->kernels[entry] = std::move(kernel);
  }
  return module;
}

}  // namespace tapml::device
