#include "frontend/huggingface/foreign.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <vector>

#include "base/strings.h"
#include "io/host/files.h"
#include "io/json_reader.h"
#include "ir/exceptions.h"

namespace tapml::frontend {

namespace {

namespace fs = std::filesystem;

constexpr size_t kHeadBytes = 512;
constexpr size_t kMaxAdapterBytes = size_t{16} << 20;
constexpr const char* kExpected = "a folder with config.json, model.safetensors and tokenizer.json";
constexpr const char* kDownload = "download the whole model: hf download ORG/NAME --local-dir DIR";
constexpr const char* kPassGguf = "pass the GGUF file itself as the model";
constexpr const char* kConvertPickle =
    "convert it with transformers: AutoModelForCausalLM.from_pretrained(DIR).save_pretrained(NEW)";

struct Foreign {
  std::string_view what;
  std::string_view hint;
};

std::string head_of(const std::string& path) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return {};
  std::ifstream file(path, std::ios::binary);
  std::string head(kHeadBytes, '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<size_t>(file.gcount()));
  return head;
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

std::optional<Foreign> recognize(std::string_view head) {
  if (head.starts_with("version https://git-lfs.github.com/spec/")) {
    return Foreign{
        "a Git LFS pointer, not the file itself",
        "run git lfs install and git lfs pull in the folder, or download the file again"};
  }
  const size_t text = head.find_first_not_of(" \t\r\n");
  const std::string begin =
      lower_case(text == head.npos ? std::string_view() : head.substr(text, 32));
  if (begin.starts_with("<!doctype html") || begin.starts_with("<html")) {
    return Foreign{"an HTML page, such as a site's page about the file", kDownload};
  }
  if (head.starts_with("GGUF")) return Foreign{"a GGUF file, which is a whole model", kPassGguf};
  const bool zip = head.starts_with("PK\x03\x04");
  const bool pickle = head.size() > 1 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5;
  if (zip || pickle) {
    return Foreign{"a PyTorch pickle (.bin, .pt), which can run code and is not supported",
                   kConvertPickle};
  }
  return std::nullopt;
}

// The files of a folder with the given name suffix, sorted.
std::vector<std::string> files_ending(const std::string& folder, std::string_view ending) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::string name = it->path().filename().string();
    if (name.ends_with(ending)) names.push_back(std::move(name));
  }
  std::ranges::sort(names);
  return names;
}

[[noreturn]] void refuse_adapter(const std::string& folder) {
  const std::string path = folder + "/adapter_config.json";
  std::string base = "its base model";
  if (auto text = read_text_file(path, kMaxAdapterBytes)) {
    if (auto json = parse_json(*text, path); json && json->is_object()) {
      const Json* name = json->find("base_model_name_or_path");
      if (name && name->is_string()) base = name->as_string();
    }
  }
  throw_user(
      folder + " is a LoRA adapter, not a whole model", folder, kExpected,
      "adapter_config.json, an adapter of " + base,
      "merge it: PeftModel.from_pretrained(base, DIR).merge_and_unload().save_pretrained(NEW)");
}

// "name" or "org/name", the form of model ids on the hub.
bool looks_like_hub_id(std::string_view path) {
  if (path.empty() || path.front() == '.' || path.front() == '/' || path.front() == '~')
    return false;
  if (std::ranges::count(path, '/') != 1 || path.ends_with('/')) return false;
  return std::ranges::all_of(path, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-_./").contains(c);
  });
}

}  // namespace

void refuse_foreign_file(const std::string& path) {
  const auto foreign = recognize(head_of(path));
  if (!foreign) return;
  throw_user(path + " is " + std::string(foreign->what), path, "a file of a model folder",
             std::string(foreign->what), std::string(foreign->hint));
}

void check_model_folder(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status) && status.type() != fs::file_type::not_found) {
    throw_user("the model folder " + path + " cannot be read", path, kExpected, error.message());
  }
  if (!fs::exists(status)) {
    const bool hub = looks_like_hub_id(path);
    throw_user(
        "the model folder " + path + " does not exist", path, kExpected,
        hub ? "nothing; it may be the name of a model on the hub" : "nothing",
        hub ? "download it first: hf download " + path + " --local-dir DIR, then pass DIR" : "");
  }
  if (!fs::is_directory(status)) {
    refuse_foreign_file(path);
    const bool weights = path.ends_with(".safetensors");
    throw_user(path + " is not a folder", path, kExpected, "a file",
               weights ? "pass the folder that contains it" : "");
  }
  if (fs::exists(path + "/config.json", error)) return;
  if (fs::exists(path + "/adapter_config.json", error)) refuse_adapter(path);
  for (const std::string& name : files_ending(path, ".gguf")) {
    throw_user(path + " has no config.json, but a GGUF file", path, kExpected, name,
               "pass the file as the model: " + path + "/" + name);
  }
  if (fs::exists(path + "/params.json", error)) {
    throw_user(path + " is a model in its authors' format, not in Hugging Face's", path, kExpected,
               "params.json, but no config.json",
               "use the model's repository on the hub with a name that ends in -hf");
  }
  throw_user(path + " has no config.json", path, kExpected, "a folder without config.json",
             kDownload);
}

void refuse_folder_without_weights(const std::string& folder) {
  std::error_code ignored;
  std::string found = "neither", hint;
  if (fs::exists(folder + "/adapter_model.safetensors", ignored)) refuse_adapter(folder);
  for (const auto& [ending, advice] :
       {std::pair{".gguf", kPassGguf}, std::pair{".bin", kConvertPickle},
        std::pair{".pth", kConvertPickle}, std::pair{".pt", kConvertPickle},
        std::pair{".h5", kConvertPickle}, std::pair{".msgpack", kConvertPickle}}) {
    const auto names = files_ending(folder, ending);
    if (names.empty()) continue;
    found = names[0] + ", a file of another format";
    hint = advice;
    break;
  }
  throw_user("there are no weights in " + folder, folder,
             "model.safetensors or model.safetensors.index.json", found,
             hint.empty() ? kDownload : hint);
}

}  // namespace tapml::frontend
