#include "frontend/huggingface/folder.h"

#include <filesystem>
#include <optional>

#include "frontend/huggingface/foreign.h"
#include "io/host/files.h"
#include "ir/exceptions.h"

namespace tapml::frontend {

namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxRefBytes = 4096;

// The folder of the snapshot in refs/main.
std::optional<std::string> main_snapshot(const std::string& root) {
  auto name = read_text_file(root + "/refs/main", kMaxRefBytes);
  if (!name) return std::nullopt;
  while (!name->empty() && (name->back() == '\n' || name->back() == '\r')) name->pop_back();
  if (name->empty() || name->find_first_of("/\\") != name->npos || *name == "." || *name == "..") {
    return std::nullopt;
  }
  const std::string folder = root + "/snapshots/" + *name;
  std::error_code ignored;
  return fs::is_directory(folder, ignored) ? std::optional(folder) : std::nullopt;
}

std::optional<std::string> newest_snapshot(const std::string& root) {
  std::optional<std::string> newest;
  fs::file_time_type newest_time;
  std::error_code error;
  for (fs::directory_iterator it(root + "/snapshots", error), end; !error && it != end;
       it.increment(error)) {
    std::error_code ignored;
    if (!it->is_directory(ignored)) continue;
    const auto time = it->last_write_time(ignored);
    const std::string folder = it->path().string();
    // Break ties by name, so that the result does not depend on the file system.
    if (!newest || time > newest_time || (time == newest_time && folder > *newest)) {
      newest = folder;
      newest_time = time;
    }
  }
  return newest;
}

}  // namespace

std::string resolve_model_folder(const std::string& path) {
  std::error_code ignored;
  if (!fs::is_directory(path + "/snapshots", ignored)) return path;
  if (fs::exists(path + "/config.json", ignored)) return path;
  if (auto snapshot = main_snapshot(path)) return *snapshot;
  return newest_snapshot(path).value_or(path);
}

std::string tokenizer_path(const std::string& folder, const std::string& name) {
  const std::string path = folder + "/" + name;
  std::error_code ignored;
  if (fs::exists(path, ignored)) {
    refuse_foreign_file(path);
    return path;
  }
  const std::string message = "there is no " + name + " in " + folder;
  for (const char* other : {"vocab.txt", "spiece.model", "sentencepiece.bpe.model"}) {
    if (!fs::exists(folder + "/" + other, ignored)) continue;
    throw_user(
        message, folder, name, std::string(other) + " only, an older format that is not supported",
        "create it with transformers: AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR)");
  }
  throw_user(message, folder, name, "no tokenizer",
             "download the whole model: hf download ORG/NAME --local-dir DIR");
}

}  // namespace tapml::frontend
