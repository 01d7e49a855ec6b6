// Links objects to a shared object with lld, which is part of this program.
#include <lld/Common/Driver.h>
#include <llvm/Support/raw_ostream.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <mutex>
#include <sstream>

#include "codegen/llvm/archive.h"
#include "codegen/llvm/native.h"
#include "codegen/llvm/target_machine.h"
#include "io/host/scratch_folder.h"
#include "ir/exceptions.h"
#include "runtime/host/shared_object.h"

LLD_HAS_DRIVER(elf)
LLD_HAS_DRIVER(wasm)

namespace tapml::codegen {

namespace {

// An in-memory file with a name that lld can open.
class MemoryFile {
 public:
  explicit MemoryFile(const char* name) : descriptor_(::memfd_create(name, MFD_CLOEXEC)) {
    if (descriptor_ < 0) failed("cannot create a file in memory");
  }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

  void write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) failed("cannot write a file in memory");
      bytes = bytes.subspan(static_cast<size_t>(written));
    }
  }

 private:
  [[noreturn]] static void failed(const char* what) {
    throw_platform(PlatformFault::kOutOfMemory, std::string(what) + ": " + std::strerror(errno));
  }

  int descriptor_;
};

std::vector<std::byte> read_output(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  std::string content = std::move(text).str();
  auto bytes = std::as_bytes(std::span(content));
  return {bytes.begin(), bytes.end()};
}

// A shared module with no content, since lld does not link one for WebAssembly without an object:
// the magic number, the version, and the section that marks the module as shared.
std::vector<std::byte> empty_wasm_module() {
  constexpr std::string_view kModule(
      "\0asm\1\0\0\0\0\x09\x08"
      "dylink.0",
      19);
  auto bytes = std::as_bytes(std::span(kModule));
  return {bytes.begin(), bytes.end()};
}

}  // namespace

ModuleBlob link_shared(const ModuleBlob& archive) {
  if (archive.format == runtime::kSharedObjectFormat || archive.format == kWasmFormat) {
    return archive;
  }
  if (archive.format != kArchiveFormat) {
    throw_internal("only archives of objects are linked", archive.format);
  }
  const target::Architecture& architecture = known_architecture({archive.cpu, archive.features});
  const bool wasm = archive.platform == "wasm";
  ModuleBlob blob;
  blob.platform = archive.platform;
  blob.format = wasm ? kWasmFormat : runtime::kSharedObjectFormat;
  blob.entries = archive.entries;
  blob.cpu = archive.cpu;
  blob.features = archive.features;
  if (wasm && archive.entries.empty()) {
    blob.bytes = empty_wasm_module();
    return blob;
  }

  MemoryFile input("objects");
  input.write(archive.bytes);
  const ScratchFolder folder = unwrap(ScratchFolder::create("link"));
  std::string from = input.path(), to = folder.path() + "/kernels.so";
  // Calls to library functions (memset and the like) are resolved by the program that loads the
  // object.
  std::vector<const char*> arguments = {wasm ? "wasm-ld" : "ld.lld",
                                        "-shared",
                                        "-m",
                                        architecture.linker,
                                        "-o",
                                        to.c_str(),
                                        "--gc-sections",
                                        "--threads=1",
                                        "--whole-archive",
                                        from.c_str()};
  if (wasm) {
    // Keep function names: traps are reported with them.
    arguments.insert(arguments.end(), {"--experimental-pic", "--unresolved-symbols=import-dynamic",
                                       "--strip-debug"});
  } else {
    arguments.insert(arguments.end(), {"--strip-all", "--hash-style=gnu", "--build-id=none", "-z",
                                       "noexecstack", "-z", "relro", "-soname=tapml"});
  }
  static std::mutex mutex;  // lld keeps global state
  std::lock_guard lock(mutex);
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  lld::Result result = lld::lldMain(arguments, stream, stream,
                                    {{lld::Gnu, &lld::elf::link}, {lld::Wasm, &lld::wasm::link}});
  if (result.retCode != 0) throw_internal("lld: " + stream.str(), "linking kernels");
  blob.bytes = read_output(to);
  if (blob.bytes.empty()) throw_internal("lld wrote nothing", "linking kernels");
  return blob;
}

}  // namespace tapml::codegen
