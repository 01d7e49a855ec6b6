#include "llm/engine_state.h"

#include <cmath>

namespace tapml::llm {

using runtime::Tensor;
using runtime::Value;

namespace {

// Not every executable has these.
constexpr const char* kPrepare = "prepare";  // of weights, once
constexpr const char* kDraw = "draw";

bool same_bytes(std::span<const std::byte> a, std::span<const int32_t> b) {
  return std::ranges::equal(a, std::as_bytes(b));
}

}  // namespace

Status Engine::State::load(const std::map<std::string, HostTensor>& host_weights, bool in_place) {
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
  TAPML_ASSIGN(std::vector<Tensor> tensors,
               runtime::upload_contents(session, contents, runtime::kDefaultStream, {}, in_place));
  std::vector<Value> weights;
  for (Tensor& tensor : tensors) weights.emplace_back(std::move(tensor));
  TAPML_TRY(prepare(weights));
  args.resize(kInputs);
  for (int64_t i = 0; i < 2 * model.kv.layers; ++i) {
    TAPML_ASSIGN(Tensor pool, zero_pool(allocator.pages()));
    args.emplace_back(std::move(pool));
  }
  args.insert(args.end(), weights.begin(), weights.end());
  return session.synchronize(runtime::kDefaultStream);
}

// What the executable computes of weights alone goes behind them in every call.
Status Engine::State::prepare(std::vector<Value>& weights) {
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

Status Engine::State::grow(int64_t needed, int64_t sequences) {
  if (needed <= allocator.pages()) return {};
  const int64_t target =
      std::max(needed, std::min(sequences * pages_for(capacity), 2 * allocator.pages()));
  for (Value& value : pools()) {
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

Status Engine::State::check_tokens(const Sequence& sequence,
                                   std::span<const int32_t> tokens) const {
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
  if (count > capacity - sequence.length) {
    std::string found = std::to_string(count) + " tokens";
    if (sequence.length > 0) found += " behind " + std::to_string(sequence.length);
    const bool whole = capacity == model.context;
    return fail(user_error(
        whole ? "the text is longer than the model's context" : "the text is longer than the cache",
        "prompt", "at most " + std::to_string(capacity) + " tokens", std::move(found),
        whole ? "shorten the prompt" : "shorten the prompt, or make the cache larger"));
  }
  return {};
}

Status Engine::State::set_input(size_t i, const Shape& shape, std::span<const int32_t> values) {
  Input& input = inputs[i];
  const Tensor* there = args[i].tensor();
  const bool known = there && input.generation == session.generation() &&
                     there->storage->version() == input.version;
  if (known && there->shape == runtime::Extents(shape) && same_bytes(input.bytes, values))
    return {};
  const std::span<const std::byte> bytes = std::as_bytes(values);
  if (!there || there->shape != runtime::Extents(shape)) {
    args[i] = {};  // before there is another one
    TAPML_ASSIGN(Tensor fresh, runtime::make_tensor(session, DType::kI32, shape));
    args[i] = std::move(fresh);
    there = args[i].tensor();
  }
  input.bytes.clear();
  TAPML_TRY(
      session.write(runtime::kDefaultStream, {there->storage->buffer(), there->offset}, bytes));
  there->storage->written();
  input.bytes.assign(bytes.begin(), bytes.end());
  input.version = there->storage->version();
  input.generation = session.generation();
  return {};
}

void Engine::State::note_call(const char* function, std::span<Sequence* const> sequences,
                              std::span<const int32_t> tokens, const Tensor& logits) {
  const size_t count = tokens.size() / sequences.size();
  for (size_t i = 0; i < sequences.size(); ++i) {
    const auto own = tokens.subspan(i * count, count);
    sequences[i]->tokens.insert(sequences[i]->tokens.end(), own.begin(), own.end());
    sequences[i]->calls.push_back({function, static_cast<int64_t>(count)});
  }
  last.function = function;
  last.sequences.assign(sequences.begin(), sequences.end());
  last.tokens.assign(tokens.begin(), tokens.end());
  last.storage = logits.storage->id();
  last.version = logits.storage->version();
  last.offset = logits.offset;
}

Result<Tensor> Engine::State::step(const char* function, std::span<Sequence* const> sequences,
                                   std::span<const int32_t> tokens, bool read) {
  const auto batch = static_cast<int64_t>(sequences.size());
  const int64_t count = static_cast<int64_t>(tokens.size()) / batch;
  int64_t needed = allocator.pages() - allocator.free_pages();
  for (const Sequence* sequence : sequences) {
    needed += pages_for(sequence->length + count) - std::ssize(sequence->pages.table());
  }
  TAPML_TRY(grow(needed, batch));
  size_t columns = 0;
  std::vector<int32_t> lengths;
  for (Sequence* sequence : sequences) {
    TAPML_TRY(sequence->pages.reserve(sequence->length + count));
    columns = std::max(columns, sequence->pages.table().size());
    lengths.push_back(static_cast<int32_t>(sequence->length));
  }
  std::vector<int32_t> table;
  for (const Sequence* sequence : sequences) {
    const std::vector<int32_t>& pages = sequence->pages.table();
    table.insert(table.end(), pages.begin(), pages.end());
    // No token is there; a page of its own is at least one that exists.
    table.insert(table.end(), columns - pages.size(), pages.back());
  }
  TAPML_TRY(set_input(0, {batch, count}, tokens));
  TAPML_TRY(set_input(1, {batch, static_cast<int64_t>(columns)}, table));
  TAPML_TRY(set_input(2, {batch}, lengths));
  Value result;
  // Far away, reading is one more wait: the logits come with the result.
  if (samples_there || !read) {
    TAPML_ASSIGN(result, machine->call(function, args));
  } else {
    TAPML_ASSIGN(auto both, machine->call_and_read(function, args, 0));
    result = std::move(both.result);
    read_bytes = std::move(both.bytes);
  }
  const runtime::ValueList* fields = result.tuple();
  if (!fields || fields->size() != 1 + pools().size() || !fields->front().tensor()) {
    return fail(
        internal_error("a model function returned something else than logits and pools", function));
  }
  std::copy(fields->begin() + 1, fields->end(), pools().begin());
  for (Sequence* sequence : sequences) sequence->length += count;
  const Tensor& logits = *fields->front().tensor();
  if (!tracing) note_call(function, sequences, tokens, logits);
  if (!samples_there && read) {
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

Result<Tensor> Engine::State::prefill(std::span<Sequence* const> sequences,
                                      std::span<const int32_t> tokens) {
  const size_t batch = sequences.size(), count = tokens.size() / batch;
  const auto chunk = static_cast<size_t>(prefill_chunk);
  PromptWatch watch(watcher, session, vm, "prefill", std::ssize(tokens));
  std::vector<int32_t> piece;
  for (size_t first = 0;; first += chunk) {
    const size_t width = std::min(chunk, count - first);
    piece.clear();
    for (size_t i = 0; i < batch; ++i) {
      const auto row = tokens.subspan(i * count + first, width);
      piece.insert(piece.end(), row.begin(), row.end());
    }
    const bool last = first + width == count;
    watch.begin(std::ssize(piece));
    TAPML_ASSIGN(Tensor logits, step("prefill", sequences, piece, last));
    TAPML_TRY(watch.end());
    if (last) return logits;
  }
}

Result<int32_t> Engine::State::choose(const Tensor& logits) {
  // A call of a function far away would be one more wait for the same token.
  const bool random = sampler.temperature > 0;
  if (random ? !draws() : !samples_there) return choose_here(logits);
  if (!random) {
    TAPML_ASSIGN(const HostTensor tokens, likeliest(logits));
    return tokens.values<int32_t>()[0];
  }
  // `sample` knows the state of one sequence as a vector.
  Tensor generators = *sampler_state.tensor();
  generators.shape = {1, 2};
  TAPML_ASSIGN(const HostTensor tokens, draw(logits, draw_parameters, generators));
  generators.shape = {2};
  sampler_state = std::move(generators);
  return tokens.values<int32_t>()[0];
}

Result<int32_t> Engine::State::choose_here(const Tensor& logits) {
  TAPML_ASSIGN(const HostTensor row, bytes_of(logits));
  if (generator_of != session.generation()) {  // a restore put another one back
    TAPML_ASSIGN(generator, runtime::download(*sampler_state.tensor()));
    generator_of = session.generation();
  }
  const Result<int32_t> token = sample_token(row.values<float>(), sampler, generator);
  if (!token) return -1;
  if (sampler.temperature > 0) {
    TAPML_ASSIGN(Tensor advanced, runtime::upload(session, generator));
    sampler_state = std::move(advanced);
  }
  return token;
}

bool Engine::State::draws() const {
  return samples_there && machine->executable().find_function(kDraw) &&
         session.info().features.compute_dtypes.contains(DType::kF64);
}

Result<HostTensor> Engine::State::draw(const Tensor& logits, Tensor parameters,
                                       Tensor& generators) {
  const int64_t rows = logits.shape[0];
  const std::vector<Value> args = {logits, std::move(parameters), generators};
  TAPML_ASSIGN(Value result, machine->call(kDraw, args));
  const runtime::ValueList* fields = result.tuple();
  if (!fields || fields->size() != 2 || !(*fields)[0].tensor() || !(*fields)[1].tensor()) {
    return fail(internal_error("draw returned something else than tokens and generators"));
  }
  generators = *(*fields)[1].tensor();
  TAPML_ASSIGN(HostTensor tokens, runtime::download(*(*fields)[0].tensor()));
  if (tokens.dtype() != DType::kI32 || tokens.size() != rows) {
    return fail(internal_error("draw returned something else than an i32 token for each row"));
  }
  for (int64_t row = 0; row < rows; ++row) {
    const int32_t token = tokens.values<int32_t>()[static_cast<size_t>(row)];
    if (token >= -1 && token < model.vocabulary) continue;
    return fail(internal_error("draw returned token " + std::to_string(token)));
  }
  return tokens;
}

Result<HostTensor> Engine::State::likeliest(const Tensor& logits) {
  const int64_t rows = logits.shape[0];
  Value parameters = sampler_parameters;
  if (rows != 1) {
    TAPML_ASSIGN(Tensor uploaded, runtime::upload(session, llm::sampler_parameters(sampler, rows)));
    parameters = std::move(uploaded);
  }
  const std::vector<Value> args = {logits, parameters, sampler_state};
  TAPML_ASSIGN(Value result, machine->call("sample", args));
  const runtime::ValueList* fields = result.tuple();
  if (!fields || fields->size() != 2 || !fields->front().tensor()) {
    return fail(internal_error("sample returned something else than tokens and state"));
  }
  TAPML_ASSIGN(HostTensor tokens, runtime::download(*fields->front().tensor()));
  if (tokens.dtype() != DType::kI32 || tokens.size() != rows) {
    return fail(internal_error("sample returned something else than an i32 token for each row"));
  }
  sampler_state = (*fields)[1];
  // In argmax's order NaN is the greatest, then +infinity: the logits that were taken say it of
  // all. The tokens are here, so the logits are done.
  const std::byte* const here = session.host_address(logits.storage->buffer());
  for (int64_t row = 0; row < rows; ++row) {
    int32_t& token = tokens.mutable_values<int32_t>()[static_cast<size_t>(row)];
    if (token < 0 || token >= model.vocabulary) {
      return fail(internal_error("sample returned token " + std::to_string(token)));
    }
    float taken = 0;
    const int64_t at =
        logits.offset + (row * model.vocabulary + token) * static_cast<int64_t>(sizeof taken);
    const auto bytes = std::as_writable_bytes(std::span(&taken, 1));
    if (here) {
      std::copy_n(here + at, bytes.size(), bytes.begin());
    } else {
      TAPML_TRY(session.read(runtime::kDefaultStream, {logits.storage->buffer(), at}, bytes));
    }
    if (!std::isfinite(taken)) token = -1;
  }
  return tokens;
}

Status Engine::State::clear_pools() {
  for (const Value& value : pools()) {
    const Tensor& pool = *value.tensor();
    TAPML_TRY(session.fill_zero(runtime::kDefaultStream, {pool.storage->buffer(), pool.offset},
                                pool.byte_size()));
    pool.storage->written();
  }
  return {};
}

}  // namespace tapml::llm
