#include "runtime/host/shared_object.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/host/cpu_features.h"

namespace tapml::runtime {

namespace {

// A shared object in this process. Its descriptor stays open: the loader identifies an object by
// the name that it was opened with, so /proc/self/fd/N must not be reused for another one.
class SharedObject : public HostCode {
 public:
  SharedObject(void* handle, int descriptor) : handle_(handle), descriptor_(descriptor) {}
  ~SharedObject() override {
    ::dlclose(handle_);
    ::close(descriptor_);
  }

  Result<CpuKernel> find(const std::string& entry) noexcept override {
    void* address = ::dlsym(handle_, entry.c_str());
    if (!address) return fail(internal_error("no kernel entry \"" + entry + "\""));
    return reinterpret_cast<CpuKernel>(address);
  }

 private:
  void* handle_;
  int descriptor_;
};

// Returns errno, or 0.
int write_all(int descriptor, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return 0;
}

Error not_loaded(const ModuleBlob& blob, std::string why) {
  return platform_error(PlatformFault::kAbsent, "machine code cannot be loaded: " + std::move(why),
                        blob.platform);
}

class SharedObjectLoader : public KernelLoader {
 public:
  Result<std::shared_ptr<HostCode>> load(const ModuleBlob& blob) noexcept override {
    if (blob.format != kSharedObjectFormat) {
      return fail(internal_error("this loader supports only shared objects",
                                 blob.platform + " module of format " + blob.format));
    }
    TAPML_TRY(check_host_code(blob));
    int descriptor = ::memfd_create("tapml", MFD_CLOEXEC);
    if (descriptor < 0) return fail(not_loaded(blob, std::strerror(errno)));
    if (int error = write_all(descriptor, blob.bytes)) {
      ::close(descriptor);
      return fail(not_loaded(blob, std::strerror(error)));
    }
    std::string path = "/proc/self/fd/" + std::to_string(descriptor);
    void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
      const char* why = ::dlerror();
      ::close(descriptor);
      return fail(not_loaded(blob, why ? why : "no reason given"));
    }
    return std::shared_ptr<HostCode>(std::make_shared<SharedObject>(handle, descriptor));
  }
};

}  // namespace

Status check_host_code(const ModuleBlob& blob) {
  if (blob.cpu != cpu_architecture()) {
    return fail(
        platform_error(PlatformFault::kAbsent,
                       "code was built for " + blob.cpu + ", this machine is " + cpu_architecture(),
                       "module for " + blob.cpu, "compile it again on this machine"));
  }
  if (std::string missing = missing_cpu_feature(blob.features); !missing.empty()) {
    return fail(
        platform_error(PlatformFault::kAbsent,
                       "code was built for a CPU with " + missing + ", which this machine lacks",
                       "module for " + blob.cpu, "compile it again on this machine"));
  }
  return {};
}

std::shared_ptr<KernelLoader> make_shared_object_loader() {
  return std::make_shared<SharedObjectLoader>();
}

}  // namespace tapml::runtime
