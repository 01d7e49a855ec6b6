#include "llm/engine.h"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace tapml::llm {

using runtime::Tensor;
using runtime::Value;

namespace {

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

constexpr const char* kFunctions[] = {"prefill", "decode", "logits_all", "sample"};

constexpr const char* kPrepare = "prepare";  // of weights, once; not every executable has it

Status check_model(const Executable& executable) {
  const ModelInterface& model = executable.model;
  const KvLayout& kv = model.kv;
  const bool complete = model.vocabulary > 0 && model.context > 0 && kv.layers > 0 &&
                        kv.kv_heads > 0 && kv.head_dim > 0 && kv.page_size > 0;
  if (!complete) {
    return fail(user_error("the executable is not a language model", executable.target,
                           "a model interface with vocabulary, context and cache layout",
                           "none, or an incomplete one"));
  }
  for (const char* name : kFunctions) {
    if (executable.find_function(name)) continue;
    return fail(user_error("the executable lacks a function of a language model", executable.target,
                           name, "no such function"));
  }
  return {};
}

Status check_options(const EngineOptions& options, const ModelInterface& model) {
  if (options.capacity < 0 || options.capacity > model.context) {
    return fail(user_error(
        "the cache's capacity is out of range", "capacity",
        "from 1 to " + std::to_string(model.context) + " tokens, or 0 for the whole context",
        std::to_string(options.capacity)));
  }
  if (options.first_capacity < 1) {
    return fail(user_error("the cache's first capacity is out of range", "first_capacity",
                           "at least 1 token", std::to_string(options.first_capacity)));
  }
  if (options.prefill_chunk < 1) {
    return fail(user_error("the size of a piece of the prompt is out of range", "prefill_chunk",
                           "at least 1 token", std::to_string(options.prefill_chunk)));
  }
  return {};
}

HostTensor int_tensor(Shape shape, std::span<const int32_t> values) {
  return HostTensor::from(DType::kI32, std::move(shape), values);
}

// Rows of f32 logits that are put together on the host.
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

}  // namespace

const char* stop_reason_name(StopReason reason) {
  switch (reason) {
    case StopReason::kEos:
      return "eos";
    case StopReason::kMaxTokens:
      return "max_tokens";
    case StopReason::kContextFull:
      return "context";
    case StopReason::kCaller:
      return "caller";
  }
  return "unknown";
}

struct Engine::State {
  State(std::unique_ptr<runtime::Machine> runs, const EngineOptions& options)
      : session(runs->session()),
        machine(std::move(runs)),
        vm(dynamic_cast<runtime::VirtualMachine*>(machine.get())),
        model(machine->executable().model),
        capacity(options.capacity ? options.capacity : model.context),
        prefill_chunk(options.prefill_chunk),
        allocator(pages_for(std::min(capacity, options.first_capacity))),
        pages(allocator, model.kv.page_size) {}

  Status load(const std::map<std::string, HostTensor>& host_weights);
  int64_t pages_for(int64_t tokens) const {
    return (tokens + model.kv.page_size - 1) / model.kv.page_size;
  }
  Status prepare();
  Result<Tensor> zero_pool(int64_t pool_pages);
  Status grow(int64_t tokens);
  Status check_tokens(std::span<const int32_t> tokens) const;
  // `read`: the logits' bytes will be wanted here.
  Result<Tensor> step(const char* function, std::span<const int32_t> tokens, bool read = true);
  Result<HostTensor> bytes_of(const Tensor& logits);
  Result<int32_t> draw(const Tensor& logits);

  runtime::Session& session;
  std::unique_ptr<runtime::Machine> machine;
  runtime::VirtualMachine* vm;  // null: the machine is remote
  const ModelInterface& model;
  int64_t capacity, prefill_chunk;
  PageAllocator allocator;
  SequencePages pages;
  std::vector<Value> pools, weights;  // behind the weights what `prepare` made of them
  SamplerOptions sampler;
  Value sampler_parameters, sampler_state;
  // Logits that came with the result of a step, and the tensor that they are the bytes of.
  HostTensor read_bytes;
  Tensor read_tensor;
  uint64_t read_version = 0, read_generation = 0;
  HostTensor generator;       // what sampler_state holds, while it was drawn from here alone
  uint64_t generator_of = 0;  // Session::generation()
  int64_t length = 0;
  double load_seconds = 0;
};

Status Engine::State::load(const std::map<std::string, HostTensor>& host_weights) {
  std::vector<const HostTensor*> contents;
  for (const std::string& name : model.weights) {
    auto it = host_weights.find(name);
    if (it == host_weights.end()) {
      return fail(user_error("weight " + name + " is missing", machine->executable().target,
                             std::to_string(model.weights.size()) + " weights",
                             std::to_string(host_weights.size()) + ", this one not among them"));
    }
    contents.push_back(&it->second);
  }
  TAPML_ASSIGN(std::vector<Tensor> tensors, runtime::upload_contents(session, contents));
  for (Tensor& tensor : tensors) weights.emplace_back(std::move(tensor));
  TAPML_TRY(prepare());
  for (int64_t i = 0; i < 2 * model.kv.layers; ++i) {
    TAPML_ASSIGN(Tensor pool, zero_pool(allocator.pages()));
    pools.emplace_back(std::move(pool));
  }
  return session.synchronize(runtime::kDefaultStream);
}

// What the executable computes of weights alone goes behind them in every call.
Status Engine::State::prepare() {
  if (!machine->executable().find_function(kPrepare)) return {};
  TAPML_ASSIGN(Value made, machine->call(kPrepare, weights));
  const runtime::ValueList* fields = made.tuple();
  if (!fields) return fail(internal_error("prepare returned something else than a tuple"));
  weights.insert(weights.end(), fields->begin(), fields->end());
  return {};
}

// Slots that nobody has written are never read, but what is carved of a pool must not depend on
// what the memory held before.
Result<Tensor> Engine::State::zero_pool(int64_t pool_pages) {
  const KvLayout& kv = model.kv;
  TAPML_ASSIGN(Tensor pool,
               runtime::make_tensor(session, kv.dtype,
                                    {pool_pages, kv.page_size, kv.kv_heads, kv.head_dim}));
  TAPML_TRY(session.fill_zero(runtime::kDefaultStream, {pool.storage->buffer(), pool.offset},
                              pool.byte_size()));
  pool.storage->written();
  return pool;
}

// Makes the pools large enough for `tokens`, at least twice as large as they were, so that a long
// context costs memory only when it is used.
Status Engine::State::grow(int64_t tokens) {
  if (pages_for(tokens) <= allocator.pages()) return {};
  const int64_t target =
      std::min(pages_for(capacity), std::max(pages_for(tokens), 2 * allocator.pages()));
  for (Value& value : pools) {
    const Tensor& old = *value.tensor();
    TAPML_ASSIGN(Tensor pool, zero_pool(target));
    TAPML_TRY(session.copy(runtime::kDefaultStream, {old.storage->buffer(), old.offset},
                           {pool.storage->buffer(), pool.offset}, old.byte_size()));
    pool.storage->written();
    // The old pool may go only when its copy is done.
    TAPML_TRY(session.synchronize(runtime::kDefaultStream));
    value = std::move(pool);
  }
  allocator.grow(target);
  return {};
}

Status Engine::State::check_tokens(std::span<const int32_t> tokens) const {
  if (tokens.empty()) {
    return fail(user_error("the prompt is empty", "prompt", "at least one token", "none"));
  }
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] >= 0 && tokens[i] < model.vocabulary) continue;
    return fail(user_error("token " + std::to_string(i) + " is outside the vocabulary", "prompt",
                           "from 0 to " + std::to_string(model.vocabulary - 1),
                           std::to_string(tokens[i])));
  }
  const auto count = static_cast<int64_t>(tokens.size());
  if (count > capacity - length) {
    std::string found = std::to_string(count) + " tokens";
    if (length > 0) found += " behind " + std::to_string(length);
    const bool whole = capacity == model.context;
    return fail(user_error(
        whole ? "the text is longer than the model's context" : "the text is longer than the cache",
        "prompt", "at most " + std::to_string(capacity) + " tokens", std::move(found),
        whole ? "shorten the prompt" : "shorten the prompt, or make the cache larger"));
  }
  return {};
}

// Runs prefill, decode or logits_all over tokens that were checked and returns the logits.
Result<Tensor> Engine::State::step(const char* function, std::span<const int32_t> tokens,
                                   bool read) {
  const auto count = static_cast<int64_t>(tokens.size());
  TAPML_TRY(grow(length + count));
  TAPML_TRY(pages.reserve(length + count));
  const std::vector<int32_t>& table = pages.table();
  const auto start = static_cast<int32_t>(length);
  std::vector<Value> args;
  args.reserve(3 + pools.size() + weights.size());
  for (const HostTensor& input :
       {int_tensor({1, count}, tokens), int_tensor({1, static_cast<int64_t>(table.size())}, table),
        int_tensor({1}, std::span(&start, 1))}) {
    TAPML_ASSIGN(Tensor tensor, runtime::upload(session, input));
    args.emplace_back(std::move(tensor));
  }
  args.insert(args.end(), pools.begin(), pools.end());
  args.insert(args.end(), weights.begin(), weights.end());
  Value result;
  // Far away, reading is one more wait: the logits come with the result.
  if (vm || !read) {
    TAPML_ASSIGN(result, machine->call(function, args));
  } else {
    TAPML_ASSIGN(auto both, machine->call_and_read(function, args, 0));
    result = std::move(both.result);
    read_bytes = std::move(both.bytes);
  }
  const runtime::ValueList* fields = result.tuple();
  if (!fields || fields->size() != 1 + pools.size() || !fields->front().tensor()) {
    return fail(
        internal_error("a model function returned something else than logits and pools", function));
  }
  std::copy(fields->begin() + 1, fields->end(), pools.begin());
  length += count;
  const Tensor& logits = *fields->front().tensor();
  if (!vm && read) {
    read_tensor = logits;
    read_version = logits.storage->version();
    read_generation = session.generation();
  }
  return logits;
}

Result<HostTensor> Engine::State::bytes_of(const Tensor& logits) {
  const bool here = logits.storage && logits.storage == read_tensor.storage &&
                    logits.offset == read_tensor.offset &&
                    logits.byte_size() == read_tensor.byte_size() &&
                    !logits.storage->written_since(read_version, logits.offset, logits.byte_size());
  if (here && read_generation == session.generation()) return read_bytes;
  return runtime::download(logits);
}

Engine::Engine() = default;
Engine::~Engine() = default;

Result<std::unique_ptr<Engine>> Engine::create(runtime::Session& session,
                                               std::shared_ptr<const Executable> executable,
                                               const std::map<std::string, HostTensor>& weights,
                                               const EngineOptions& options) {
  const double start = seconds_now();
  TAPML_TRY(check_model(*executable));
  TAPML_TRY(check_options(options, executable->model));
  TAPML_ASSIGN(auto vm, runtime::VirtualMachine::create(session, std::move(executable)));
  TAPML_ASSIGN(auto engine, create(std::move(vm), weights, options));
  engine->state_->load_seconds = seconds_now() - start;
  return engine;
}

Result<std::unique_ptr<Engine>> Engine::create(std::unique_ptr<runtime::Machine> machine,
                                               const std::map<std::string, HostTensor>& weights,
                                               const EngineOptions& options) {
  const double start = seconds_now();
  TAPML_TRY(check_model(machine->executable()));
  TAPML_TRY(check_options(options, machine->executable().model));
  std::unique_ptr<Engine> engine(new Engine());
  engine->state_ = std::make_unique<State>(std::move(machine), options);
  TAPML_TRY(engine->state_->load(weights));
  TAPML_TRY(engine->set_sampler({}));
  engine->state_->load_seconds = seconds_now() - start;
  return engine;
}

const ModelInterface& Engine::model() const { return state_->model; }
runtime::Machine& Engine::machine() const { return *state_->machine; }
runtime::VirtualMachine& Engine::vm() const { return *state_->vm; }
int64_t Engine::capacity() const { return state_->capacity; }
int64_t Engine::length() const { return state_->length; }
double Engine::load_seconds() const { return state_->load_seconds; }

void Engine::reset() {
  state_->pages.clear();
  state_->length = 0;
}

Status Engine::clear() {
  reset();
  for (const Value& value : state_->pools) {
    const Tensor& pool = *value.tensor();
    TAPML_TRY(state_->session.fill_zero(runtime::kDefaultStream,
                                        {pool.storage->buffer(), pool.offset}, pool.byte_size()));
    pool.storage->written();
  }
  return {};
}

Result<Tensor> Engine::prefill(std::span<const int32_t> tokens) {
  TAPML_TRY(state_->check_tokens(tokens));
  const auto chunk = static_cast<size_t>(state_->prefill_chunk);
  for (; tokens.size() > chunk; tokens = tokens.subspan(chunk)) {
    TAPML_TRY(state_->step("prefill", tokens.first(chunk), false));
  }
  return state_->step("prefill", tokens);
}

Result<Tensor> Engine::decode(int32_t token) {
  const std::span<const int32_t> tokens(&token, 1);
  TAPML_TRY(state_->check_tokens(tokens));
  return state_->step("decode", tokens);
}

Result<HostTensor> Engine::logits_all(std::span<const int32_t> tokens) {
  TAPML_TRY(state_->check_tokens(tokens));
  LogitRows rows(state_->model.vocabulary);
  while (!tokens.empty()) {
    const size_t count = std::min(tokens.size(), static_cast<size_t>(state_->prefill_chunk));
    TAPML_ASSIGN(Tensor logits, state_->step("logits_all", tokens.first(count)));
    TAPML_ASSIGN(HostTensor host, state_->bytes_of(logits));
    rows.append(host);
    tokens = tokens.subspan(count);
  }
  return rows.first(rows.size());
}

Status Engine::set_sampler(const SamplerOptions& options) {
  TAPML_TRY(check_sampler_options(options));
  TAPML_ASSIGN(Tensor parameters,
               runtime::upload(state_->session, llm::sampler_parameters(options, 1)));
  state_->generator = llm::sampler_state(options);
  state_->generator_of = state_->session.generation();
  TAPML_ASSIGN(Tensor generator, runtime::upload(state_->session, state_->generator));
  state_->sampler_parameters = std::move(parameters);
  state_->sampler_state = std::move(generator);
  state_->sampler = options;
  return {};
}

// Downloads the logits: what is drawn must not depend on how a platform computes.
Result<int32_t> Engine::State::draw(const Tensor& logits) {
  TAPML_ASSIGN(const HostTensor row, bytes_of(logits));
  if (generator_of != session.generation()) {  // a restore put another one back
    TAPML_ASSIGN(generator, runtime::download(*sampler_state.tensor()));
    generator_of = session.generation();
  }
  TAPML_ASSIGN(const int32_t token, sample_token(row.values<float>(), sampler, generator));
  if (sampler.temperature > 0) {
    TAPML_ASSIGN(Tensor advanced, runtime::upload(session, generator));
    sampler_state = std::move(advanced);
  }
  return token;
}

Result<int32_t> Engine::sample(const Tensor& logits) {
  // A call of `sample` far away would be one more wait for the same token.
  if (state_->sampler.temperature > 0 || !state_->vm) return state_->draw(logits);
  const std::vector<Value> args = {logits, state_->sampler_parameters, state_->sampler_state};
  TAPML_ASSIGN(Value result, state_->machine->call("sample", args));
  const runtime::ValueList* fields = result.tuple();
  if (!fields || fields->size() != 2 || !fields->front().tensor()) {
    return fail(internal_error("sample returned something else than tokens and state"));
  }
  TAPML_ASSIGN(HostTensor tokens, runtime::download(*fields->front().tensor()));
  if (tokens.dtype() != DType::kI32 || tokens.size() != 1) {
    return fail(internal_error("sample returned something else than one i32 token"));
  }
  state_->sampler_state = (*fields)[1];
  return tokens.values<int32_t>()[0];
}

// One call of generate().
class Engine::Generator {
 public:
  Generator(Engine& engine, const GenerateOptions& options)
      : engine_(engine), options_(options), rows_(engine.model().vocabulary) {}

  Result<Generation> run(std::span<const int32_t> prompt) {
    double start = seconds_now();
    TAPML_ASSIGN(Tensor logits, run_prompt(prompt));
    bool more = options_.max_tokens > 0;
    int32_t token = 0;
    if (more) {
      TAPML_ASSIGN(token, engine_.sample(logits));
      more = accept(token);
    } else {
      TAPML_TRY(engine_.machine().session().synchronize(runtime::kDefaultStream));
    }
    result_.prefill_seconds = seconds_now() - start;
    start = seconds_now();
    while (more) {
      TAPML_ASSIGN(logits, engine_.decode(token));
      if (options_.keep_logits) {
        TAPML_ASSIGN(HostTensor row, engine_.state_->bytes_of(logits));
        rows_.append(row);
      }
      TAPML_ASSIGN(token, engine_.sample(logits));
      ++result_.decode_steps;
      more = accept(token);
    }
    result_.decode_seconds = seconds_now() - start;
    if (options_.keep_logits) {
      result_.logits = rows_.first(static_cast<int64_t>(prompt.size() + result_.tokens.size()) - 1);
    }
    return std::move(result_);
  }

 private:
  Result<Tensor> run_prompt(std::span<const int32_t> prompt) {
    if (!options_.keep_logits) return engine_.prefill(prompt);
    TAPML_ASSIGN(HostTensor all, engine_.logits_all(prompt));
    rows_.append(all);
    return runtime::upload(engine_.machine().session(), rows_.last());
  }

  // Takes a sampled token; whether the text goes on.
  bool accept(int32_t token) {
    const auto& eos = options_.eos;
    if (std::find(eos.begin(), eos.end(), token) != eos.end()) return stop(StopReason::kEos);
    result_.tokens.push_back(token);
    if (options_.on_token && !options_.on_token(token)) return stop(StopReason::kCaller);
    if (static_cast<int64_t>(result_.tokens.size()) >= options_.max_tokens) {
      return stop(StopReason::kMaxTokens);
    }
    if (engine_.length() >= engine_.capacity()) return stop(StopReason::kContextFull);
    return true;
  }

  bool stop(StopReason reason) {
    result_.reason = reason;
    return false;
  }

  Engine& engine_;
  const GenerateOptions& options_;
  LogitRows rows_;
  Generation result_;
};

Result<Generation> Engine::generate(std::span<const int32_t> prompt,
                                    const GenerateOptions& options) {
  if (options.max_tokens < 0) {
    return fail(user_error("the number of tokens to generate is negative", "max_tokens",
                           "at least 0", std::to_string(options.max_tokens)));
  }
  reset();
  TAPML_TRY(set_sampler(options.sampler));
  return Generator(*this, options).run(prompt);
}

}  // namespace tapml::llm
