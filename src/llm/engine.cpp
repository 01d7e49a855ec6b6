#include "llm/engine.h"

#include <algorithm>

#include "base/strings.h"
#include "llm/embedder.h"
#include "llm/engine_state.h"
#include "llm/model_weights.h"

namespace tapml::llm {

using runtime::Tensor;

namespace {

// The inputs and outputs that the engine supports for a function.
struct Known {
  const char* name;
  std::vector<Role> inputs, outputs;  // outputs: exactly these
  bool required = true;
};

const std::vector<Known>& known_functions() {
  static const std::vector<Role> tokens = {
      Role::kTokens, Role::kPositions,      Role::kPageTable,  Role::kLengths,
      Role::kSlots,  Role::kFeatureLengths, Role::kTextLengths};
  static const std::vector<Role> texts = [] {
    std::vector<Role> roles = tokens;
    roles.insert(roles.end(), {Role::kEmbeddings, Role::kPlacement});
    return roles;
  }();
  static const std::vector<Role> drawing = {Role::kLogits, Role::kParameters, Role::kGenerator};
  static const std::vector<Role> drawn = {Role::kTokens, Role::kGenerator};
  static const std::vector<Known> all = {
      {"prefill", texts, {Role::kLogits}},
      {"decode", tokens, {Role::kLogits}},
      {"logits_all", texts, {Role::kLogits}},
      {"sample", drawing, drawn},
      {"draw", drawing, drawn, false},
      {"encode", {Role::kFeatures, Role::kFeatureLengths, Role::kSlots}, {}, false},
      {"embed_image", {Role::kPixels}, {Role::kEmbeddings}, false},
  };
  return all;
}

bool is_complete(const ModelInterface& model) {
  const auto is_whole = [](const StateTensor& state) {
    return std::ranges::all_of(state.shape, [](int64_t size) { return size > 0; }) &&
           checked_byte_count(state.dtype, state.shape).has_value();
  };
  return model.vocabulary > 0 && model.context > 0 && model.page_size > 0 &&
         std::ranges::all_of(model.state, is_whole);
}

Status check_function(const Executable& executable, const Known& known) {
  const ModelFunction* function = executable.model.find_function(known.name);
  const bool is_there = function && executable.find_function(known.name);
  if (!is_there && known.required) {
    return fail(user_error("the executable lacks a function of a language model", executable.target,
                           known.name, "no such function"));
  }
  if (!function) return {};
  const bool takes_known = std::ranges::all_of(function->inputs, [&](Role role) {
    return std::ranges::find(known.inputs, role) != known.inputs.end();
  });
  if (takes_known && function->outputs == known.outputs) return {};
  return fail(user_error(
      "the function " + std::string(known.name) + " of the model has unsupported inputs or outputs",
      executable.target, "inputs among " + join(known.inputs, role_name),
      model_function_text(*function)));
}

Status check_model(const Executable& executable) {
  TAPML_TRY(check_continues(executable.model, executable.target));
  if (!is_complete(executable.model)) {
    return fail(user_error("the executable is not a language model", executable.target,
                           "a model interface with vocabulary, context and state",
                           "none, or an incomplete one"));
  }
  for (const Known& known : known_functions()) TAPML_TRY(check_function(executable, known));
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

}  // namespace

Engine::Engine() = default;
Engine::~Engine() = default;

Result<std::unique_ptr<Engine>> Engine::create(runtime::Session& session,
                                               std::shared_ptr<const Executable> executable,
                                               const std::map<std::string, HostTensor>& weights,
                                               const EngineOptions& options) {
  const double start = seconds_now();
  TAPML_TRY(check_model(*executable));
  TAPML_TRY(check_options(options, executable->model));
  TAPML_ASSIGN(auto vm, runtime::LocalVirtualMachine::create(session, std::move(executable)));
  TAPML_ASSIGN(auto engine, create(std::move(vm), weights, options));
  engine->state_->load_seconds = seconds_now() - start;
  return engine;
}

template <class Load>
Result<std::unique_ptr<Engine>> Engine::create_with(std::unique_ptr<runtime::VirtualMachine> vm,
                                                    const EngineOptions& options, Load&& load) {
  const double start = seconds_now();
  TAPML_TRY(check_model(vm->executable()));
  TAPML_TRY(check_options(options, vm->executable().model));
  std::unique_ptr<Engine> engine(new Engine());
  engine->state_ = std::make_unique<State>(std::move(vm), options);
  TAPML_TRY(engine->state_->find_inputs());
  TAPML_ASSIGN(std::vector<runtime::Value> weights, load(*engine->state_->vm));
  TAPML_TRY(engine->state_->load(std::move(weights)));
  TAPML_TRY(engine->set_sampler({}));
  engine->state_->load_seconds = seconds_now() - start;
  return engine;
}

Result<std::unique_ptr<Engine>> Engine::create(std::unique_ptr<runtime::VirtualMachine> vm,
                                               const std::map<std::string, HostTensor>& weights,
                                               const EngineOptions& options) {
  return create_with(std::move(vm), options, [&](runtime::VirtualMachine& target) {
    return load_weights(target, weights, options.weights_in_place);
  });
}

Result<std::unique_ptr<Engine>> Engine::create(std::unique_ptr<runtime::VirtualMachine> vm,
                                               const std::map<std::string, Tensor>& weights,
                                               const EngineOptions& options) {
  return create_with(std::move(vm), options,
                     [&](runtime::VirtualMachine& target) { return use_weights(target, weights); });
}

const ModelInterface& Engine::model() const { return state_->model; }
runtime::VirtualMachine& Engine::vm() const { return *state_->vm; }
runtime::LocalVirtualMachine& Engine::local_vm() const { return *state_->local_vm; }
int64_t Engine::capacity() const { return state_->longest_text; }
int64_t Engine::length() const { return state_->own.size(); }
double Engine::load_seconds() const { return state_->load_seconds; }
void Engine::set_watcher(WorkWatcher watcher) { state_->watcher = std::move(watcher); }
const WorkWatcher& Engine::watcher() const { return state_->watcher; }

void Engine::reset() {
  state_->own.clear();
  state_->last.function = nullptr;
}

void Engine::rewind(int64_t length) {
  Sequence& own = state_->own;
  length = std::max<int64_t>(length, 0);
  if (length >= own.size()) return;
  state_->last.function = nullptr;
  // Whether the state still has what the next call reads.
  const int64_t first_read = std::max<int64_t>(length - state_->window, 0);
  const bool has_rows =
      !state_->model.has_state(StateKind::kRecurrent) && own.pages.first_kept() <= first_read;
  if (length <= own.length && has_rows) {
    own.unread.clear();
    own.rewind(length);
  } else if (length <= own.length) {
    own.start_over(length);
  } else {
    own.unread.resize(static_cast<size_t>(length - own.length));
  }
}

Status Engine::clear() {
  reset();
  return state_->state.clear();
}

bool Engine::reads_features() const { return state_->model.find_function("encode") != nullptr; }

Status Engine::set_features(HostTensor features) {
  if (!reads_features()) {
    return fail(user_error("the model reads no features", "features", "a model with an encoder",
                           state_->model.architecture));
  }
  TAPML_TRY(state_->check_features(features));
  reset();
  state_->features = std::move(features);
  return {};
}

bool Engine::takes_embeddings() const { return state_->embedding_input.has_value(); }

Status Engine::set_embeddings(PlacedEmbeddings embeddings) {
  TAPML_TRY(state_->check_embeddings(embeddings));
  reset();
  state_->embeddings = std::move(embeddings);
  state_->unread_images.clear();
  state_->uploaded_embeddings = {};
  return {};
}

Status Engine::place_embeddings(const HostTensor& rows, int64_t first) {
  TAPML_TRY(state_->check_rows(rows));
  const int64_t count = rows.shape()[0];
  if (first < length() || first > capacity() - count) {
    return fail(user_error(
        "the embeddings are not in the rest of the text", "embeddings",
        "positions from " + std::to_string(length()) + " to " + std::to_string(capacity() - 1),
        std::to_string(count) + " from position " + std::to_string(first) + " on"));
  }
  PlacedEmbeddings all = state_->embeddings;
  all.place(rows, first);
  TAPML_TRY(state_->check_embeddings(all));
  state_->embeddings = std::move(all);
  state_->uploaded_embeddings = {};
  return {};
}

bool Engine::reads_images() const { return state_->image_input.has_value(); }

Status Engine::place_image(const PlacedImage& image) {
  TAPML_TRY(state_->check_image(image.pixels));
  // Their values follow from a call.
  const int64_t first = std::ssize(state_->embeddings.positions);
  const HostTensor rows = HostTensor::zeros(
      DType::kF32, {state_->model.image->rows, *state_->embedding_input->constant_extent(1)});
  TAPML_TRY(place_embeddings(rows, image.position));
  state_->unread_images.push_back({image.pixels, first});
  return {};
}

Status Engine::check_prompt(int64_t count) const {
  return state_->check_prompt(state_->own, count);
}

Result<Tensor> Engine::prefill(std::span<const int32_t> tokens) {
  Sequence* own = &state_->own;
  TAPML_TRY(state_->check_tokens(*own, tokens));
  return state_->prefill({&own, 1}, tokens);
}

Result<Tensor> Engine::decode(int32_t token) {
  Sequence* own = &state_->own;
  const std::span<const int32_t> tokens(&token, 1);
  TAPML_TRY(state_->check_tokens(*own, tokens));
  state_->plan({&own, 1}, 1);
  return state_->step("decode", {&own, 1}, tokens);
}

Result<HostTensor> Engine::logits_all(std::span<const int32_t> tokens) {
  Sequence* own = &state_->own;
  TAPML_TRY(state_->check_tokens(*own, tokens));
  state_->plan({&own, 1}, std::ssize(tokens));
  TAPML_TRY(state_->read_unread({&own, 1}));
  LogitRows rows(state_->model.vocabulary);
  PromptWatch watch(state_->watcher, *state_->vm, state_->local_vm, "logits_all",
                    std::ssize(tokens));
  while (!tokens.empty()) {
    TAPML_ASSIGN(const int64_t taken, state_->piece_of({&own, 1}, std::ssize(tokens)));
    const auto count = static_cast<size_t>(taken);
    watch.begin(taken);
    TAPML_ASSIGN(Tensor logits, state_->step("logits_all", {&own, 1}, tokens.first(count)));
    TAPML_TRY(watch.end());
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
  if (options.temperature > 0 && state_->draws()) {
    TAPML_ASSIGN(state_->draw_parameters,
                 runtime::upload(state_->session, llm::draw_parameters(options, 1)));
  }
  state_->generator = llm::sampler_state(options);
  state_->generator_of = state_->session.generation();
  TAPML_ASSIGN(Tensor generator, runtime::upload(state_->session, state_->generator));
  state_->sampler_parameters = std::move(parameters);
  state_->sampler_state = std::move(generator);
  state_->sampler = options;
  return {};
}

Result<int32_t> Engine::sample(const Tensor& logits) {
  TAPML_ASSIGN(const int32_t token, state_->choose(logits));
  if (token < 0) return fail(state_->not_finite(logits, 0));
  return token;
}

Result<HostTensor> Engine::download(const Tensor& logits) { return state_->bytes_of(logits); }

Status Engine::check_logits(const HostTensor& logits) {
  const auto width = static_cast<size_t>(state_->model.vocabulary);
  const std::span<const float> values = logits.values<float>();
  const size_t rows = values.size() / width;
  Sequence& own = state_->own;
  for (size_t row = 0; row < rows; ++row) {
    const std::span<const float> one = values.subspan(row * width, width);
    if (llm::check_logits(one)) continue;
    const bool known = state_->last.function && state_->last.sequences.front() == &own;
    return fail(state_->not_finite(one, known ? &own : nullptr,
                                   own.length - static_cast<int64_t>(rows - row)));
  }
  return {};
}

}  // namespace tapml::llm
