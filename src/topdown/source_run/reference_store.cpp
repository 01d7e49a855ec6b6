#include "topdown/source_run/reference_store.h"

#include <algorithm>
#include <filesystem>

#include "base/hash.h"
#include "base/log.h"
#include "io/host/files.h"
#include "io/safetensors.h"
#include "ir/exceptions.h"

namespace tapml::topdown {

namespace {

HostTensor tensor_of(const std::vector<double>& values, Shape shape) {
  return HostTensor::from<double>(DType::kF64, std::move(shape), values);
}

// An altered file must not decide whether a model is right.
Result<ReferenceLogits> read(const std::string& path) {
  TAPML_ASSIGN(MappedFile mapped, map_file(path));
  TAPML_ASSIGN(SafetensorsFile file, parse_safetensors(mapped.bytes, mapped.owner, path));
  const auto rows = file.tensors.find("logits"), largest = file.tensors.find("largest");
  const auto digest = file.metadata.find("digest");
  const bool whole = rows != file.tensors.end() && largest != file.tensors.end() &&
                     digest != file.metadata.end() && rows->second.dtype() == DType::kF64 &&
                     rows->second.shape().size() == 2 && largest->second.dtype() == DType::kF64 &&
                     largest->second.size() == 1 &&
                     digest->second == content_hash(rows->second) + content_hash(largest->second);
  if (!whole) {
    return fail(user_error("the reference's logits were altered", path, "as they were written"));
  }
  ReferenceLogits logits;
  const auto values = rows->second.values<double>();
  logits.rows.assign(values.begin(), values.end());
  logits.vocabulary = rows->second.shape()[1];
  logits.largest = largest->second.values<double>()[0];
  return logits;
}

}  // namespace

std::string ReferenceStore::name_of(const std::vector<int32_t>& tokens, size_t first) const {
  std::string text = model_ + " " + std::to_string(first) + ":";
  for (const int32_t token : tokens) text += " " + std::to_string(token);
  return "reference-" + to_hex(sha256(text)).substr(0, 32) + ".safetensors";
}

std::optional<ReferenceLogits> ReferenceStore::find(const std::vector<int32_t>& tokens,
                                                    size_t first) const {
  const std::string name = name_of(tokens, first);
  for (const std::string& folder : folders_) {
    const std::string path = folder + "/" + name;
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) continue;
    auto logits = read(path);
    if (logits) return std::move(*logits);
    log_warning(logits.error().message + " (" + path + "): they are evaluated again");
  }
  return {};
}

void ReferenceStore::keep(const std::vector<int32_t>& tokens, size_t first,
                          const ReferenceLogits& logits) {
  if (!folders_.empty()) kept_.push_back({name_of(tokens, first), logits});
}

void ReferenceStore::flush() {
  for (const Kept& kept : kept_) {
    const auto rows = std::ssize(kept.logits.rows) / std::max<int64_t>(kept.logits.vocabulary, 1);
    const HostTensor logits = tensor_of(kept.logits.rows, {rows, kept.logits.vocabulary});
    const HostTensor largest = tensor_of({kept.logits.largest}, {1});
    const auto bytes =
        write_safetensors({{"logits", logits}, {"largest", largest}},
                          {{"digest", content_hash(logits) + content_hash(largest)}});
    for (const std::string& folder : folders_) {
      std::error_code ignored;
      if (!std::filesystem::is_directory(folder, ignored)) continue;
      unwrap(write_file_atomic(folder + "/" + kept.name, bytes));
    }
  }
  kept_.clear();
}

}  // namespace tapml::topdown
