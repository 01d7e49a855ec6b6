#include "topdown/suite/suite_folder.h"

#include <filesystem>
#include <utility>

#include "io/host/files.h"
#include "topdown/suite/tensor_file.h"

namespace tapml::topdown {

namespace {

constexpr const char* kExtension = ".safetensors";

}  // namespace

std::string tensor_file(const std::string& hash) { return "tensors/" + hash + kExtension; }

Result<SuiteFolder> SuiteFolder::open(const std::string& folder) {
  TAPML_TRY(make_folder(folder + "/tensors"));
  SuiteFolder files(folder);
  const std::string index = folder + "/suite.json";
  if (auto text = read_text_file(index)) {
    if (auto suite = parse_suite_index(*text, index, false)) files.indexed_ = named_tensors(*suite);
  }
  return files;
}

Status SuiteFolder::begin(Suite empty) {
  const std::string index = folder_ + "/suite.json";
  if (auto text = read_text_file(index)) {
    if (auto suite = parse_suite_index(*text, index, false)) {
      empty = std::move(*suite);
      empty.incomplete = "a later carve into its folder did not finish";
    }
  }
  return write_index(empty);
}

Status SuiteFolder::put(const std::string& hash, const HostTensor& tensor) {
  if (has(hash)) return {};
  TAPML_TRY(write_file_atomic(folder_ + "/" + tensor_file(hash), write_tensor_file(tensor)));
  written_.insert(hash);
  return {};
}

Status SuiteFolder::remove(const std::string& hash) {
  if (written_.erase(hash) == 0 || indexed_.contains(hash)) return {};
  return erase(hash);
}

Status SuiteFolder::erase(const std::string& hash) const {
  std::error_code error;
  const std::string path = folder_ + "/" + tensor_file(hash);
  std::filesystem::remove(path, error);
  if (!error) return {};
  return fail(
      user_error("cannot remove " + path, path, "a folder that can be written", error.message()));
}

Status SuiteFolder::write_index(const Suite& suite) {
  TAPML_TRY(write_text_atomic(folder_ + "/suite.json", suite_text(suite)));
  const std::set<std::string> before = std::exchange(indexed_, named_tensors(suite));
  for (const std::string& hash : before) {
    if (!indexed_.contains(hash) && !written_.contains(hash)) TAPML_TRY(erase(hash));
  }
  return {};
}

Status SuiteFolder::finish(const Suite& suite) {
  TAPML_TRY(write_index(suite));
  const std::set<std::string> named = named_tensors(suite);
  std::error_code ignored;  // left-over files do no harm
  for (const auto& entry : std::filesystem::directory_iterator(folder_ + "/tensors", ignored)) {
    const std::filesystem::path& path = entry.path();
    const std::string hash = path.stem().string();
    if (path.extension() != kExtension || hash.size() != 64) continue;
    if (named.contains(hash) && !suite.weights.contains(hash)) continue;
    std::filesystem::remove(path, ignored);
  }
  return {};
}

}  // namespace tapml::topdown
