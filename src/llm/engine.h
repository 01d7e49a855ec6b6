// Runs a compiled language model (architecture contract 7): one sequence, or several at once, with
// a paged cache.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/work.h"
#include "llm/page_table.h"
#include "llm/sampler.h"
#include "llm/speculation/counts.h"
#include "llm/text_inputs.h"
#include "runtime/local_virtual_machine.h"

namespace tapml::llm {

class Speculation;

struct EngineOptions {
  // Tokens that the cache can hold for a text, at most the model's context; 0: that. A text may be
  // longer, up to the context, if all paged state has a window and the cache holds it and one page
  // more: pages that left the window are used again.
  int64_t capacity = 0;
  // Tokens that it has room for before it first grows.
  int64_t first_capacity = 512;
  // Longer inputs are split into pieces of this many tokens, which limits the memory of attention;
  // embeddings that follow one another, such as those of an image, stay in one piece.
  int64_t prefill_chunk = 512;
  // Lets a device that can read host memory use the host's weights without a copy. Only for trusted
  // kernels: one that writes a weight changes the host's copy.
  bool weights_in_place = false;
  // Chooses tokens by the model's functions even on a remote VM, which costs one more wait, so that
  // captures of its calls include these functions.
  bool sample_in_model = false;
  // Makes the cache as a server's looks after a while, for tests: pages in an order that looks
  // random, free pages between them and behind a text's own in the table, and NaN in every row that
  // holds no token. The model's results are the same.
  bool fragmented = false;
};

struct GenerateOptions {
  int64_t max_tokens = 128;  // 0: only runs the prompt
  std::vector<int32_t> eos;  // tokens that end the text
  SamplerOptions sampler;
  // Keeps the logits; the prompt then runs through logits_all.
  bool keep_logits = false;
  // Logits without a token to take (NaN, +infinity, only -infinity) end the text (kNotFinite).
  // Otherwise they are an error that names the kernel where they began.
  bool not_finite_ends = false;
  // Sets the logits of tokens that may not follow to -infinity; the host then chooses. For one text
  // only. UserError if no token is left.
  std::function<void(std::span<float> logits)> constrain;
  // Receives each generated token except the stop token; false ends the text.
  std::function<bool(int32_t token)> on_token;
  // Proposes tokens, which one call checks together; null: each token is a call of `decode`. For
  // one text only. UserError for a model with recurrent state, which cannot forget refused tokens.
  Speculation* speculation = nullptr;
};

enum class StopReason : uint8_t { kEos, kMaxTokens, kContextFull, kCaller, kNotFinite };
// "eos", "max_tokens", "context", "caller", "not_finite"
const char* stop_reason_name(StopReason reason);

struct Generation {
  std::vector<int32_t> tokens;  // without the stop token
  StopReason reason = StopReason::kMaxTokens;
  // f32[P + N - 1, vocabulary] for P prompt tokens and the N in `tokens`: row i holds the logits
  // for token i + 1. Only with keep_logits.
  HostTensor logits;
  double prefill_seconds = 0;  // until the first token is known
  double decode_seconds = 0;   // of the tokens after it
  int64_t decode_steps = 0;    // the number of these tokens, with the stop token
  SpeculationCounts speculation;
};

// Every method runs the executable's functions in a VM; in this process through its call point,
// where observers and dispatchers see them. Not thread-safe.
class Engine {
 public:
  // Loads the executable on `session` and uploads `weights` once. UserError for an executable that
  // is not a language model, a missing weight, and options out of range.
  static Result<std::unique_ptr<Engine>> create(runtime::Session& session,
                                                std::shared_ptr<const Executable> executable,
                                                const std::map<std::string, HostTensor>& weights,
                                                const EngineOptions& options = {});
  // The same on a VM, which may be remote: a decode step is then one call and one read, and the
  // most likely token is chosen locally, unless the options say otherwise.
  static Result<std::unique_ptr<Engine>> create(std::unique_ptr<runtime::VirtualMachine> vm,
                                                const std::map<std::string, HostTensor>& weights,
                                                const EngineOptions& options = {});
  // The same with weights that are on the VM's session already, by name.
  static Result<std::unique_ptr<Engine>> create(
      std::unique_ptr<runtime::VirtualMachine> vm,
      const std::map<std::string, runtime::Tensor>& weights, const EngineOptions& options = {});
  ~Engine();

  const ModelInterface& model() const;
  runtime::VirtualMachine& vm() const;
  // The VM of this process, as the first create() makes it. Not for engines with a remote VM.
  runtime::LocalVirtualMachine& local_vm() const;
  int64_t capacity() const;  // most tokens of a text
  int64_t length() const;    // tokens in the cache
  double load_seconds() const;
  // Reports the prompt tokens that are done, and the generated tokens; unset: reports nothing.
  // Costs a long prompt a few waits for the device.
  void set_watcher(WorkWatcher watcher);
  const WorkWatcher& watcher() const;

  // Forgets the sequence, and frees its pages.
  void reset();
  // Forgets the tokens after the first `length`; has no effect if there are no more than that. The
  // next call reads the remaining tokens again if the model has recurrent state, or if the window
  // before `length` has left the cache.
  void rewind(int64_t length);
  // Forgets the sequence and zeroes the pools, so that data of an earlier run cannot hide a write
  // that is missing in the next one.
  Status clear();
  // Whether the model's texts depend on features, which its encoder reads first.
  bool reads_features() const;
  // Sets the features, [rows, ...]; forgets the sequence. UserError for a model that reads none,
  // and for another dtype or shape than its encoder takes. Calls of a model that needs features are
  // UserErrors without them.
  Status set_features(HostTensor features);
  // Whether embeddings can take the place of tokens in the model's texts.
  bool takes_embeddings() const;
  // Sets the embeddings of each text from now on, without images: the tokens at their positions
  // have no effect, but must be in the vocabulary. No rows: none. Forgets the sequence. UserError
  // for a model that takes none, for rows of another dtype or width than its prefill takes, and for
  // positions that are not one for each row, different and in the context. decode() places none: it
  // is a UserError at such a position. So is generating after a prompt that ends before one.
  Status set_embeddings(PlacedEmbeddings embeddings);
  // Adds rows [m, d] at consecutive positions from `first` on; keeps the sequence. UserError as
  // above, and for positions before length().
  Status place_embeddings(const HostTensor& rows, int64_t first);
  // Whether images can be in the model's texts.
  bool reads_images() const;
  // Adds the embeddings that the model makes of an image, at consecutive positions; keeps the
  // sequence. The next call that takes embeddings makes them. UserError for a model that reads no
  // images, for pixels of another dtype or shape than it takes, and for positions as above.
  Status place_image(const PlacedImage& image);
  // UserError if `count` more tokens end before an embedding's position.
  Status check_prompt(int64_t count) const;
  // Appends tokens and returns the logits f32[1, vocabulary] of the last one, on the session,
  // without waiting. UserError for no tokens, a token outside the vocabulary, and more than fit.
  // Where the tokens end among those of an image that see each other, they see only each other.
  Result<runtime::Tensor> prefill(std::span<const int32_t> tokens);
  Result<runtime::Tensor> decode(int32_t token);
  // Appends tokens and returns the logits of each of them, f32[tokens, vocabulary].
  Result<HostTensor> logits_all(std::span<const int32_t> tokens);
  // The next token after logits f32[1, vocabulary]: by the model's `sample` at temperature 0,
  // otherwise by its `draw`, which advances the generator. If the VM is remote, or cannot `draw`
  // (an executable without it, a device without f64), llm/sampler takes the same token on the host.
  // UserError for logits without a token to take. If they are those of the last call, that call
  // runs again, observed, and the error names the first kernel and layers whose output is not
  // finite; if the cause is in the cache, all calls of the sequence run again.
  Result<int32_t> sample(const runtime::Tensor& logits);
  // The bytes of the logits of the last call, which a remote VM has sent along.
  Result<HostTensor> download(const runtime::Tensor& logits);
  // The same error for the first such row in the result of logits_all().
  Status check_logits(const HostTensor& logits);
  // Sets the parameters of sample(), with a new generator.
  Status set_sampler(const SamplerOptions& options);

  // Forgets the sequence, runs the prompt and continues it.
  Result<Generation> generate(std::span<const int32_t> prompt, const GenerateOptions& options);
  // Continues the current sequence with the prompt, and then generates. If the last token has not
  // been run (length() tells), the prompt must begin with it. After a failure the sequence may hold
  // a part of the prompt and of the text.
  Result<Generation> extend(std::span<const int32_t> prompt, const GenerateOptions& options);
  // The same for several prompts at once: those of equal length are prefilled together, and a
  // decode step is one call for all texts that have not ended. Text i draws with the sampler's seed
  // plus i; `on_token` receives the tokens of all, step by step in the order of the prompts. Each
  // text may fill the cache's capacity. The engine has no sequence afterwards. UserError as for
  // generate(), for no prompts, and for keep_logits.
  Result<std::vector<Generation>> generate_batch(std::span<const std::vector<int32_t>> prompts,
                                                 const GenerateOptions& options);

  // For tests of kernels: calls `prefill`, `decode` and `sample` (with a temperature `draw`) for
  // several texts of different lengths, as far as the context has room for them:
  // - the current text, which must have a token;
  // - one that begins to write its third page, and one that writes across a page's end;
  // - in `decode`, one of `longest` tokens, or as many as the context has.
  // Only the first has a state that the model computed. The pages of the others hold its rows in
  // another order, and a long text names the same pages again and again; their slots are copies.
  // The tokens are those of the current text, and both ends of the vocabulary. `sample` and `draw`
  // get made logits, too (made_logits()). Forgets the sequence, also after an error. Does nothing
  // for a model whose functions take one text only.
  Status run_mixed_batch(int64_t longest = 131072);

  struct State;  // internal to the component

 private:
  friend class BatchDraft;
  friend class ContinuousBatch;
  Engine();
  // `load` makes the arguments of the weights.
  template <class Load>
  static Result<std::unique_ptr<Engine>> create_with(std::unique_ptr<runtime::VirtualMachine> vm,
                                                     const EngineOptions& options, Load&& load);
  class Generator;
  class BatchGenerator;
  class MixedBatch;
  class Verification;
  std::unique_ptr<State> state_;
};

}  // namespace tapml::llm
