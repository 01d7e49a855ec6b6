// C, compiled to shared objects by the system's compiler.
#include <cstdlib>
#include <set>

#include "base/host/cpu_features.h"
#include "codegen/custom/languages.h"
#include "codegen/source/emitter.h"
#include "io/host/command.h"
#include "io/host/files.h"
#include "io/host/scratch_folder.h"
#include "ir/exceptions.h"
#include "runtime/host/shared_object.h"

namespace tapml::codegen {

namespace {

constexpr std::chrono::seconds kLongestCompilation{120};

// Compiles C with the system's compiler, for this machine's processor.
ModuleBlob compile_c(const CustomSource& source, const target::Target& target,
                     const std::function<bool()>& cancelled) {
  const std::string& architecture = target.description.processor.architecture;
  if (architecture != cpu_architecture()) {
    throw_user("the system's cc compiles only for this machine", source.file,
               "a target with a processor of " + std::string(cpu_architecture()), architecture,
               "run tapml on the target's machine");
  }
  const ScratchFolder folder = unwrap(ScratchFolder::create("kernel"));
  const std::string header = folder.file("entries.h"), object = folder.file("kernel.so");
  unwrap(write_text_atomic(header, custom_c().declarations(source)));
  const char* compiler = std::getenv("CC");
  std::vector<std::string> command = {compiler && *compiler ? compiler : "cc"};
  command.insert(command.end(), {"-x", "c", "-std=gnu17", "-O2", "-fPIC", "-shared", "-Wl,-z,defs",
                                 "-fdiagnostics-color=never"});
  // A remote device may have another processor of the same architecture.
  if (target.endpoint.empty()) command.emplace_back("-march=native");
  command.insert(command.end(), {"-include", header, "-o", object, source.file, "-lm"});
  auto result = run_command(std::move(command), kLongestCompilation, cancelled);
  if (!result) {
    Error error = result.error();
    if (error.fault == PlatformFault::kAbsent) {
      error.hint =
          "install Debian's package gcc, or set the environment variable CC to another compiler";
    }
    throw_error(std::move(error));
  }
  if (result->exit_code != 0) refuse_custom_source(source, target, result->output);
  ModuleBlob blob;
  blob.platform = target.description.platform;
  blob.format = runtime::kSharedObjectFormat;
  blob.cpu = architecture;
  const MappedFile file = unwrap(map_file(object));
  blob.bytes.assign(file.bytes.begin(), file.bytes.end());
  return blob;
}

class CustomC : public CustomKernels {
 public:
  // The C library's functions compute in double.
  bool calls_functions() const override { return true; }
  std::string skeleton(const std::vector<DeviceFunc>& launches,
                       const target::Target&) const override {
    return emit_source(launches, host_c_dialect(), Readers::kPeople);
  }
  std::string declarations(const CustomSource& source) const override {
    std::string text = "#include <stdint.h>\n";
    std::set<std::string> declared;
    for (const CustomLaunch& launch : source.launches) {
      if (!declared.insert(launch.entry).second) continue;
      text += "void " + launch.entry +
              "(void* const* buffers, const int64_t* scalars, int64_t begin, int64_t end);\n";
    }
    return text;
  }
  ModuleBlob compile(const CustomSource& source, const target::Target& target,
                     const std::function<bool()>& cancelled) const override {
    return compile_c(source, target, cancelled);
  }
};

}  // namespace

const CustomKernels& custom_c() {
  static const CustomC kLanguage;
  return kLanguage;
}

}  // namespace tapml::codegen
