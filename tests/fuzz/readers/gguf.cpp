// GGUF files: the container, then what a model is made of: configuration, end tokens, tokenizer and
// weights. Accepted tensors are within the input.
#include "io/gguf.h"

#include <vector>

#include "finding.h"
#include "frontend/gguf/config.h"
#include "frontend/gguf/tensors.h"
#include "frontend/gguf/tokenizer.h"
#include "frontend/huggingface/config.h"
#include "ir/exceptions.h"
#include "llm/tokenizer/regex_pcre2.h"
#include "llm/tokenizer/tokenizer.h"
#include "llm/tokenizer/unicode_utf8proc.h"

using namespace tapml;                // NOLINT(google-build-using-namespace)
using namespace tapml::fuzz_readers;  // NOLINT(google-build-using-namespace)

namespace {

void check_views(const GgufFile& file, const std::vector<std::byte>& image) {
  for (const GgufTensor& tensor : file.tensors) {
    const auto blocks = static_cast<size_t>(tensor.size() / tensor.type->elements);
    require(tensor.bytes.size() == blocks * tensor.type->block_bytes, "a tensor of another size");
    const bool is_inside = tensor.bytes.empty() || (tensor.bytes.data() >= image.data() &&
                                                    tensor.bytes.data() + tensor.bytes.size() <=
                                                        image.data() + image.size());
    require(is_inside, "a tensor outside of the file");
  }
}

void attempt(const auto& read) {
  auto status = guard(read);
  if (!status) require_user_error(status.error());
}

void read_parts(const GgufFile& file) {
  const frontend::GgufFields fields(file, "input");
  attempt([&] { frontend::gguf_end_tokens(fields); });
  attempt([&] {
    const std::string config = frontend::gguf_tokenizer_config(fields);
    const Tokenizer tokenizer = unwrap(Tokenizer::parse(
        frontend::gguf_tokenizer(fields), "tokenizer.json", tokenizer::pcre2_regex_engine(),
        &tokenizer::utf8proc_tables(), {{config, "tokenizer_config.json"}, {}, {}}));
    auto ids = tokenizer.encode("Some text, 123.");
    if (ids) tokenizer.decode(*ids);
  });
  const frontend::GgufArchitecture& architecture = frontend::find_gguf_architecture(fields);
  attempt([&] { frontend::gguf_weights(architecture, fields); });
  frontend::parse_config(frontend::gguf_config(architecture, fields), "config.json");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  const std::vector<std::byte> image(bytes, bytes + size);
  const Result<GgufFile> file = parse_gguf(image, nullptr, "input");
  if (!file) {
    require_user_error(file.error());
    return 0;
  }
  check_views(*file, image);
  attempt([&] { read_parts(*file); });
  return 0;
}
