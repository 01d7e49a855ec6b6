#include "llm/engine_state.h"

#include <cmath>
#include <set>
#include <utility>

#include "llm/speculation/accept.h"

namespace tapml::llm {

using runtime::Tensor;
using runtime::Value;

namespace {

// Some executables lack these.
constexpr const char* kDraw = "draw";
constexpr const char* kEncode = "encode";

}  // namespace

Status Engine::State::find_inputs() {
  TAPML_TRY(find_embedding_input());
  return find_image_input();
}

Status Engine::State::load(std::vector<Value> weights) {
  arguments.set_weights(std::move(weights));
  TAPML_TRY(state.allocate(rows.pages.pages(), rows.slots.pages()));
  return session.synchronize(runtime::kDefaultStream);
}

Status Engine::State::grow(int64_t needed, int64_t sequences) {
  if (needed <= rows.pages.pages()) return {};
  const int64_t most = page_limit > 0 ? page_limit : sequences * pages_for(capacity);
  const int64_t target = std::max(needed, std::min(most, 2 * rows.pages.pages()));
  TAPML_TRY(state.grow_pages(target));
  rows.pages.grow(target);
  return {};
}

Result<int64_t> Engine::State::piece_of(std::span<Sequence* const> sequences, int64_t count) const {
  int64_t room = count;
  for (const Sequence* sequence : sequences) {
    if (window == 0) break;
    const int64_t released = std::max<int64_t>(sequence->length - window, 0) / model.page_size;
    room = std::min(room, (released + pages_for(capacity)) * model.page_size - sequence->length);
  }
  const int64_t wanted = std::min(room, prefill_chunk);
  if (embeddings.positions.empty()) return wanted;
  const std::set<int64_t> placed(embeddings.positions.begin(), embeddings.positions.end());
  const auto splits = [&](int64_t width) {
    return width < count && std::ranges::any_of(
                                sequences,
                                [&](const Sequence* sequence) {
                                  const int64_t end = sequence->length + width;
                                  return placed.contains(end - 1) && placed.contains(end);
                                });
  };
  for (int64_t width = wanted; width > 0; --width) {
    if (!splits(width)) return width;
  }
  for (int64_t width = wanted + 1; width <= room; ++width) {
    if (!splits(width)) return width;
  }
  return fail(user_error("embeddings that follow one another do not fit into the cache",
                         "embeddings", "a cache with room for all of them",
                         "room for " + std::to_string(room) + " tokens", "make the cache larger"));
}

Result<int64_t> Engine::State::proposal_room(Sequence& sequence, int64_t left) const {
  // The last token of a text is chosen and not read.
  int64_t room = std::min(left - 1, longest_text - sequence.size() - 1);
  // A call that grows the text above this length reads all of it otherwise, proposed tokens or not.
  const int64_t after_one = sequence.size() + 1;
  if (!is_long(after_one) && model.short_text > 0) {
    room = std::min(room, model.short_text - after_one);
  }
  if (room < 1) return room;
  Sequence* const one = &sequence;
  TAPML_ASSIGN(const int64_t piece, piece_of({&one, 1}, room + 1));
  return piece - 1;
}

Status Engine::State::reserve_pages(std::span<Sequence* const> sequences, int64_t count) {
  if (!model.has_state(StateKind::kPaged)) return {};
  for (Sequence* sequence : sequences) {
    if (window > 0) sequence->pages.release_before(sequence->length - window);
  }
  int64_t needed = rows.pages.pages() - rows.pages.free_pages();
  for (const Sequence* sequence : sequences) {
    needed += pages_for(sequence->length + count) - std::ssize(sequence->pages.table());
  }
  // At least one page stays free.
  TAPML_TRY(grow(needed + (fragmented ? 1 : 0), std::ssize(sequences)));
  for (Sequence* sequence : sequences) {
    const auto before = static_cast<size_t>(std::ssize(sequence->pages.table()));
    TAPML_TRY(sequence->pages.reserve(sequence->length + count));
    if (!state.poisoned()) continue;
    // An earlier text may have written them.
    const std::span<const int32_t> table = sequence->pages.table();
    for (const int32_t page : table.subspan(before)) TAPML_TRY(state.clear_page(page));
  }
  return {};
}

Status Engine::State::reserve_slots(std::span<Sequence* const> sequences) {
  if (!model.has_state(StateKind::kRecurrent) && !model.has_state(StateKind::kFixed)) return {};
  for (Sequence* sequence : sequences) {
    if (sequence->slot < 0) {
      if (rows.slots.free_pages() == 0) {
        TAPML_TRY(state.grow_slots(2 * rows.slots.pages()));
        rows.slots.grow(2 * rows.slots.pages());
      }
      TAPML_TRY(sequence->take_slot());
      TAPML_TRY(state.clear_slot(sequence->slot));
    }
    if (!sequence->is_encoded && model.find_function(kEncode)) TAPML_TRY(encode(*sequence));
  }
  return {};
}

Status Engine::State::encode(Sequence& sequence) {
  if (features.size() == 0) {
    return fail(user_error("the model needs features before it generates text", "features",
                           "a tensor of features", "none"));
  }
  const ModelFunction& encoder = function(kEncode);
  Shape shape = features.shape();
  const int32_t count = static_cast<int32_t>(shape[0]);
  shape.insert(shape.begin(), 1);
  TAPML_ASSIGN(Tensor uploaded, runtime::upload(session, features.reshaped(shape)));
  arguments.set(Role::kFeatures, std::move(uploaded));
  TAPML_TRY(arguments.set(Role::kFeatureLengths, {1}, {{count}}));
  TAPML_TRY(arguments.set(Role::kSlots, {1}, {{sequence.slot}}));
  TAPML_TRY(call(encoder, nullptr));
  sequence.is_encoded = true;
  return {};
}

Status Engine::State::check_features(const HostTensor& given) const {
  const auto wanted = InputOfText::find(vm->executable(), function(kEncode), Role::kFeatures);
  if (wanted ? wanted->takes(given) : !given.shape().empty() && given.size() > 0) return {};
  return fail(user_error("the features do not fit the model's encoder", "features",
                         wanted ? wanted->text() : "at least one row",
                         dtype_name(given.dtype()) + shape_to_string(given.shape())));
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
  if (count > longest_text - sequence.size()) {
    std::string found = std::to_string(count) + " tokens";
    if (sequence.size() > 0) found += " after " + std::to_string(sequence.size());
    const bool whole = longest_text == model.context;
    return fail(user_error(
        whole ? "the text is longer than the model's context" : "the text is longer than the cache",
        "prompt", "at most " + std::to_string(longest_text) + " tokens", std::move(found),
        whole ? "shorten the prompt" : "shorten the prompt, or make the cache larger"));
  }
  return {};
}

Status Engine::State::set_page_table(std::span<Sequence* const> sequences) {
  size_t columns = 0;
  for (const Sequence* sequence : sequences) {
    columns = std::max(columns, sequence->pages.table().size());
  }
  // Columns without tokens must refer to a page that exists.
  const int32_t unused = fragmented ? rows.pages.peek() : -1;
  if (unused >= 0 && static_cast<int64_t>(columns) < pages_for(model.context)) ++columns;
  std::vector<int32_t> table;
  for (const Sequence* sequence : sequences) {
    const std::vector<int32_t>& pages = sequence->pages.table();
    table.insert(table.end(), pages.begin(), pages.end());
    table.insert(table.end(), columns - pages.size(), unused >= 0 ? unused : pages.back());
  }
  return arguments.set(Role::kPageTable, {std::ssize(sequences), static_cast<int64_t>(columns)},
                       table);
}

Status Engine::State::set_inputs(const ModelFunction& function,
                                 std::span<Sequence* const> sequences,
                                 std::span<const int32_t> tokens) {
  const int64_t batch = std::ssize(sequences);
  const int64_t count = std::ssize(tokens) / batch;
  // Sets one number for each sequence.
  const auto set_each = [&](Role role, auto&& number) {
    std::vector<int32_t> numbers;
    for (const Sequence* sequence : sequences) {
      numbers.push_back(static_cast<int32_t>(number(*sequence)));
    }
    return arguments.set(role, {batch}, numbers);
  };
  for (const Role role : function.inputs) {
    switch (role) {
      case Role::kTokens:
        TAPML_TRY(arguments.set(role, {batch, count}, tokens));
        break;
      case Role::kPositions: {
        std::vector<int32_t> positions;
        for (const Sequence* sequence : sequences) {
          for (int64_t i = 0; i < count; ++i) {
            positions.push_back(static_cast<int32_t>(sequence->length + i));
          }
        }
        TAPML_TRY(arguments.set(role, {batch, count}, positions));
        break;
      }
      case Role::kPageTable:
        TAPML_TRY(set_page_table(sequences));
        break;
      case Role::kLengths:
        TAPML_TRY(set_each(role, [](const Sequence& one) { return one.length; }));
        break;
      case Role::kTextLengths:
        TAPML_TRY(set_each(
            role, [&](const Sequence& one) { return std::max(one.planned, one.length + count); }));
        break;
      case Role::kSlots:
        TAPML_TRY(set_each(role, [](const Sequence& one) { return one.slot; }));
        break;
      case Role::kFeatureLengths:
        TAPML_TRY(set_each(role, [this](const Sequence&) { return features.shape()[0]; }));
        break;
      case Role::kEmbeddings:
        TAPML_TRY(set_embedding_rows(batch));
        break;
      case Role::kPlacement: {
        std::vector<int32_t> placement;
        for (const Sequence* sequence : sequences) {
          const std::vector<int32_t> own = embeddings.placement(sequence->length, count);
          placement.insert(placement.end(), own.begin(), own.end());
        }
        TAPML_TRY(arguments.set(role, {batch, count}, placement));
        break;
      }
      default:  // check_model() takes no function with others
        return fail(internal_error("an input that the engine does not support", role_name(role)));
    }
  }
  return {};
}

Result<std::vector<Value>> Engine::State::call(const ModelFunction& function, HostTensor* read) {
  const std::span<const Value> args = arguments.of(function, model, state.values());
  Value result;
  if (!read) {
    TAPML_ASSIGN(result, vm->call(function.name, args));
  } else {
    TAPML_ASSIGN(auto both, vm->call_and_read(function.name, args, 0));
    result = std::move(both.result);
    *read = std::move(both.bytes);
  }
  arguments.release();
  const runtime::ValueList* fields = result.tuple();
  const size_t outputs = function.outputs.size();
  size_t kept = 0;
  for (const StateTensor& one : model.state) kept += function.takes(one.kind) ? 1 : 0;
  if (!fields || fields->size() != outputs + kept ||
      std::ranges::any_of(*fields, [](const Value& field) { return !field.tensor(); })) {
    return fail(internal_error("the function's results do not match the model's interface: " +
                                   model_function_text(function),
                               function.name));
  }
  size_t next = outputs;
  for (size_t i = 0; i < model.state.size(); ++i) {
    if (function.takes(model.state[i].kind)) state.set(i, (*fields)[next++]);
  }
  return std::vector<Value>(fields->begin(),
                            fields->begin() + static_cast<std::ptrdiff_t>(outputs));
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

void Engine::State::plan(std::span<Sequence* const> sequences, int64_t count) const {
  for (Sequence* sequence : sequences) {
    const int64_t planned = sequence->size() + count;
    if (sequence->length > 0 && is_long(sequence->planned) != is_long(planned)) {
      sequence->start_over(sequence->length);
    }
    sequence->planned = planned;
  }
}

Status Engine::State::read_unread(std::span<Sequence* const> sequences) {
  for (Sequence* sequence : sequences) {
    const std::vector<int32_t> unread = std::exchange(sequence->unread, {});
    if (!unread.empty()) TAPML_TRY(append({&sequence, 1}, unread));
  }
  return {};
}

Result<Tensor> Engine::State::step(const char* name, std::span<Sequence* const> sequences,
                                   std::span<const int32_t> tokens, bool read) {
  TAPML_TRY(read_unread(sequences));
  const int64_t count = std::ssize(tokens) / std::ssize(sequences);
  TAPML_TRY(reserve_pages(sequences, count));
  TAPML_TRY(reserve_slots(sequences));
  const ModelFunction& called = function(name);
  if (called.takes(Role::kPlacement)) {
    TAPML_TRY(read_images());
  } else {
    TAPML_TRY(check_unplaced(sequences, count));
  }
  TAPML_TRY(set_inputs(called, sequences, tokens));
  // A separate read of a remote device costs one more wait: the logits come with the result.
  const bool comes_along = !samples_in_model && read;
  TAPML_ASSIGN(const std::vector<Value> outputs, call(called, comes_along ? &read_bytes : nullptr));
  for (Sequence* sequence : sequences) sequence->length += count;
  const Tensor& logits = *outputs.front().tensor();
  if (!tracing) note_call(name, sequences, tokens, logits);
  if (comes_along) {
    read_tensor = logits;
    read_version = logits.storage->version();
    read_generation = session.generation();
  }
  return logits;
}

Result<HostTensor> Engine::State::bytes_of(const Tensor& logits) {
  const bool is_read =
      logits.storage && logits.storage == read_tensor.storage &&
      logits.offset == read_tensor.offset && logits.byte_size() == read_tensor.byte_size() &&
      !logits.storage->written_since(read_version, logits.offset, logits.byte_size());
  if (is_read && read_generation == session.generation()) return read_bytes;
  return runtime::download(logits);
}

Result<Tensor> Engine::State::prefill(std::span<Sequence* const> sequences,
                                      std::span<const int32_t> tokens) {
  plan(sequences, std::ssize(tokens) / std::ssize(sequences));
  return append(sequences, tokens);
}

Result<Tensor> Engine::State::append(std::span<Sequence* const> sequences,
                                     std::span<const int32_t> tokens) {
  TAPML_TRY(read_unread(sequences));
  const size_t batch = sequences.size(), count = tokens.size() / batch;
  PromptWatch watch(watcher, *vm, local_vm, "prefill", std::ssize(tokens));
  std::vector<int32_t> piece;
  for (size_t first = 0;;) {
    TAPML_ASSIGN(const int64_t taken, piece_of(sequences, static_cast<int64_t>(count - first)));
    const auto width = static_cast<size_t>(taken);
    piece.clear();
    for (size_t i = 0; i < batch; ++i) {
      const auto row = tokens.subspan(i * count + first, width);
      piece.insert(piece.end(), row.begin(), row.end());
    }
    first += width;
    const bool last = first == count;
    watch.begin(std::ssize(piece));
    TAPML_ASSIGN(Tensor logits, step("prefill", sequences, piece, last));
    TAPML_TRY(watch.end());
    if (last) return logits;
  }
}

Result<int32_t> Engine::State::choose(const Tensor& logits) {
  // A call on a remote device would cost one more wait for the same token.
  const bool random = sampler.temperature > 0;
  if (random ? !draws() : !samples_in_model) return choose_on_host(logits);
  if (!random) {
    TAPML_ASSIGN(const HostTensor tokens, most_likely(logits));
    return tokens.values<int32_t>()[0];
  }
  // `sample` takes the state of one sequence as a vector.
  Tensor generators = *sampler_state.tensor();
  generators.shape = {1, 2};
  TAPML_ASSIGN(const HostTensor tokens, draw(logits, draw_parameters, generators));
  generators.shape = {2};
  sampler_state = std::move(generators);
  return tokens.values<int32_t>()[0];
}

Result<int32_t> Engine::State::choose_on_host(const Tensor& logits, const Constrain& constrain) {
  TAPML_ASSIGN(const HostTensor row, bytes_of(logits));
  TAPML_TRY(read_generator());
  TAPML_ASSIGN(const int32_t token, take_token(row.values<float>(), constrain));
  if (token >= 0) TAPML_TRY(write_generator());
  return token;
}

Result<int32_t> Engine::State::take_token(std::span<const float> row, const Constrain& constrain,
                                          const Drawn* drawn) {
  const auto choose = [&]() -> Result<int32_t> {
    if (!drawn) return sample_token(row, sampler, generator);
    TAPML_ASSIGN(const Candidates wanted, candidates_of(row, sampler));
    return accept_or_redraw(wanted, drawn->from, drawn->token, generator);
  };
  const bool is_constrained = constrain && llm::check_logits(row);
  std::vector<float> left;
  if (is_constrained) {
    left.assign(row.begin(), row.end());
    constrain(left);
    row = left;
  }
  const Result<int32_t> token = choose();
  if (!token && is_constrained) {
    return fail(user_error("no token of the vocabulary continues the text as the grammar says",
                           "grammar", "a grammar of texts that the tokenizer can write",
                           "none of " + std::to_string(model.vocabulary) + " tokens",
                           "simplify the grammar, or leave it out"));
  }
  return token ? *token : -1;
}

Status Engine::State::read_generator() {
  if (generator_of == session.generation()) return {};
  // A restore replaced it.
  TAPML_ASSIGN(generator, runtime::download(*sampler_state.tensor()));
  generator_of = session.generation();
  return {};
}

Status Engine::State::write_generator() {
  if (sampler.temperature == 0) return {};
  TAPML_ASSIGN(Tensor advanced, runtime::upload(session, generator));
  sampler_state = std::move(advanced);
  return {};
}

bool Engine::State::draws() const {
  return samples_in_model && vm->executable().find_function(kDraw) &&
         session.info().features.compute_dtypes.contains(DType::kF64);
}

Result<HostTensor> Engine::State::draw(const Tensor& logits, Tensor parameters,
                                       Tensor& generators) {
  const int64_t rows = logits.shape[0];
  const std::vector<Value> args = {logits, std::move(parameters), generators};
  TAPML_ASSIGN(Value result, vm->call(kDraw, args));
  const runtime::ValueList* fields = result.tuple();
  if (!fields || fields->size() != 2 || !(*fields)[0].tensor() || !(*fields)[1].tensor()) {
    return fail(internal_error("draw did not return tokens and generators"));
  }
  generators = *(*fields)[1].tensor();
  TAPML_ASSIGN(HostTensor tokens, runtime::download(*(*fields)[0].tensor()));
  if (tokens.dtype() != DType::kI32 || tokens.size() != rows) {
    return fail(internal_error("draw did not return an i32 token for each row"));
  }
  for (int64_t row = 0; row < rows; ++row) {
    const int32_t token = tokens.values<int32_t>()[static_cast<size_t>(row)];
    if (token >= -1 && token < model.vocabulary) continue;
    return fail(internal_error("draw returned token " + std::to_string(token)));
  }
  return tokens;
}

Result<HostTensor> Engine::State::most_likely(const Tensor& logits) {
  const int64_t rows = logits.shape[0];
  Value parameters = sampler_parameters;
  if (rows != 1) {
    TAPML_ASSIGN(Tensor uploaded, runtime::upload(session, llm::sampler_parameters(sampler, rows)));
    parameters = std::move(uploaded);
  }
  const std::vector<Value> args = {logits, parameters, sampler_state};
  TAPML_ASSIGN(Value result, vm->call("sample", args));
  const runtime::ValueList* fields = result.tuple();
  if (!fields || fields->size() != 2 || !fields->front().tensor()) {
    return fail(internal_error("sample did not return tokens and state"));
  }
  TAPML_ASSIGN(HostTensor tokens, runtime::download(*fields->front().tensor()));
  if (tokens.dtype() != DType::kI32 || tokens.size() != rows) {
    return fail(internal_error("sample did not return an i32 token for each row"));
  }
  sampler_state = (*fields)[1];
  // In argmax's order NaN is the greatest, then +infinity, so the chosen logit shows whether all
  // are finite. The tokens have arrived, so the logits are complete.
  const std::byte* const host_bytes = session.host_address(logits.storage->buffer());
  for (int64_t row = 0; row < rows; ++row) {
    int32_t& token = tokens.mutable_values<int32_t>()[static_cast<size_t>(row)];
    if (token < 0 || token >= model.vocabulary) {
      return fail(internal_error("sample returned token " + std::to_string(token)));
    }
    float taken = 0;
    const int64_t at =
        logits.offset + (row * model.vocabulary + token) * static_cast<int64_t>(sizeof taken);
    const auto bytes = std::as_writable_bytes(std::span(&taken, 1));
    if (host_bytes) {
      std::copy_n(host_bytes + at, bytes.size(), bytes.begin());
    } else {
      TAPML_TRY(session.read(runtime::kDefaultStream, {logits.storage->buffer(), at}, bytes));
    }
    if (!std::isfinite(taken)) token = -1;
  }
  return tokens;
}

}  // namespace tapml::llm
