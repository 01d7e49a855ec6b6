#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/Object/Archive.h>

#include "codegen/llvm/archive.h"
#include "codegen/llvm/native.h"
#include "codegen/llvm/target_machine.h"
#include "runtime/host/shared_object.h"

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

Error llvm_error(const char* what, llvm::Error error) {
  return internal_error(std::string(what) + ": " + llvm::toString(std::move(error)));
}

class JitLoader : public runtime::KernelLoader {
 public:
  Result<std::shared_ptr<runtime::HostCode>> load(const ModuleBlob& blob) noexcept override {
    if (blob.format == runtime::kSharedObjectFormat) return shared_objects_->load(blob);
    if (blob.format != kArchiveFormat) {
      return fail(internal_error("the loader takes archives and shared objects",
                                 blob.platform + " module of format " + blob.format));
    }
    TAPML_TRY(runtime::check_host_code(blob));
    initialize_back_ends();
    auto jit = llvm::orc::LLJITBuilder().create();
    if (!jit) return fail(llvm_error("no JIT", jit.takeError()));
    TAPML_TRY(add_objects(**jit, blob));
    return std::shared_ptr<runtime::HostCode>(std::make_shared<JitCode>(std::move(*jit)));
  }

 private:
  // Adds every member of the archive; each is linked when one of its entries is looked up.
  static Status add_objects(llvm::orc::LLJIT& jit, const ModuleBlob& blob) {
    llvm::MemoryBufferRef image(
        llvm::StringRef(reinterpret_cast<const char*>(blob.bytes.data()), blob.bytes.size()),
        "tapml");
    auto archive = llvm::object::Archive::create(image);
    if (!archive) return fail(llvm_error("archive does not load", archive.takeError()));
    llvm::Error walk = llvm::Error::success();
    Status status;
    for (const auto& member : (*archive)->children(walk)) {
      auto object = member.getBuffer();
      if (!object) {
        status = fail(llvm_error("archive does not load", object.takeError()));
        break;
      }
      // Copy the object: archive members are not aligned as objects must be.
      if (auto error = jit.addObjectFile(llvm::MemoryBuffer::getMemBufferCopy(*object, "tapml"))) {
        status = fail(llvm_error("object does not load", std::move(error)));
        break;
      }
    }
    if (walk) return fail(llvm_error("archive does not load", std::move(walk)));
    return status;
  }

  std::shared_ptr<runtime::KernelLoader> shared_objects_ = runtime::make_shared_object_loader();
};

}  // namespace

std::shared_ptr<runtime::KernelLoader> make_jit_loader() { return std::make_shared<JitLoader>(); }

}  // namespace tapml::codegen
