#include "frontend/gguf/model.h"

#include <filesystem>
#include <fstream>

#include "base/strings.h"
#include "frontend/gguf/architectures.h"
#include "frontend/gguf/config.h"
#include "frontend/gguf/tensors.h"
#include "frontend/gguf/tokenizer.h"
#include "io/host/files.h"
#include "ir/exceptions.h"

namespace tapml::frontend {

namespace {

GgufFile read_file(const std::string& path) {
  const MappedFile mapped = unwrap(map_file(path));
  return unwrap(parse_gguf(mapped.bytes, mapped.owner, path));
}

void refuse_parts(const GgufFields& fields) {
  const int64_t parts = fields.integer("split.count").value_or(1);
  if (parts <= 1) return;
  fields.refuse("split.count", "says that the model is split into several files", "one file",
                std::to_string(parts) + " files",
                "join them: llama-gguf-split --merge FIRST.gguf WHOLE.gguf");
}

// Errors about a published field also name the key that it comes from.
HuggingFaceConfig read_config_of(const GgufArchitecture& architecture, const GgufFields& fields,
                                 const std::string& path) {
  auto config = guard([&] {
    return parse_config(gguf_config(architecture, fields),
                        path + " (its metadata as a config.json)");
  });
  if (config) return std::move(*config);
  Error error = config.error();
  const size_t begin = error.message.find('"'), end = error.message.find('"', begin + 1);
  if (error.hint.empty() && end != std::string::npos) {
    const std::string key =
        gguf_key_of(architecture, fields, error.message.substr(begin + 1, end - begin - 1));
    if (!key.empty()) error.hint = "the file's key of this field is " + in_quotes(key);
  }
  throw_error(std::move(error));
}

}  // namespace

bool is_gguf_model(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  std::ifstream file(path, std::ios::binary);
  std::string head(4, '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  return file && looks_like_gguf(std::as_bytes(std::span(head)));
}

GgufModel open_gguf_model(const std::string& path) {
  const GgufFile file = read_file(path);
  const GgufFields fields(file, path);
  const GgufArchitecture& architecture = find_gguf_architecture(fields);
  refuse_parts(fields);
  return {read_config_of(architecture, fields, path), gguf_end_tokens(fields),
          gguf_weights(architecture, fields)};
}

std::vector<int32_t> gguf_eos(const std::string& path) {
  const GgufFile file = read_file(path);
  return gguf_end_tokens(GgufFields(file, path));
}

WeightFiles open_gguf_weights(const std::string& path) {
  const GgufFile file = read_file(path);
  const GgufFields fields(file, path);
  refuse_parts(fields);
  return gguf_weights(find_gguf_architecture(fields), fields);
}

GgufTokenizer open_gguf_tokenizer(const std::string& path) {
  const GgufFile file = read_file(path);
  const GgufFields fields(file, path);
  return {gguf_tokenizer(fields), gguf_tokenizer_config(fields)};
}

}  // namespace tapml::frontend
