#include "app/speculation.h"

#include "ir/exceptions.h"
#include "llm/batching/batch_draft.h"
#include "llm/batching/batch_lookup.h"
#include "llm/speculation/draft_model.h"
#include "llm/speculation/lookup.h"
#include "llm/speculation/same_vocabulary.h"

namespace tapml::app {

namespace {

LoadedDraft load_draft(const SpeculationOptions& options, const ModelOptions& loaded_with,
                       const ReadyModel& model) {
  ModelOptions draft;
  draft.model = options.draft;
  draft.target = model.target.text;
  draft.cache = loaded_with.cache;
  draft.libraries = loaded_with.libraries;
  draft.remote = loaded_with.remote;
  draft.isolation = loaded_with.isolation;
  draft.watcher = loaded_with.watcher;
  if (!is_compiled(options.draft)) {
    draft.patterns = loaded_with.patterns;
    draft.format = loaded_with.format;
  }
  draft.session = model.session;
  draft.opened = model.target;
  LoadedDraft loaded;
  loaded.model =
      make_ready(draft, [&](const Tokenizer& tokenizer, const ModelInterface&, llm::TextInputs&) {
        unwrap(llm::check_same_vocabulary(*model.tokenizer, tokenizer));
      });
  loaded.engine = make_engine(loaded.model);
  loaded.engine->vm().set_call_limit(loaded_with.step_limit);
  return loaded;
}

}  // namespace

void SpeculationOptions::check(const ModelInterface& model) const {
  if (is_on()) unwrap(llm::check_verifies(model));
}

std::unique_ptr<SpeculativeModel> SpeculativeModel::load(const SpeculationOptions& options,
                                                         const ModelOptions& loaded_with,
                                                         const ReadyModel& model) {
  std::unique_ptr<SpeculativeModel> made(new SpeculativeModel());
  std::unique_ptr<llm::Proposer> proposer;
  if (options.draft.empty()) {
    proposer = unwrap(llm::Lookup::create(options.lookup));
  } else {
    made->draft_ = load_draft(options, loaded_with, model);
    proposer = unwrap(llm::DraftModel::create(*made->draft(), model.executable->model));
  }
  made->speculation_ = unwrap(llm::Speculation::create(std::move(proposer), options.propose));
  return made;
}

std::unique_ptr<SpeculativeBatch> SpeculativeBatch::load(const SpeculationOptions& options,
                                                         const ModelOptions& loaded_with,
                                                         const ReadyModel& model,
                                                         int64_t cached_tokens,
                                                         int64_t prompt_piece) {
  std::unique_ptr<SpeculativeBatch> made(new SpeculativeBatch());
  if (options.draft.empty()) {
    made->proposer_ = unwrap(llm::BatchLookup::create(options.lookup));
    return made;
  }
  made->draft_ = load_draft(options, loaded_with, model);
  made->proposer_ = unwrap(
      llm::BatchDraft::create(*made->draft_.engine, model.executable->model,
                              {.cached_tokens = cached_tokens, .prompt_piece = prompt_piece}));
  return made;
}

}  // namespace tapml::app
