// What an engine holds, and its steps. Internal to the component.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/rounding.h"
#include "llm/call_arguments.h"
#include "llm/engine.h"
#include "llm/input_of_text.h"
#include "llm/model_state.h"
#include "llm/non_finite.h"
#include "llm/prompt_watch.h"
#include "llm/sequence.h"

namespace tapml::llm {

// Collects rows of f32 logits on the host.
class LogitRows {
 public:
  explicit LogitRows(int64_t vocabulary) : vocabulary_(vocabulary) {}

  void append(const HostTensor& logits) {
    auto values = logits.values<float>();
    values_.insert(values_.end(), values.begin(), values.end());
  }
  int64_t size() const { return static_cast<int64_t>(values_.size()) / vocabulary_; }
  HostTensor first(int64_t rows) const {
    return HostTensor::from(DType::kF32, {rows, vocabulary_}, std::span<const float>(values_));
  }
  HostTensor last() const {
    std::span<const float> all(values_);
    return HostTensor::from(DType::kF32, {1, vocabulary_},
                            all.last(static_cast<size_t>(vocabulary_)));
  }

 private:
  int64_t vocabulary_;
  std::vector<float> values_;
};

struct Engine::State {
  State(std::unique_ptr<runtime::VirtualMachine> runs, const EngineOptions& options)
      : session(runs->session()),
        vm(std::move(runs)),
        local_vm(dynamic_cast<runtime::LocalVirtualMachine*>(vm.get())),
        samples_in_model(local_vm || options.sample_in_model),
        model(vm->executable().model),
        capacity(options.capacity ? options.capacity : model.context),
        window(model.paged_window()),
        longest_text(holds_window() ? model.context : capacity),
        prefill_chunk(options.prefill_chunk),
        fragmented(options.fragmented),
        rows{PageAllocator(first_pages(options.first_capacity), options.fragmented),
             PageAllocator(1), model.page_size},
        own(rows),
        state(session, model, options.fragmented),
        arguments(session) {}

  // Finds the inputs that only some models have.
  Status find_inputs();
  // Takes what every call gets of the weights, and makes the cache.
  Status load(std::vector<runtime::Value> weights);
  int64_t pages_for(int64_t tokens) const { return ceil_div(tokens, model.page_size); }
  // Whether the cache has room for a step of any text, because older pages are released.
  bool holds_window() const {
    return window > 0 && pages_for(capacity) * model.page_size >= window + model.page_size;
  }
  // Pages to begin with; a fragmented cache has some that no text uses.
  int64_t first_pages(int64_t first_capacity) const {
    const int64_t pages = pages_for(std::min(capacity, first_capacity));
    return fragmented ? pages + ceil_div<int64_t>(pages, 4) + 1 : pages;
  }
  // The interface's entry; create() has checked that the required ones exist.
  const ModelFunction& function(const char* name) const { return *model.find_function(name); }
  // Makes room for `pages`: at least doubles it, but for at most `sequences` full texts, so that a
  // long context costs memory only when it is used.
  Status grow(int64_t pages, int64_t sequences);
  // The number of the next `count` tokens of each sequence that one call takes. It splits no
  // embeddings that follow one another, because they may see each other; UserError for a cache that
  // has no room for them.
  Result<int64_t> piece_of(std::span<Sequence* const> sequences, int64_t count) const;
  // How many tokens can be proposed for a text, so that one call takes them with its last token and
  // the text has room for them, if it ends after `left` more tokens; at most 0: none.
  Result<int64_t> proposal_room(Sequence& sequence, int64_t left) const;
  // Releases pages that left the window; then reserves pages for `count` more tokens of each
  // sequence.
  Status reserve_pages(std::span<Sequence* const> sequences, int64_t count);
  // Reserves a slot for each sequence, with the encoder's output for the features.
  Status reserve_slots(std::span<Sequence* const> sequences);
  Status encode(Sequence& sequence);
  // UserError for features that the encoder does not take.
  Status check_features(const HostTensor& given) const;
  bool is_long(int64_t tokens) const { return model.short_text > 0 && tokens > model.short_text; }
  // Says that `count` more tokens of each sequence are read next. A text that grows above
  // ModelInterface::short_text, or was cut below it, starts over.
  void plan(std::span<Sequence* const> sequences, int64_t count) const;
  // Reads the tokens that a sequence starts over with.
  Status read_unread(std::span<Sequence* const> sequences);
  // Finds `embedding_input`; UserError for a prefill that does not declare it.
  Status find_embedding_input();
  // Finds `image_input`; UserError for a model whose interface is incomplete there.
  Status find_image_input();
  // UserError for a model that reads no images, and for pixels that it does not take.
  Status check_image(const HostTensor& pixels) const;
  // Makes the embeddings of the images that have been placed.
  Status read_images();
  // UserError for a model that takes no embeddings, and for rows that it does not take.
  Status check_rows(const HostTensor& given) const;
  // The same, and for positions that are wrong.
  Status check_embeddings(const PlacedEmbeddings& placed) const;
  // UserError if an embedding's position is after a prompt of `count` tokens.
  Status check_prompt(const Sequence& sequence, int64_t count) const;
  // UserError if one of the next `count` tokens of a sequence has an embedding.
  Status check_unplaced(std::span<Sequence* const> sequences, int64_t count) const;
  // Sets the embeddings, [sequences, m, d]: zeros if there are none.
  Status set_embedding_rows(int64_t sequences);
  Status check_tokens(const Sequence& sequence, std::span<const int32_t> tokens) const;
  // Sets the tokens, and the inputs that follow from the sequences, as `function` takes them.
  Status set_inputs(const ModelFunction& function, std::span<Sequence* const> sequences,
                    std::span<const int32_t> tokens);
  Status set_page_table(std::span<Sequence* const> sequences);
  // Calls `function` with the current inputs, the state and the weights, and keeps the state that
  // it returns. Returns the other results; `read`: also fetches the bytes of the first one.
  Result<std::vector<runtime::Value>> call(const ModelFunction& function, HostTensor* read);
  // Runs prefill, decode or logits_all over checked tokens, the same number for each sequence
  // (`tokens` has them in order), and returns the logits. `read`: the host will need their bytes.
  Result<runtime::Tensor> step(const char* name, std::span<Sequence* const> sequences,
                               std::span<const int32_t> tokens, bool read = true);
  // Records what trace() needs to know of a call.
  void note_call(const char* function, std::span<Sequence* const> sequences,
                 std::span<const int32_t> tokens, const runtime::Tensor& logits);
  // Appends tokens to each sequence, in pieces; returns the last logits f32[sequences, vocabulary].
  Result<runtime::Tensor> prefill(std::span<Sequence* const> sequences,
                                  std::span<const int32_t> tokens);
  // The same for tokens that have been planned.
  Result<runtime::Tensor> append(std::span<Sequence* const> sequences,
                                 std::span<const int32_t> tokens);
  Result<HostTensor> bytes_of(const runtime::Tensor& logits);
  // The next token of one sequence by the sampler's options; -1 if the logits have none to take.
  Result<int32_t> choose(const runtime::Tensor& logits);
  // The same on the host, of the tokens that `constrain` leaves, if it is given; UserError if it
  // leaves none.
  using Constrain = std::function<void(std::span<float>)>;
  Result<int32_t> choose_on_host(const runtime::Tensor& logits, const Constrain& constrain = {});
  // A proposed token, and what it was drawn from.
  struct Drawn {
    int32_t token;
    const Candidates& from;
  };
  // The same for one row of logits; `drawn`, if given, is accepted or refused. Advances `generator`
  // alone.
  Result<int32_t> take_token(std::span<const float> row, const Constrain& constrain,
                             const Drawn* drawn = nullptr);
  // Before and after the host draws: `generator` is that of the session, and becomes it.
  Status read_generator();
  Status write_generator();
  // Whether the model itself draws at random: it has the function, and the device has f64.
  bool draws() const;
  // The model's `draw`: a token for each row of the logits, -1 for a row without one. Advances
  // `generators` i64[rows, 2].
  Result<HostTensor> draw(const runtime::Tensor& logits, runtime::Tensor parameters,
                          runtime::Tensor& generators);
  // The model's `sample`, in this process: a token for each row of the logits, -1 for a row without
  // one.
  Result<HostTensor> most_likely(const runtime::Tensor& logits);
  // The error of row `row`, which has no token to take.
  Error not_finite(const runtime::Tensor& logits, int64_t row);
  // The error of logits without a token to take: of token `token` of `sequence` in the last call,
  // or, with null, from elsewhere.
  Error not_finite(std::span<const float> logits, Sequence* sequence, int64_t token);
  // Runs the last call again to find where its non-finite logits come from. Nothing if they are
  // finite this time.
  Result<std::optional<NonFiniteOrigin>> trace(Sequence& sequence);
  Result<std::optional<NonFiniteOrigin>> trace_last_call(const NonFiniteTracer& tracer);
  // Runs all calls of the sequence, from an empty cache.
  Result<std::optional<NonFiniteOrigin>> trace_all_calls(Sequence& sequence,
                                                         const NonFiniteTracer& tracer);

  runtime::Session& session;
  std::unique_ptr<runtime::VirtualMachine> vm;
  runtime::LocalVirtualMachine* local_vm;  // null: the VM is remote
  const bool samples_in_model;             // by the model's functions
  const ModelInterface& model;
  int64_t capacity;      // tokens that the pages of a text can hold
  int64_t window;        // ModelInterface::paged_window()
  int64_t longest_text;  // tokens
  int64_t prefill_chunk;
  int64_t page_limit = 0;  // the cache grows ahead of need up to here; 0: as grow() says
  bool fragmented;         // EngineOptions
  StateRows rows;
  Sequence own;
  ModelState state;
  CallArguments arguments;
  HostTensor features;  // for models with an encoder
  // For models that take embeddings: what they take, [m, d], and those of the texts, which are
  // uploaded for as many sequences as the last call had.
  std::optional<InputOfText> embedding_input;
  PlacedEmbeddings embeddings;
  runtime::Tensor uploaded_embeddings;
  // For models that read images: what they take, [channels, height, width], and the images of whose
  // embeddings only the positions are known yet, with their first row.
  std::optional<InputOfText> image_input;
  struct UnreadImage {
    HostTensor pixels;
    int64_t row = 0;
  };
  std::vector<UnreadImage> unread_images;
  uint64_t uploaded_generation = 0;
  SamplerOptions sampler;
  runtime::Value sampler_parameters, sampler_state;
  runtime::Tensor draw_parameters;  // for a temperature above 0
  // Logits that came with the result of a step, and the tensor that holds them.
  HostTensor read_bytes;
  runtime::Tensor read_tensor;
  uint64_t read_version = 0, read_generation = 0;
  HostTensor generator;       // copy of sampler_state while only the host draws
  uint64_t generator_of = 0;  // Session::generation()
  // The last call of a model function, and the location of its logits.
  struct LastCall {
    const char* function = nullptr;  // null: none, or one of its sequences is gone
    std::vector<Sequence*> sequences;
    std::vector<int32_t> tokens;
    uint64_t storage = 0, version = 0;
    int64_t offset = 0;
  };
  LastCall last;
  WorkWatcher watcher;
  bool tracing = false;  // calls are being run again
  double load_seconds = 0;
};

}  // namespace tapml::llm
