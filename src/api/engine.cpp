// The engine of the C interface: generates text with packages.
#include <tapml/engine.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "api/impl.h"
#include "io/host/mapped_ranges.h"
#include "llm/conversation.h"

using namespace tapml;  // NOLINT: names of the C interface have a prefix of their own

struct tapml_engine {
  std::unique_ptr<llm::Conversation> conversation;
  std::vector<int32_t> answer;
  std::atomic<bool> generating = false;
};

namespace {

// Reads a structure of the application, whose header may be older: missing fields get defaults.
template <class T>
Result<T> versioned(const T* given, T value, const char* where) {
  if (!given) return value;
  if (given->size < sizeof given->size || given->size > sizeof(T)) {
    return fail(user_error("the size of the structure is out of range", where,
                           "what its initializer sets, at most " + std::to_string(sizeof(T)),
                           std::to_string(given->size), "initialize it with the header's macro"));
  }
  std::memcpy(&value, given, given->size);
  return value;
}

tapml_end_reason reason_of(llm::TurnEnd end) {
  switch (end) {
    case llm::TurnEnd::kEndToken:
      return TAPML_END_TOKEN;
    case llm::TurnEnd::kMaxTokens:
      return TAPML_END_MAX;
    case llm::TurnEnd::kContextFull:
      return TAPML_END_CONTEXT;
    case llm::TurnEnd::kCaller:
      return TAPML_END_CALLBACK;
    case llm::TurnEnd::kCancelled:
      return TAPML_END_CANCELLED;
  }
  return TAPML_END_CANCELLED;
}

std::string_view text_of(const char* text, size_t bytes) {
  return bytes == 0 ? std::string_view() : std::string_view(text, bytes);
}

// Copies as many items as fit, and returns how many there are.
template <class T>
void give(std::span<const T> items, T* to, int64_t capacity, int64_t* count) {
  const auto fit = std::min(items.size(), static_cast<size_t>(capacity));
  std::copy_n(items.begin(), fit, to);
  *count = std::ssize(items);
}

Result<llm::Package> read_package(runtime::Session& session, const char* folder) {
  TAPML_ASSIGN(llm::Package package, llm::read_package(folder));
  TAPML_TRY(api::check_platform(package.file.executable, session, folder));
  return package;
}

Result<std::unique_ptr<llm::Conversation>> load(runtime::Session& session, const char* folder,
                                                const tapml_engine_options& options) {
  TAPML_ASSIGN(llm::Package package, read_package(session, folder));
  TAPML_ASSIGN(auto conversation,
               llm::Conversation::create(session, std::move(package), options.context));
  if (options.draft) {
    TAPML_ASSIGN(llm::Package draft, read_package(session, options.draft));
    TAPML_TRY(conversation->set_draft(std::move(draft)));
  }
  return conversation;
}

// Runs `set` with the conversation and the tensor, unless the engine generates.
template <class Set>
tapml_status set_input(tapml_engine* engine, const tapml_tensor* tensor, const char* where,
                       Set&& set) {
  if (!engine || !tensor) return api::missing("an argument");
  if (engine->generating) {
    return api::failed(user_error("the engine is generating", where, "a call between two prompts",
                                  "one from the text function or from another thread"));
  }
  return api::guarded(where, [&] {
    const Result<HostTensor> view = api::view_of(*tensor, where);
    if (!view) return api::failed(view.error());
    const Status status = set(*engine->conversation, *view);
    return status ? TAPML_OK : api::failed(status.error());
  });
}

tapml_status negative(const char* what, int64_t found) {
  return api::failed(user_error(std::string("the ") + what + " is negative", "tapml", "0 or more",
                                std::to_string(found)));
}

}  // namespace

using api::failed;
using api::missing;

tapml_status tapml_engine_load(tapml_session* session, const char* folder,
                               const tapml_engine_options* options, tapml_engine** engine) {
  if (!session || !folder || !engine) return missing("an argument");
  const auto chosen =
      versioned(options, tapml_engine_options TAPML_ENGINE_OPTIONS, "tapml_engine_load, options");
  if (!chosen) return failed(chosen.error());
  return api::guarded("tapml_engine_load", [&] {
    auto loaded = load(*session->session, folder, *chosen);
    if (Status files = check_lost_files(); !files) return failed(files.error());
    if (!loaded) return failed(loaded.error());
    *engine = new tapml_engine{std::move(*loaded)};
    return TAPML_OK;
  });
}

void tapml_engine_free(tapml_engine* engine) { delete engine; }

int64_t tapml_engine_context(const tapml_engine* engine) {
  return engine ? engine->conversation->capacity() : 0;
}

int64_t tapml_engine_length(const tapml_engine* engine) {
  return engine ? engine->conversation->length() : 0;
}

int64_t tapml_engine_vocabulary(const tapml_engine* engine) {
  return engine ? engine->conversation->engine().model().vocabulary : 0;
}

int32_t tapml_engine_reads_features(const tapml_engine* engine) {
  return engine && engine->conversation->engine().reads_features() ? 1 : 0;
}

int32_t tapml_engine_takes_embeddings(const tapml_engine* engine) {
  return engine && engine->conversation->engine().takes_embeddings() ? 1 : 0;
}

tapml_status tapml_engine_generate(tapml_engine* engine, const char* prompt, size_t bytes,
                                   const tapml_generate_options* options,
                                   tapml_text_function on_text, void* user,
                                   tapml_generation* generation) {
  if (!engine || (bytes > 0 && !prompt)) return missing("an argument");
  const auto chosen = versioned(options, tapml_generate_options TAPML_GENERATE_OPTIONS,
                                "tapml_engine_generate, options");
  if (!chosen) return failed(chosen.error());
  const auto form =
      versioned(generation, tapml_generation TAPML_GENERATION, "tapml_engine_generate, generation");
  if (!form) return failed(form.error());
  llm::TurnOptions turn_options;
  turn_options.max_tokens = chosen->max_tokens;
  turn_options.sampler = {chosen->temperature, chosen->top_p, chosen->top_k, chosen->seed};
  turn_options.lookup = chosen->lookup;
  turn_options.propose = {.tokens = chosen->draft_tokens, .keep = chosen->keep_draft != 0};
  if (on_text) {
    turn_options.on_text = [&](std::string_view text) {
      return on_text(user, text.data(), text.size()) == 0;
    };
  }
  if (engine->generating.exchange(true)) {
    return failed(user_error(
        "the engine is already generating", "tapml_engine_generate", "one call at a time",
        "one from the text function or from another thread", "load another engine"));
  }
  engine->answer.clear();
  const tapml_status status = api::guarded("tapml_engine_generate", [&] {
    auto turn = engine->conversation->say(text_of(prompt, bytes), turn_options);
    if (Status files = check_lost_files(); !files) return failed(files.error());
    if (!turn) return failed(turn.error());
    if (generation) {
      const tapml_generation result = {form->size,
                                       reason_of(turn->end),
                                       turn->prompt_tokens,
                                       std::ssize(turn->tokens),
                                       turn->prefill_seconds,
                                       turn->decode_seconds,
                                       turn->speculation.proposed,
                                       turn->speculation.accepted};
      std::memcpy(generation, &result, form->size);
    }
    engine->answer = std::move(turn->tokens);
    return TAPML_OK;
  });
  if (status == TAPML_PLATFORM) engine->conversation->reset();
  engine->generating = false;
  return status;
}

const int32_t* tapml_engine_answer(const tapml_engine* engine, int64_t* count) {
  if (count) *count = engine ? std::ssize(engine->answer) : 0;
  return engine ? engine->answer.data() : nullptr;
}

void tapml_engine_reset(tapml_engine* engine) {
  if (engine) engine->conversation->reset();
}

tapml_status tapml_engine_set_features(tapml_engine* engine, const tapml_tensor* features) {
  const auto set = [](llm::Conversation& conversation, const HostTensor& view) {
    HostTensor own = HostTensor::zeros(view.dtype(), view.shape());
    std::ranges::copy(view.bytes(), own.mutable_bytes().begin());
    return conversation.set_features(std::move(own));
  };
  return set_input(engine, features, "tapml_engine_set_features", set);
}

tapml_status tapml_engine_place_embeddings(tapml_engine* engine, const tapml_tensor* rows,
                                           int64_t position) {
  const auto set = [position](llm::Conversation& conversation, const HostTensor& view) {
    return conversation.place_embeddings(view, position);
  };
  return set_input(engine, rows, "tapml_engine_place_embeddings", set);
}

void tapml_engine_cancel(tapml_engine* engine) {
  if (engine) engine->conversation->cancel();
}

tapml_status tapml_engine_tokenize(const tapml_engine* engine, const char* text, size_t bytes,
                                   int32_t special, int32_t* tokens, int64_t capacity,
                                   int64_t* count) {
  if (!engine || !count || (bytes > 0 && !text) || (capacity > 0 && !tokens)) {
    return missing("an argument");
  }
  if (capacity < 0) return negative("capacity", capacity);
  return api::guarded("tapml_engine_tokenize", [&] {
    const auto ids = engine->conversation->tokenizer().encode(text_of(text, bytes), special != 0);
    if (!ids) return failed(ids.error());
    give<int32_t>(*ids, tokens, capacity, count);
    return TAPML_OK;
  });
}

tapml_status tapml_engine_detokenize(const tapml_engine* engine, const int32_t* tokens,
                                     int64_t token_count, char* text, int64_t capacity,
                                     int64_t* count) {
  if (!engine || !count || (token_count > 0 && !tokens) || (capacity > 0 && !text)) {
    return missing("an argument");
  }
  if (capacity < 0) return negative("capacity", capacity);
  if (token_count < 0) return negative("number of tokens", token_count);
  return api::guarded("tapml_engine_detokenize", [&] {
    const std::string found =
        engine->conversation->tokenizer().decode({tokens, static_cast<size_t>(token_count)});
    give<char>(found, text, capacity, count);
    return TAPML_OK;
  });
}
