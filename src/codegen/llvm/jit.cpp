#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/TargetParser/Host.h>

#include <sstream>

#include "codegen/llvm/native.h"

namespace tapml::codegen {

namespace {

class JitCode : public runtime::HostCode {
 public:
  explicit JitCode(std::unique_ptr<llvm::orc::LLJIT> jit) : jit_(std::move(jit)) {}

  Result<runtime::CpuKernel> find(const std::string& entry) noexcept override {
    auto address = jit_->lookup(entry);
    if (!address) {
      return fail(internal_error("no kernel entry \"" + entry +
                                 "\": " + llvm::toString(address.takeError())));
    }
    return address->toPtr<runtime::CpuKernel>();
  }

 private:
  std::unique_ptr<llvm::orc::LLJIT> jit_;
};

// The first "+feature" of `features` that this machine lacks; empty when it has all.
std::string missing_feature(const std::string& features) {
  auto host = llvm::sys::getHostCPUFeatures();
  std::istringstream stream(features);
  std::string feature;
  while (std::getline(stream, feature, ',')) {
    if (feature.size() < 2 || feature[0] != '+') continue;
    auto it = host.find(feature.substr(1));
    if (it == host.end() || !it->second) return feature.substr(1);
  }
  return "";
}

class JitLoader : public runtime::KernelLoader {
 public:
  Result<std::shared_ptr<runtime::HostCode>> load(const ModuleBlob& blob) noexcept override {
    if (blob.platform != "cpu" || blob.format != "elf-object") {
      return fail(internal_error("the cpu loader takes elf-object modules",
                                 blob.platform + " module of format " + blob.format));
    }
    if (std::string missing = missing_feature(blob.features); !missing.empty()) {
      return fail(
          platform_error(PlatformFault::kAbsent,
                         "code was built for a CPU with " + missing + ", which this machine lacks",
                         "module for " + blob.cpu, "compile it again on this machine"));
    }
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    auto jit = llvm::orc::LLJITBuilder().create();
    if (!jit) return fail(internal_error("no JIT: " + llvm::toString(jit.takeError())));
    auto buffer = llvm::MemoryBuffer::getMemBufferCopy(
        llvm::StringRef(reinterpret_cast<const char*>(blob.bytes.data()), blob.bytes.size()),
        "tapml");
    if (auto error = (*jit)->addObjectFile(std::move(buffer))) {
      return fail(internal_error("object does not load: " + llvm::toString(std::move(error))));
    }
    return std::shared_ptr<runtime::HostCode>(std::make_shared<JitCode>(std::move(*jit)));
  }
};

}  // namespace

std::shared_ptr<runtime::KernelLoader> make_jit_loader() { return std::make_shared<JitLoader>(); }

}  // namespace tapml::codegen
