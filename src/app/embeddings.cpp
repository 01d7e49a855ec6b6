#include "app/embeddings.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "app/model_input.h"
#include "app/tensor_file.h"
#include "ir/exceptions.h"

namespace tapml::app {

namespace {

constexpr const char* kEmbeddingsOption = "--embeddings";
constexpr const char* kPrefill = "prefill";

struct EmbeddingFile {
  std::string file;
  std::optional<int64_t> position;
};

// An @ before a / or a dot belongs to the name of the file.
EmbeddingFile parse_file(const std::string& text) {
  const size_t at = text.rfind('@');
  if (at == std::string::npos || text.find_first_of("/.", at) != std::string::npos) {
    return {text, std::nullopt};
  }
  const std::string number = text.substr(at + 1);
  const bool has_digits =
      !number.empty() && std::ranges::all_of(number, [](char c) { return c >= '0' && c <= '9'; });
  int64_t position = 0;
  const auto parsed = std::from_chars(number.data(), number.data() + number.size(), position);
  if (at > 0 && has_digits && parsed.ec == std::errc()) return {text.substr(0, at), position};
  throw_user("the file of embeddings has no valid position", kEmbeddingsOption,
             "FILE, or FILE@POSITION with an integer from 0 on", text);
}

// Adds the rows from `position` on. `where` names them in messages.
void place(llm::PlacedEmbeddings& all, const HostTensor& rows, int64_t position, int64_t context,
           const std::string& where) {
  const int64_t count = rows.shape()[0];
  const std::string found =
      std::to_string(count) + " rows from position " + std::to_string(position) + " on";
  if (position < 0 || position > context - count) {
    throw_user("the embeddings are outside the model's context", where,
               "positions from 0 to " + std::to_string(context - 1), found);
  }
  const auto taken = std::ranges::find_if(
      all.positions, [&](int64_t one) { return one >= position && one < position + count; });
  if (taken != all.positions.end()) {
    throw_user("two embeddings have the same position", where,
               "positions that no other embeddings have",
               found + "; position " + std::to_string(*taken) + " has another embedding");
  }
  all.place(rows, position);
}

}  // namespace

bool EmbeddingOptions::are_taken_by(const ModelInterface& model) const {
  if (!given()) return false;
  const ModelFunction* prefill = model.find_function(kPrefill);
  if (!prefill || !prefill->takes(Role::kPlacement)) {
    throw_user("the model takes no embeddings", kEmbeddingsOption,
               "a model whose function prefill has the input placement", model.architecture,
               std::string("leave ") + kEmbeddingsOption + " out");
  }
  return true;
}

llm::PlacedEmbeddings EmbeddingOptions::load(const Module& module) const {
  const ModelInterface model = unwrap(model_interface_of(module.all_attrs()));
  if (!are_taken_by(model)) return {};
  const ModelInput input(module, *model.find_function(kPrefill), Role::kEmbeddings);
  llm::PlacedEmbeddings all;
  for (const std::string& text : files) {
    const EmbeddingFile one = parse_file(text);
    const std::string where = std::string(kEmbeddingsOption) + " " + text;
    const HostTensor rows =
        input.of_one_text(read_tensor(one.file, "", role_name(Role::kEmbeddings)), where);
    const int64_t next = all.positions.empty() ? 0 : all.positions.back() + 1;
    place(all, rows, one.position.value_or(next), model.context, where);
  }
  for (const Tensor& one : tensors) {
    place(all, input.of_one_text(one.rows, kEmbeddingsOption), one.position, model.context,
          kEmbeddingsOption);
  }
  return all;
}

void check_positions(const llm::PlacedEmbeddings& embeddings, int64_t tokens) {
  for (const int64_t position : embeddings.positions) {
    if (position < tokens) continue;
    throw_user("the prompt ends before an embedding's position", kEmbeddingsOption,
               "positions from 0 to " + std::to_string(tokens - 1),
               "position " + std::to_string(position),
               "give a prompt with a token for each embedding");
  }
}

}  // namespace tapml::app
