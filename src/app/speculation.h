// Speculative decoding as commands have it: a draft model, or lookup in the text itself.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "app/model.h"
#include "llm/batching/batch_proposer.h"
#include "llm/speculation/speculation.h"

namespace tapml::app {

struct SpeculationOptions {
  std::string draft;  // a model: folder, executable or package
  int64_t lookup = 0;
  llm::SpeculationOptions propose;

  bool is_on() const { return !draft.empty() || lookup > 0; }
  // UserError for a model that cannot check proposed tokens.
  void check(const ModelInterface& model) const;
};

// A draft model that is ready, for the device of a model.
struct LoadedDraft {
  ReadyModel model;
  std::unique_ptr<llm::Engine> engine;
};

// What proposes tokens for a model, with the draft model, if there is one.
class SpeculativeModel {
 public:
  // Loads the draft model for the device of `model`, in its session, and as `options` say how that
  // was loaded. UserError for a draft model with another vocabulary, and as
  // llm::DraftModel::create() and llm::Lookup::create().
  static std::unique_ptr<SpeculativeModel> load(const SpeculationOptions& options,
                                                const ModelOptions& loaded_with,
                                                const ReadyModel& model);

  llm::Speculation& speculation() { return *speculation_; }
  // Null: lookup.
  llm::Engine* draft() { return draft_.engine.get(); }

 private:
  SpeculativeModel() = default;

  LoadedDraft draft_;
  std::unique_ptr<llm::Speculation> speculation_;
};

// The same for many texts at once.
class SpeculativeBatch {
 public:
  // As SpeculativeModel::load(). The draft model's cache holds `cached_tokens`, and it reads
  // prompts in pieces of `prompt_piece`.
  static std::unique_ptr<SpeculativeBatch> load(const SpeculationOptions& options,
                                                const ModelOptions& loaded_with,
                                                const ReadyModel& model, int64_t cached_tokens,
                                                int64_t prompt_piece);

  llm::BatchProposer& proposer() { return *proposer_; }

 private:
  SpeculativeBatch() = default;

  LoadedDraft draft_;
  std::unique_ptr<llm::BatchProposer> proposer_;
};

}  // namespace tapml::app
