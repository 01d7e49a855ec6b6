#include "app/executable.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "codegen/code_generators.h"
#include "exec/sections.h"
#include "frontend/gguf/model.h"
#include "frontend/huggingface/folder.h"
#include "frontend/huggingface/weights.h"
#include "io/host/files.h"
#include "ir/exceptions.h"
#include "models/quantization.h"
#include "pipeline/compile.h"
#include "pipeline/kernel_cache.h"
#include "text/printer.h"

namespace tapml::app {

namespace {

namespace fs = std::filesystem;

// WeightRecord::quantization of a weight that stays as its file stores it.
constexpr const char* kAsStored = "stored";
constexpr const char* kAsStoredTransposed = "stored transposed";  // WeightSpec::transposed

// Sizes and modification times of the weight files in a folder, by name, or of a GGUF file.
std::vector<WeightFile> weight_files(const std::string& folder) {
  std::vector<WeightFile> files;
  const auto add = [&](const fs::path& path) {
    struct stat info = {};
    if (::stat(path.c_str(), &info) != 0) return;
    files.push_back({path.filename().string(), static_cast<int64_t>(info.st_size),
                     int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec});
  };
  if (frontend::is_gguf_model(folder)) add(folder);
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == ".safetensors") add(it->path());
  }
  std::sort(files.begin(), files.end(),
            [](const WeightFile& a, const WeightFile& b) { return a.name < b.name; });
  return files;
}

bool same_files(const std::vector<WeightFile>& a, const std::vector<WeightFile>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const WeightFile& x, const WeightFile& y) {
                      return x.name == y.name && x.size == y.size && x.modified == y.modified;
                    });
}

}  // namespace

bool is_executable_file(const std::string& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && looks_like_executable(unwrap(map_file(path)).bytes);
}

ExecutableFile executable_file(const Executable& executable, const target::Target& target,
                               std::string fixed, ModelSource source) {
  const codegen::CodeGenerator& generator = codegen::generator_of(target);
  ExecutableFile file;
  file.executable = executable;
  for (ModuleBlob& blob : file.executable.modules) {
    blob = generator.portable(blob);
  }
  file.source = std::move(source);
  file.compiler = pipeline::compiler_identity();
  if (std::string made_by = generator.identity(target.description); !made_by.empty()) {
    file.options.emplace_back("code", std::move(made_by));
  }
  file.options.emplace_back("target", target.text);
  file.module = std::move(fixed);
  return file;
}

ExecutableFile executable_file(const Executable& executable, const target::Target& target,
                               const Module& fixed, ModelSource source) {
  return executable_file(executable, target, text::print(fixed), std::move(source));
}

ExecutableFile load_executable(const std::string& path) {
  MappedFile file = unwrap(map_file(path));
  return unwrap(read_executable(file.bytes, file.owner, path));
}

ModelSource source_of(const frontend::HuggingFaceModel& model, const std::string& folder) {
  ModelSource source;
  for (const models::WeightSpec& spec : model.config.weights()) {
    WeightRecord record{spec.name, model.config.dtype, spec.shape, "", spec.parts, ""};
    const auto layout = model.quantization ? model.quantization->layout_of(spec) : std::nullopt;
    if (layout) record.quantization = models::layout_name(*layout).value();
    if (model.layouts.contains(spec.name)) {
      record.quantization = spec.transposed ? kAsStoredTransposed : kAsStored;
    }
    if (auto it = model.sources.find(spec.name); it != model.sources.end()) {
      record.dtype = it->second.dtype();
      record.hash = it->second.hash(spec.shape);
    }
    source.weights.push_back(std::move(record));
  }
  if (folder.empty()) return source;
  source.folder = fs::absolute(model.folder).lexically_normal().string();
  source.files = weight_files(model.folder);
  return source;
}

std::string model_folder(const ExecutableFile& file, const std::string& path,
                         const std::string& folder) {
  if (file.executable.model.vocabulary <= 0) {
    throw_user("the executable is not a language model", path, "one that was made from a model",
               "one that was made from a text module");
  }
  if (!folder.empty()) return frontend::resolve_model_folder(folder);
  if (file.source.folder.empty()) {
    throw_user("the executable was made from a configuration alone: it names no weights", path,
               "a model folder", "none", "--model DIR");
  }
  return file.source.folder;
}

std::map<std::string, HostTensor> load_source_weights(const ExecutableFile& file,
                                                      const std::string& folder) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored) && !frontend::is_gguf_model(folder)) {
    throw_user("the model folder " + folder + " does not exist", folder,
               "the folder with the executable's weights", "nothing",
               "--model DIR names its new location");
  }
  std::vector<models::WeightSpec> wanted;
  std::map<std::string, models::WeightLayout> layouts;
  for (const WeightRecord& record : file.source.weights) {
    const bool transposed = record.quantization == kAsStoredTransposed;
    const bool stays = transposed || record.quantization == kAsStored;
    const bool quantized = !record.quantization.empty() && !stays;
    wanted.push_back({.name = record.name,
                      .shape = record.shape,
                      .parts = record.parts,
                      .linear = quantized,
                      .expands = stays,
                      .reorders = stays,
                      .transposed = transposed});
    if (quantized)
      layouts[record.name] = models::parse_layout(record.quantization, "the executable");
  }
  models::QuantizationRef quantization;
  if (!layouts.empty()) quantization = models::Quantization::of_weights(layouts);
  if (quantization) quantization->check(wanted);
  frontend::LoadedWeights loaded = frontend::load_weights(folder, wanted, {}, quantization);
  const bool untouched = !file.source.files.empty() &&
                         fs::absolute(folder).lexically_normal().string() == file.source.folder &&
                         same_files(file.source.files, weight_files(folder));
  for (const WeightRecord& record : file.source.weights) {
    const frontend::SourceWeight& source = loaded.sources.at(record.name);
    const bool same = source.dtype() == record.dtype && (untouched || record.hash.empty() ||
                                                         source.hash(record.shape) == record.hash);
    if (same) continue;
    throw_user(
        "weight " + record.name + " is not the one that the executable was made for", folder,
        dtype_name(record.dtype) + std::string(" with SHA-256 ") + record.hash,
        dtype_name(source.dtype()) + std::string(" with SHA-256 ") + source.hash(record.shape),
        "compile the model again");
  }
  return std::move(loaded.tensors);
}

target::Target executable_target(const ExecutableFile& file, const std::string& path,
                                 const std::optional<std::string>& wanted,
                                 const target::PlatformTable& table) {
  target::Target own = target::parse_target(file.executable.target, table);
  if (!wanted) return own;
  target::Target target = target::parse_target(*wanted, table);
  if (target.description.platform != own.description.platform) {
    throw_user("the executable was made for another platform", path, own.description.platform,
               target.description.platform, "compile the model for " + *wanted);
  }
  return target;
}

}  // namespace tapml::app
