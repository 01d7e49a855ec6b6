#include "llm/package.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <span>
#include <string_view>

#include "base/checksum.h"
#include "base/hash.h"
#include "io/host/files.h"
#include "io/json_reader.h"
#include "io/safetensors.h"
#include "llm/chat_template.h"
#include "llm/tokenizer/tokenizer_folder.h"

namespace tapml::llm {

namespace {

namespace fs = std::filesystem;

constexpr const char* kList = "package.json";
constexpr const char* kFormat = "tapml-package";
constexpr int64_t kVersion = 1;
constexpr const char* kExecutable = "model.tapml";
constexpr const char* kWeights = "weights.safetensors";

// The files of a model folder that a package has copies of, where they exist: the tokenizer's, and
// those that say how conversations are written, how images and sound are prepared, and how a
// decoder's text begins.
std::span<const std::string_view> copied_files() {
  static const std::vector<std::string_view> kNames = [] {
    std::vector<std::string_view> names(std::begin(tokenizer::kTokenizerFiles),
                                        std::end(tokenizer::kTokenizerFiles));
    names.insert(names.end(), std::begin(tokenizer::kTokenizerSettings),
                 std::end(tokenizer::kTokenizerSettings));
    names.emplace_back(tokenizer::kMergesFile);
    names.insert(names.end(), std::begin(kChatTemplateFiles), std::end(kChatTemplateFiles));
    names.insert(names.end(),
                 {"preprocessor_config.json", "processor_config.json", "generation_config.json"});
    return names;
  }();
  return kNames;
}

bool is_copied_file(const std::string& name) {
  return std::ranges::find(copied_files(), name) != copied_files().end();
}

// The entry of an existing file for the list.
Result<Json> entry_of(const std::string& folder, const std::string& name, int64_t& total) {
  TAPML_ASSIGN(const MappedFile file, map_file(folder + "/" + name));
  const auto bytes = static_cast<int64_t>(file.bytes.size());
  total += bytes;
  return Json::object({{"name", Json::string(name)},
                       {"bytes", Json::integer(bytes)},
                       {"xxh64", Json::string(hash_hex(checksum64(file.bytes)))}});
}

Status write_weights(const std::string& path, const PackageContents& contents) {
  std::map<std::string, HostTensor> weights;
  for (const std::string& name : contents.file.executable.model.weights) {
    const auto it = contents.weights.find(name);
    if (it == contents.weights.end()) {
      return fail(user_error("weight " + name + " is missing", path, "every weight of the model",
                             std::to_string(contents.weights.size()) + ", without this one"));
    }
    weights.insert(*it);
  }
  SafetensorsPieces pieces = safetensors_pieces(weights);
  pieces.data.insert(pieces.data.begin(), std::span<const std::byte>(pieces.header));
  return write_pieces_atomic(path, pieces.data);
}

// Files of the package by name, verified by checksum.
using Files = std::map<std::string, MappedFile>;

Status read_entry(const std::string& folder, const JsonObjectReader& entry, Files& files) {
  TAPML_ASSIGN(const std::string name, entry.required_string("name"));
  TAPML_ASSIGN(const int64_t bytes, entry.required_int("bytes", 0));
  TAPML_ASSIGN(const std::string sum, entry.required_string("xxh64"));
  if (name != kExecutable && name != kWeights && !is_copied_file(name)) {
    return fail(
        entry.field_error("name", "is not a file of a package", "model.tapml, for example"));
  }
  if (files.contains(name)) {
    return fail(entry.field_error("name", "is listed twice", "each file once"));
  }
  const std::string path = folder + "/" + name;
  TAPML_ASSIGN(MappedFile file, map_file(path));
  const std::string hint = "copy the whole folder again";
  if (static_cast<int64_t>(file.bytes.size()) != bytes) {
    return fail(user_error(path + " does not have the size that the package lists", path,
                           std::to_string(bytes) + " bytes",
                           std::to_string(file.bytes.size()) + " bytes", hint));
  }
  if (const std::string found = hash_hex(checksum64(file.bytes)); found != sum) {
    return fail(
        user_error(path + " was altered", path, "checksum " + sum, "checksum " + found, hint));
  }
  files.emplace(name, std::move(file));
  return {};
}

Status check_complete(const std::string& folder, const Files& files) {
  for (const std::string& name :
       {std::string(kExecutable), std::string(kWeights), tokenizer::tokenizer_file(folder)}) {
    if (files.contains(name)) continue;
    return fail(user_error("the package has no " + name, folder + "/" + kList, name,
                           std::to_string(files.size()) + " other files"));
  }
  // A tokenizer also reads the files next to its own.
  for (const std::string_view listed : copied_files()) {
    std::error_code ignored;
    const std::string name(listed), path = folder + "/" + name;
    if (files.contains(name) || !fs::exists(path, ignored)) continue;
    return fail(user_error(path + " does not belong to the package", path,
                           "only the files of package.json", name, "remove it"));
  }
  return {};
}

}  // namespace

Result<int64_t> write_package(const std::string& folder, const PackageContents& contents) {
  TAPML_TRY(make_folder(folder));
  const std::string list = folder + "/" + kList;
  std::error_code error;
  fs::remove(list, error);
  if (error) {
    return fail(user_error("cannot replace " + list, list, "a folder that can be written",
                           error.message()));
  }
  std::vector<std::string> names = {kExecutable, kWeights};
  TAPML_ASSIGN(const std::vector<std::byte> image, write_executable(contents.file));
  TAPML_TRY(write_file_atomic(folder + "/" + kExecutable, image));
  TAPML_TRY(write_weights(folder + "/" + kWeights, contents));
  const std::string required = tokenizer::tokenizer_file(contents.model_folder);
  for (const std::string_view listed : copied_files()) {
    const std::string name(listed);
    const std::string from = contents.model_folder + "/" + name, to = folder + "/" + name;
    std::error_code ignored;
    const auto given = contents.files.find(name);
    const bool is_given = given != contents.files.end();
    if (!is_given && name != required && !fs::exists(from, ignored)) {
      fs::remove(to, ignored);  // left by an earlier package
      continue;
    }
    TAPML_ASSIGN(const std::string text,
                 is_given ? Result<std::string>(given->second) : read_text_file(from));
    TAPML_TRY(write_text_atomic(to, text));
    names.emplace_back(name);
  }
  std::vector<Json> entries, ends;
  int64_t total = 0;
  for (const std::string& name : names) {
    TAPML_ASSIGN(Json entry, entry_of(folder, name, total));
    entries.push_back(std::move(entry));
  }
  for (const int32_t token : contents.end_tokens) ends.push_back(Json::integer(token));
  const std::string text = Json::object({{"format", Json::string(kFormat)},
                                         {"version", Json::integer(kVersion)},
                                         {"target", Json::string(contents.file.executable.target)},
                                         {"end_tokens", Json::array(std::move(ends))},
                                         {"files", Json::array(std::move(entries))}})
                               .dump(1) +
                           "\n";
  TAPML_TRY(write_text_atomic(list, text));
  return total + static_cast<int64_t>(text.size());
}

bool is_package(const std::string& folder) {
  std::error_code ignored;
  return fs::is_regular_file(folder + "/" + kList, ignored);
}

Result<Package> read_package(const std::string& folder) {
  const std::string path = folder + "/" + kList;
  if (!is_package(folder)) {
    std::error_code ignored;
    return fail(user_error(folder + " is not a model package", folder, "a folder with package.json",
                           fs::exists(folder, ignored) ? "none in it" : "no such folder",
                           "tapml compile MODEL --package DIR makes one"));
  }
  TAPML_ASSIGN(const std::string text, read_text_file(path, size_t{1} << 20));
  TAPML_ASSIGN(const Json json, parse_json(text, path));
  const JsonObjectReader list(json, path);
  constexpr std::string_view kFormats[] = {kFormat};
  TAPML_TRY(list.required_choice("format", kFormats));
  TAPML_TRY(list.required_int("version", kVersion, kVersion));
  TAPML_ASSIGN(const std::vector<int64_t> ends,
               list.required_int_array("end_tokens", 0, std::numeric_limits<int32_t>::max()));
  TAPML_ASSIGN(const std::vector<Json>* entries, list.required_array("files"));
  Files files;
  for (size_t i = 0; i < entries->size(); ++i) {
    TAPML_TRY(read_entry(folder, {(*entries)[i], path, "files[" + std::to_string(i) + "]"}, files));
  }
  TAPML_TRY(check_complete(folder, files));
  const MappedFile &code = files[kExecutable], &data = files[kWeights];
  TAPML_ASSIGN(ExecutableFile file,
               read_executable(code.bytes, code.owner, folder + "/" + kExecutable));
  TAPML_ASSIGN(SafetensorsFile weights,
               parse_safetensors(data.bytes, data.owner, folder + "/" + kWeights));
  TAPML_ASSIGN(Tokenizer tokenizer, tokenizer::read_tokenizer(folder));
  return Package{std::move(file),
                 std::move(weights.tensors),
                 {ends.begin(), ends.end()},
                 std::move(tokenizer)};
}

}  // namespace tapml::llm
