#include "app/speculation.h"

#include "ir/exceptions.h"
#include "llm/speculation/draft_model.h"
#include "llm/speculation/lookup.h"
#include "llm/speculation/same_vocabulary.h"

namespace tapml::app {

void SpeculationOptions::check(const ModelInterface& model) const {
  if (is_on()) unwrap(llm::check_verifies(model));
}

void SpeculativeModel::load_draft(const SpeculationOptions& options,
                                  const ModelOptions& loaded_with, const ReadyModel& model) {
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
  draft_ =
      make_ready(draft, [&](const Tokenizer& tokenizer, const ModelInterface&, llm::TextInputs&) {
        unwrap(llm::check_same_vocabulary(*model.tokenizer, tokenizer));
      });
  engine_ = make_engine(draft_);
  engine_->vm().set_call_limit(loaded_with.step_limit);
}

std::unique_ptr<SpeculativeModel> SpeculativeModel::load(const SpeculationOptions& options,
                                                         const ModelOptions& loaded_with,
                                                         const ReadyModel& model) {
  std::unique_ptr<SpeculativeModel> made(new SpeculativeModel());
  std::unique_ptr<llm::Proposer> proposer;
  if (options.draft.empty()) {
    proposer = unwrap(llm::Lookup::create(options.lookup));
  } else {
    made->load_draft(options, loaded_with, model);
    proposer = unwrap(llm::DraftModel::create(*made->engine_, model.executable->model));
  }
  made->speculation_ = unwrap(llm::Speculation::create(std::move(proposer), options.propose));
  return made;
}

}  // namespace tapml::app
