#include "topdown/kernels/user_module.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>

#include "base/host/cpu_features.h"
#include "base/strings.h"
#include "codegen/source/spirv.h"
#include "io/host/command.h"
#include "io/host/files.h"
#include "ir/exceptions.h"
#include "runtime/host/shared_object.h"

namespace tapml::topdown {

namespace {

constexpr size_t kLogLines = 30;
constexpr std::chrono::seconds kLongestCompilation{120};

// The first lines of a compiler's log.
std::string shortened_log(const std::string& log) {
  size_t end = 0;
  for (size_t i = 0; i < kLogLines && end != std::string::npos; ++i) {
    end = log.find('\n', end == 0 ? 0 : end + 1);
  }
  std::string text = log.substr(0, end);
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

std::vector<std::byte> bytes_of(const std::string& text) {
  auto bytes = std::as_bytes(std::span(text.data(), text.size()));
  return {bytes.begin(), bytes.end()};
}

std::string escaped_path(const std::string& path) {
  std::string text;
  for (char c : path) text += (c == '"' || c == '\\' ? std::string("\\") : "") + c;
  return text;
}

// A folder that goes with its scope.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "tapml-kernel-XXXXXX").string();
    if (!::mkdtemp(name.data())) {
      throw_user("cannot make a folder for the compiler's output", name, "a writable folder",
                 std::strerror(errno), "TMPDIR names another one");
    }
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::string file(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// C by the system's compiler, for this machine's processor.
ModuleBlob compile_c(const UserSource& source, const target::Target& target,
                     const std::function<bool()>& cancelled) {
  const std::string& architecture = target.description.processor.architecture;
  if (architecture != cpu_architecture()) {
    throw_user("the system's cc compiles for this machine only", source.file,
               "a target with a processor of " + std::string(cpu_architecture()), architecture,
               "run tapml on the machine of the target");
  }
  const ScratchFolder folder;
  const std::string header = folder.file("entries.h"), object = folder.file("kernel.so");
  unwrap(write_text_atomic(header, entry_declarations(source, target)));
  const char* compiler = std::getenv("CC");
  std::vector<std::string> command = {compiler && *compiler ? compiler : "cc"};
  command.insert(command.end(), {"-x", "c", "-std=gnu17", "-O2", "-fPIC", "-shared", "-Wl,-z,defs",
                                 "-fdiagnostics-color=never"});
  // Elsewhere may be another processor of the same architecture.
  if (target.place.empty()) command.emplace_back("-march=native");
  command.insert(command.end(), {"-include", header, "-o", object, source.file, "-lm"});
  auto result = run_command(std::move(command), kLongestCompilation, cancelled);
  if (!result) {
    Error error = result.error();
    if (error.fault == PlatformFault::kAbsent) {
      error.hint = "Debian's package gcc has cc; CC in the environment names another compiler";
    }
    throw_error(std::move(error));
  }
  if (result->exit_code != 0) refuse_user_source(source, target, result->output);
  ModuleBlob blob;
  blob.platform = "cpu";
  blob.format = runtime::kSharedObjectFormat;
  blob.cpu = architecture;
  const MappedFile file = unwrap(map_file(object));
  blob.bytes.assign(file.bytes.begin(), file.bytes.end());
  return blob;
}

// What a shader declares of its interface.
struct ShaderFacts {
  uint32_t group[3] = {1, 1, 1};
  uint32_t bindings = 0;    // the highest binding, plus one
  uint32_t push_words = 0;  // the last member of the push constants begins at word push_words - 1
};

ShaderFacts facts_of(const std::vector<uint32_t>& words) {
  // Numbers of the SPIR-V specification.
  constexpr uint32_t kExecutionMode = 16, kTypePointer = 32, kFunction = 54, kDecorate = 71,
                     kMemberDecorate = 72, kLocalSize = 17, kBinding = 33, kOffset = 35,
                     kPushConstants = 9, kHeaderWords = 5;
  ShaderFacts facts;
  std::set<uint32_t> pushed;                 // types of push constants
  std::map<uint32_t, uint32_t> last_offset;  // by type
  for (size_t at = kHeaderWords; at < words.size();) {
    const uint32_t length = words[at] >> 16, op = words[at] & 0xffff;
    if (length == 0 || length > words.size() - at) break;
    const uint32_t* w = &words[at];
    at += length;
    if (op == kExecutionMode && length >= 6 && w[2] == kLocalSize) {
      std::copy_n(w + 3, 3, facts.group);
    } else if (op == kDecorate && length >= 4 && w[2] == kBinding) {
      facts.bindings = std::max(facts.bindings, w[3] + 1);
    } else if (op == kMemberDecorate && length >= 5 && w[3] == kOffset) {
      last_offset[w[1]] = std::max(last_offset[w[1]], w[4]);
    } else if (op == kTypePointer && length >= 4 && w[2] == kPushConstants) {
      pushed.insert(w[3]);
    } else if (op == kFunction) {
      break;  // all that is read here stands before
    }
  }
  for (uint32_t type : pushed) {
    if (auto it = last_offset.find(type); it != last_offset.end()) {
      facts.push_words = std::max(facts.push_words, it->second / 4 + 1);
    }
  }
  return facts;
}

void check_shader(const UserSource& source, const UserLaunch& launch, const ShaderFacts& facts) {
  const std::string where = source.where(launch.line > 0 ? launch.line : source.line);
  if (facts.bindings > launch.buffers.size()) {
    throw_user("the shader has more bindings than its launch has tensors", where,
               std::to_string(launch.buffers.size()) + " at most, one a tensor of the launch",
               "binding " + std::to_string(facts.bindings - 1));
  }
  if (facts.push_words > launch.scalars.size() + 1) {
    throw_user("the shader has more push constants than its launch has scalars", where,
               "the extent and " + std::to_string(launch.scalars.size()) +
                   " scalars, 32 bits each, in the launch's order",
               std::to_string(facts.push_words) + " words");
  }
  const auto group = static_cast<uint32_t>(launch.group);
  if (facts.group[0] != group || facts.group[1] != 1 || facts.group[2] != 1) {
    throw_user("the shader's work groups are not those of its launch", where,
               "local_size_x = " + std::to_string(group),
               std::to_string(facts.group[0]) + " x " + std::to_string(facts.group[1]) + " x " +
                   std::to_string(facts.group[2]),
               "`in groups of N` of the header's launch says another size");
  }
}

ModuleBlob compile_shaders(const UserSource& source, const target::Target& target) {
  ModuleBlob blob;
  blob.platform = target.description.platform;
  blob.format = codegen::kSpirvFormat;
  for (size_t i = 0; i < source.launches.size(); ++i) {
    const UserLaunch& launch = source.launches[i];
    std::string log;
    const std::vector<uint32_t> words = codegen::try_compile_glsl(
        source.text, source.file, {{"TAPML_LAUNCH", std::to_string(i)}}, log);
    if (words.empty()) refuse_user_source(source, target, log);
    check_shader(source, launch, facts_of(words));
    const auto part = codegen::spirv_part(launch.buffers.size(), launch.scalars.size(), words);
    blob.bytes.insert(blob.bytes.end(), part.begin(), part.end());
  }
  return blob;
}

}  // namespace

void refuse_user_source(const UserSource& source, const target::Target& target,
                        const std::string& log) {
  if (log.find("conflicting types") != std::string::npos) {
    std::string expected = entry_declarations(source, target);
    while (expected.ends_with('\n')) expected.pop_back();
    throw_user("the parameters of a kernel are not those of its launch", source.file, expected,
               shortened_log(log), "docs/user-kernels.md says how kernels are called");
  }
  throw_user("this kernel does not compile for " + target.description.platform, source.file, "",
             shortened_log(log));
}

std::string module_entry(const UserSource& source, size_t number, const target::Target& target) {
  // All shaders are called main.
  const std::string& entry = source.launches[number].entry;
  if (target.description.code != target::CodeKind::kGlsl) return entry;
  return entry + "/" + std::to_string(number);
}

std::string entry_declarations(const UserSource& source, const target::Target& target) {
  std::string text;
  std::set<std::string> declared;
  const std::vector<tir::Param> tensors = source.tensors();
  if (target.description.code == target::CodeKind::kNative) text += "#include <stdint.h>\n";
  for (const UserLaunch& launch : source.launches) {
    if (!declared.insert(launch.entry).second) continue;
    if (target.description.code == target::CodeKind::kNative) {
      text += "void " + launch.entry +
              "(void* const* buffers, const int64_t* scalars, int64_t begin, int64_t end);\n";
      continue;
    }
    text += "__kernel void " + launch.entry + "(";
    for (int32_t buffer : launch.buffers) {
      text += "__global uchar* base_" + tensors.at(static_cast<size_t>(buffer)).buffer->name + ", ";
    }
    for (int32_t buffer : launch.buffers) {
      text += "long offset_" + tensors.at(static_cast<size_t>(buffer)).buffer->name + ", ";
    }
    for (int32_t scalar : launch.scalars) {
      text += "long " + source.signature->scalars.at(static_cast<size_t>(scalar))->name + ", ";
    }
    text += "long extent);\n";
  }
  return text;
}

ModuleBlob compile_user_module(const UserSource& source, const target::Target& target,
                               const std::function<bool()>& cancelled) {
  ModuleBlob blob;
  switch (target.description.code) {
    case target::CodeKind::kNative:
      blob = compile_c(source, target, cancelled);
      break;
    case target::CodeKind::kGlsl:
      blob = compile_shaders(source, target);
      break;
    default:
      blob.platform = target.description.platform;
      blob.format = "opencl-c";
      // The driver's log then speaks of the user's file and lines.
      blob.bytes = bytes_of(entry_declarations(source, target) + "#line 1 \"" +
                            escaped_path(source.file) + "\"\n" + source.text);
  }
  for (size_t i = 0; i < source.launches.size(); ++i) {
    const std::string entry = module_entry(source, i, target);
    if (std::find(blob.entries.begin(), blob.entries.end(), entry) == blob.entries.end()) {
      blob.entries.push_back(entry);
    }
  }
  return blob;
}

}  // namespace tapml::topdown
