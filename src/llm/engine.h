// Runs a compiled language model (architecture contract 7): one sequence, or several at once, over
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
#include "runtime/local_virtual_machine.h"

namespace tapml::llm {

struct EngineOptions {
  // Tokens that the cache can hold; 0: the model's context. At most the context.
  int64_t capacity = 0;
  // Tokens that it has room for before it grows.
  int64_t first_capacity = 512;
  // Longer inputs pass in pieces of so many tokens, which bounds the memory of attention.
  int64_t prefill_chunk = 512;
  // A device that can reads the weights where the host has them, instead of a copy: for runs whose
  // kernels are trusted, since one that writes a weight writes the host's.
  bool weights_in_place = false;
  // Tokens are chosen by the model's functions also where the machine is remote, which takes one
  // more wait: what captures its calls sees these, too.
  bool sample_in_model = false;
};

struct GenerateOptions {
  int64_t max_tokens = 128;  // 0: only the prompt runs
  std::vector<int32_t> eos;  // tokens that end the text
  SamplerOptions sampler;
  // Keeps the logits (the prompt goes through logits_all then).
  bool keep_logits = false;
  // Logits that no token can be taken from (NaN, +infinity, nothing but -infinity) end the text
  // (kNotFinite). Without it they are an error, which names the kernel where they began.
  bool not_finite_ends = false;
  // Sees each generated token, the stop token not; false ends the text.
  std::function<bool(int32_t token)> on_token;
};

enum class StopReason : uint8_t { kEos, kMaxTokens, kContextFull, kCaller, kNotFinite };
// "eos", "max_tokens", "context", "caller", "not_finite"
const char* stop_reason_name(StopReason reason);

struct Generation {
  std::vector<int32_t> tokens;  // without the stop token
  StopReason reason = StopReason::kMaxTokens;
  // f32[P + N - 1, vocabulary] of P prompt tokens and the N in `tokens`: row i is what token i + 1
  // was, or would have been, drawn from. With keep_logits only.
  HostTensor logits;
  double prefill_seconds = 0;  // until the first token is known
  double decode_seconds = 0;   // of the tokens after it
  int64_t decode_steps = 0;
};

// Every method is an ordinary run of the executable's functions through a machine: on this side
// through its call point, where observers and dispatchers see it. Not for use from several threads.
class Engine {
 public:
  // Loads the executable on `session` and uploads `weights` once. UserError for an executable that
  // is no language model, a weight that is missing, and options out of range.
  static Result<std::unique_ptr<Engine>> create(runtime::Session& session,
                                                std::shared_ptr<const Executable> executable,
                                                const std::map<std::string, HostTensor>& weights,
                                                const EngineOptions& options = {});
  // The same on a machine, which may be remote: then a decode step is one call and one read, and
  // the most likely token is chosen here, unless the options say otherwise.
  static Result<std::unique_ptr<Engine>> create(std::unique_ptr<runtime::VirtualMachine> vm,
                                                const std::map<std::string, HostTensor>& weights,
                                                const EngineOptions& options = {});
  ~Engine();

  const ModelInterface& model() const;
  runtime::VirtualMachine& vm() const;
  // The VM of this process, as the first create() makes it. Not for engines whose VM is remote.
  runtime::LocalVirtualMachine& local_vm() const;
  int64_t capacity() const;
  int64_t length() const;  // tokens in the cache
  double load_seconds() const;
  // Is told of the tokens of a prompt that are done, and of those that were generated; empty:
  // nobody is. Costs a long prompt a few waits for the device.
  void set_watcher(WorkWatcher watcher);
  const WorkWatcher& watcher() const;

  // Forgets the sequence: its pages are free again.
  void reset();
  // Forgets what lies behind the first `length` tokens of the sequence; a longer one than it has
  // changes nothing. A model with recurrent state reads those that stay once more, with the next
  // call.
  void rewind(int64_t length);
  // Forgets the sequence and zeroes the pools, so that nothing of an earlier run can stand in for
  // what the next one must write.
  Status clear();
  // Whether texts of the model are about something that its encoder reads first.
  bool reads_features() const;
  // What that is, [rows, ...], from now on; forgets the sequence. UserError for a model that reads
  // none. Without features such a model's calls are UserErrors.
  Status set_features(HostTensor features);
  // Appends tokens and returns the logits f32[1, vocabulary] of the last one, on the session; waits
  // for nothing. UserError for no tokens, a token outside the vocabulary, and more than fit.
  Result<runtime::Tensor> prefill(std::span<const int32_t> tokens);
  Result<runtime::Tensor> decode(int32_t token);
  // Appends tokens and returns the logits of each of them, f32[tokens, vocabulary].
  Result<HostTensor> logits_all(std::span<const int32_t> tokens);
  // The next token after logits f32[1, vocabulary]: by the model's `sample` at temperature 0, else
  // by its `draw`, which advances the generator. Where the machine is far away, or cannot `draw`
  // (an executable without it, a device without f64), llm/sampler takes the same token here.
  // UserError for logits that no token can be taken from. Where they are those of the last call,
  // that runs once more, observed, and the error names the first kernel and layers whose output is
  // not finite; if it needs what is in the cache, all calls of the sequence do.
  Result<int32_t> sample(const runtime::Tensor& logits);
  // The same error for the first row of logits_all()'s result that has it.
  Status check_logits(const HostTensor& logits);
  // Parameters and fresh generator of sample().
  Status set_sampler(const SamplerOptions& options);

  // Forgets the sequence, runs the prompt and continues it.
  Result<Generation> generate(std::span<const int32_t> prompt, const GenerateOptions& options);
  // Continues the sequence that is there with the prompt, and this one. Where the last token was
  // not run (length() says so), a prompt begins with it. After a failure the sequence may hold a
  // part of the prompt and of the text.
  Result<Generation> extend(std::span<const int32_t> prompt, const GenerateOptions& options);
  // The same of several prompts at once: those of one length are prefilled together, and a decode
  // step is one call for all texts that have not ended. Text i draws with the sampler's seed plus
  // i; `on_token` sees the tokens of all, step by step in the order of the prompts. Each text may
  // fill the cache's capacity. The engine has no sequence afterwards. UserError as for generate(),
  // for no prompts, and for keep_logits.
  Result<std::vector<Generation>> generate_batch(std::span<const std::vector<int32_t>> prompts,
                                                 const GenerateOptions& options);

 private:
  Engine();
  struct State;
  class Generator;
  class BatchGenerator;
  std::unique_ptr<State> state_;
};

}  // namespace tapml::llm
