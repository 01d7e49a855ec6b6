// Runs a compiled encoder (architecture contract 7): vectors of texts.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "abi/model_interface.h"
#include "base/work.h"
#include "llm/call_arguments.h"
#include "runtime/virtual_machine.h"

namespace tapml::llm {

// Whether the model makes vectors of texts (embed) and no text.
bool is_encoder(const ModelInterface& model);
// UserError, with `where`, unless the model makes vectors of texts.
Status check_embeds(const ModelInterface& model, const std::string& where);
// UserError, with `where`, for an encoder where a model has to continue texts.
Status check_continues(const ModelInterface& model, const std::string& where);

// UserError for no texts, and for a text without tokens, with a token outside the vocabulary, or
// longer than the model's context. `names`: of the texts, for errors.
Status check_texts(const ModelInterface& model, std::span<const std::vector<int32_t>> texts,
                   std::span<const std::string> names = {});

struct EmbedderOptions {
  // Most tokens of the texts of a call, padding included, but for a single text: limits the memory
  // of attention.
  int64_t batch_tokens = 2048;
  // As EngineOptions::weights_in_place.
  bool weights_in_place = false;
  // Fills the shorter texts of a call with tokens that look random, for tests, in place of token 0.
  // The vectors are the same.
  bool random_padding = false;
};

// Not thread-safe.
class Embedder {
 public:
  // Uploads `weights` once. UserError for an executable that is not an encoder and for a missing
  // weight.
  static Result<std::unique_ptr<Embedder>> create(std::unique_ptr<runtime::VirtualMachine> vm,
                                                  const std::map<std::string, HostTensor>& weights,
                                                  const EmbedderOptions& options = {});

  const ModelInterface& model() const { return vm_->executable().model; }
  runtime::VirtualMachine& vm() const { return *vm_; }
  // Reports the texts that are done; unset: reports nothing.
  void set_watcher(WorkWatcher watcher) { watcher_ = std::move(watcher); }

  // The vector of each text, f32[texts, d], in order. Texts of about the same length run together.
  // UserError as of check_texts().
  Result<HostTensor> embed(std::span<const std::vector<int32_t>> texts);
  // Calls the model for three texts of very different lengths at once, made of the tokens of
  // `texts`: up to kMixedTokens or the context, a third of that, and one. For tests, like
  // Engine::run_mixed_batch(). UserError as of check_texts().
  Status run_mixed_batch(std::span<const std::vector<int32_t>> texts);
  // More than what local attention reaches on one side of a token in common models.
  static constexpr int64_t kMixedTokens = 160;

 private:
  Embedder(std::unique_ptr<runtime::VirtualMachine> vm, const EmbedderOptions& options);
  int32_t padding(size_t text, size_t position) const;
  // The vectors of some of the texts, by number.
  Result<HostTensor> run(std::span<const std::vector<int32_t>> texts,
                         std::span<const size_t> numbers);

  std::unique_ptr<runtime::VirtualMachine> vm_;
  EmbedderOptions options_;
  CallArguments arguments_;
  WorkWatcher watcher_;
};

}  // namespace tapml::llm
