#include "toy_platform.h"

#include <unistd.h>

#include <filesystem>

#include "base/host/cpu_features.h"
#include "codegen/code_generator.h"
#include "codegen/custom/custom_kernels.h"
#include "codegen/source/emitter.h"
#include "codegen/source/host_c.h"
#include "device/inline/inline_kernel.h"
#include "device/inline/inline_memory.h"
#include "device/inline/inline_queue.h"
#include "device/open.h"
#include "io/host/command.h"
#include "io/host/files.h"
#include "ir/exceptions.h"
#include "runtime/host/shared_object.h"
#include "target/features.h"

namespace tapml::testing {

namespace {

constexpr const char* kName = "toy";

// ---- the description

target::Description describe_toy() {
  target::Description d;
  d.platform = kName;
  d.doc = "Toy C by the system's cc, in this process";
  d.code = "toy-c";
  d.compiles_to = "Toy C";
  set_processor(d, {cpu_architecture(), ""});
  d.features = target::f32_features();
  d.options = {"threads"};
  d.kernel_language = {"Toy C", ".toy"};
  return d;
}

// ---- the language: kernels have their own keyword, and nothing else is visible outside

class ToyDialect : public codegen::HostC {
 public:
  std::string prelude(const std::string& functions) const override {
    return "#define kernel __attribute__((visibility(\"default\"))) void\n" +
           HostC::prelude(functions);
  }
  std::string begin_kernel(const codegen::DeviceFunc& function,
                           const codegen::KernelNames& names) const override {
    const std::string text = HostC::begin_kernel(function, names);
    return "kernel" + text.substr(text.find(' '));
  }
};

// ---- the code generator

class ScratchFolder {
 public:
  ScratchFolder() : path_(std::filesystem::temp_directory_path() / "tapml-toy-XXXXXX") {
    if (!::mkdtemp(path_.data())) throw_internal("no temporary folder", path_);
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string file(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// A shared object without file names in it, so that equal text gives equal bytes. Empty if cc
// rejects the text, with the reason in `log`.
std::vector<std::byte> compile_toy(const std::string& source, std::string& log) {
  const ScratchFolder folder;
  const std::string text = folder.file("kernels.c"), object = folder.file("kernels.so");
  unwrap(write_text_atomic(text, source));
  const CommandResult result =
      unwrap(run_command({"cc", "-std=gnu17", "-O1", "-ffp-contract=off", "-fPIC", "-shared", "-s",
                          "-fvisibility=hidden", "-o", object, text, "-lm"},
                         std::chrono::minutes(2)));
  log = result.output;
  if (result.exit_code != 0) return {};
  const MappedFile file = unwrap(map_file(object));
  return {file.bytes.begin(), file.bytes.end()};
}

ModuleBlob toy_module(const target::Target& target, std::vector<std::byte> bytes) {
  ModuleBlob blob = codegen::empty_module({}, target, runtime::kSharedObjectFormat);
  blob.cpu = target.description.processor.architecture;
  blob.bytes = std::move(bytes);
  return blob;
}

class ToyKernels : public codegen::CustomKernels {
 public:
  std::string skeleton(const std::vector<codegen::DeviceFunc>& launches,
                       const target::Target&) const override {
    return codegen::emit_source(launches, dialect_, codegen::Readers::kPeople);
  }
  ModuleBlob compile(const codegen::CustomSource& source, const target::Target& target,
                     const std::function<bool()>&) const override {
    std::string log;
    std::vector<std::byte> bytes = compile_toy(source.text, log);
    if (bytes.empty()) codegen::refuse_custom_source(source, target, log);
    return toy_module(target, std::move(bytes));
  }

 private:
  ToyDialect dialect_;
};

class ToyGenerator : public codegen::CodeGenerator {
 public:
  std::unique_ptr<codegen::KernelCompiler> compiler(const target::Target&, int) const override {
    return codegen::serial_compiler([this](const std::vector<codegen::DeviceFunc>& launches) {
      return codegen::bytes_of(codegen::emit_functions(launches, dialect_));
    });
  }

  ModuleBlob link(const std::vector<codegen::KernelCode>& kernels,
                  const target::Target& target) const override {
    std::string functions;
    for (const codegen::KernelCode& kernel : kernels) {
      functions.append(reinterpret_cast<const char*>(kernel.bytes.data()), kernel.bytes.size());
    }
    std::string log;
    std::vector<std::byte> bytes = compile_toy(dialect_.prelude(functions) + functions, log);
    if (bytes.empty()) throw_internal("generated Toy C does not compile: " + log, kName);
    ModuleBlob blob = toy_module(target, std::move(bytes));
    blob.entries = codegen::empty_module(kernels, target, blob.format).entries;
    return blob;
  }

  std::string language() const override { return "toy-c"; }
  std::string source_text(const std::vector<codegen::DeviceFunc>& launches,
                          const target::Target&) const override {
    return codegen::emit_source(launches, dialect_);
  }

  const codegen::CustomKernels* custom_kernels() const override { return &custom_; }

 private:
  ToyDialect dialect_;
  ToyKernels custom_;
};

// ---- the device

class OneThread : public device::Shares {
 public:
  void run(runtime::CpuKernel function, void* const* buffers, const int64_t* scalars,
           int64_t extent, int64_t) noexcept override {
    function(buffers, scalars, 0, extent);
  }
};

class ToyDevice : public runtime::Device {
 public:
  ToyDevice() {
    info_.platform = kName;
    info_.name = "this process";
    info_.kind = DeviceKind::kProcessor;
    info_.cpu = cpu_architecture();
    info_.limits = describe_toy().limits;
    info_.limits.max_workgroup_threads = 1 << 20;  // work groups have no effect
    info_.features = describe_toy().features;
  }

  const DeviceInfo& info() const noexcept override { return info_; }
  Result<std::shared_ptr<runtime::DeviceMemory>> allocate(int64_t bytes) noexcept override {
    if (auto memory = device::allocate_inline(bytes)) return memory;
    return fail(platform_error(PlatformFault::kOutOfMemory, "no memory", kName));
  }
  Result<std::shared_ptr<runtime::DeviceModule>> load(const ModuleBlob& blob) noexcept override {
    if (blob.platform != kName) {
      return fail(internal_error("a module for " + blob.platform + " is loaded on toy"));
    }
    TAPML_ASSIGN(auto code, loader_->load(blob));
    return device::inline_module(std::move(code));
  }
  Result<std::unique_ptr<runtime::DeviceQueue>> create_queue() noexcept override {
    return device::inline_queue(std::make_unique<OneThread>());
  }

 private:
  DeviceInfo info_;
  std::shared_ptr<runtime::KernelLoader> loader_ = runtime::make_shared_object_loader();
};

device::OpenedDevice open_toy(const device::OpenOptions&) noexcept {
  return std::make_shared<ToyDevice>();
}

}  // namespace

target::PlatformTable with_toy_platform() {
  static const ToyGenerator kGenerator;
  target::PlatformTable table = target::platforms();
  table.push_back({describe_toy(), &kGenerator, open_toy});
  return table;
}

}  // namespace tapml::testing
