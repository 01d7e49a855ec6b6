#include "language_model.h"

#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include <exception>
#include <optional>
#include <variant>

#include "base/strings.h"
#include "executable.h"
#include "host_array.h"
#include "llm/embedder.h"
#include "llm/engine.h"
#include "llm/speculation/draft_model.h"
#include "llm/speculation/lookup.h"
#include "llm/speculation/same_vocabulary.h"
#include "llm/speculation/speculation.h"
#include "path.h"
#include "program.h"
#include "session.h"
#include "text_inputs.h"

namespace tapml::python {

namespace {

// A language model on a device.
class Engine final : public Resource {
 public:
  struct State {
    std::shared_ptr<runtime::Session> session;
    llm::TextInputs inputs;               // of the model's texts, unless a call has others
    std::unique_ptr<llm::Engine> engine;  // destroyed first
    std::timed_mutex busy;
  };
  Engine(SessionRef open, LanguageModel model, std::shared_ptr<State> state)
      : open_(std::move(open)), model_(std::move(model)), state_(std::move(state)) {
    open_->add(this);
  }
  ~Engine() override { open_->remove(this); }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  void drop() noexcept override { state_.reset(); }

  const SessionRef& open() const { return open_; }
  const LanguageModel& model() const { return model_; }
  std::shared_ptr<State> use() const {
    if (!state_) throw_closed("engine");
    return state_;
  }

 private:
  SessionRef open_;
  LanguageModel model_;
  std::shared_ptr<State> state_;
};

struct Generated {
  llm::Generation generation;
  std::string text;
  std::vector<int32_t> prompt;
  bool speculative = false;
};

// How tokens are proposed: by the engine of a smaller model, or by lookup in the text.
struct Proposing {
  const LanguageModel* draft_model = nullptr;
  std::shared_ptr<Engine::State> draft;
  int64_t lookup = 0;
  llm::SpeculationOptions options;

  bool is_on() const { return draft != nullptr || lookup != 0; }
  // UserError for a model, or a pair of models, that cannot.
  std::unique_ptr<llm::Speculation> speculation(const app::LoadedModel& model,
                                                const llm::Engine& engine) const {
    unwrap(llm::check_verifies(engine.model()));
    std::unique_ptr<llm::Proposer> proposer;
    if (draft) {
      unwrap(llm::check_same_vocabulary(model.tokenizer, draft_model->loaded->tokenizer));
      proposer = unwrap(llm::DraftModel::create(*draft->engine, engine.model()));
    } else {
      proposer = unwrap(llm::Lookup::create(lookup));
    }
    return unwrap(llm::Speculation::create(std::move(proposer), options));
  }
};

Proposing proposing_of(const Engine& engine, const py::object& draft, int64_t lookup,
                       int64_t draft_tokens, bool keep_draft) {
  Proposing made;
  made.lookup = lookup;
  made.options = {draft_tokens, keep_draft};
  if (draft.is_none()) return made;
  if (lookup != 0) {
    throw_user("a draft model and lookup cannot both propose tokens", "generate(draft=, lookup=)",
               "one of them", "both");
  }
  if (!py::isinstance<Engine>(draft)) {
    throw_user("the draft is no engine", "generate(draft=...)", "a tapml.Engine",
               py::str(py::type::of(draft).attr("__name__")).cast<std::string>());
  }
  const Engine& other = draft.cast<const Engine&>();
  if (&other == &engine) {
    throw_user("the draft is the engine itself", "generate(draft=...)",
               "an engine of its own, of a smaller model", "this one");
  }
  made.draft = other.use();
  made.draft_model = &other.model();
  return made;
}

// Waits for an engine or embedder that another thread uses; an interrupt ends the wait.
std::unique_lock<std::timed_mutex> lock_busy(std::timed_mutex& mutex) {
  std::unique_lock<std::timed_mutex> busy(mutex, std::defer_lock);
  while (!busy.try_lock_for(std::chrono::milliseconds(100))) check_interrupt();
  return busy;
}

// An encoder on a device.
class Embedder final : public Resource {
 public:
  struct State {
    std::shared_ptr<runtime::Session> session;
    std::unique_ptr<llm::Embedder> embedder;  // destroyed first
    std::timed_mutex busy;
  };
  Embedder(SessionRef open, LanguageModel model, std::shared_ptr<State> state)
      : open_(std::move(open)), model_(std::move(model)), state_(std::move(state)) {
    open_->add(this);
  }
  ~Embedder() override { open_->remove(this); }
  Embedder(const Embedder&) = delete;
  Embedder& operator=(const Embedder&) = delete;
  void drop() noexcept override { state_.reset(); }

  const SessionRef& open() const { return open_; }
  const LanguageModel& model() const { return model_; }
  std::shared_ptr<State> use() const {
    if (!state_) throw_closed("embedder");
    return state_;
  }

 private:
  SessionRef open_;
  LanguageModel model_;
  std::shared_ptr<State> state_;
};

LanguageModel load_model(const std::string& folder, const app::ModelFormat& format,
                         const app::TextInputOptions& inputs = {}) {
  return without_interpreter([&] {
    return LanguageModel{
        folder, format, inputs,
        std::make_shared<const app::LoadedModel>(app::load_model(folder, "", {}, format))};
  });
}

std::unique_ptr<Engine> make_engine(const LanguageModel& model, const py::object& device,
                                    bool cache) {
  const SessionRef open = session_of(device, "engine(device)");
  auto session = open->use();
  auto state = without_interpreter([&] {
    CompileSettings settings;
    settings.cache = cache;
    auto made = std::make_shared<Engine::State>();
    made->inputs = model.inputs.load(model.loaded->files.module, model.loaded->files.folder);
    auto compiled = compile(model.loaded->files.module, open->target(), settings, open);
    made->session = session;
    // A VM next to a remote device: each token is one request.
    made->engine =
        unwrap(llm::Engine::create(unwrap(session->open_vm(compiled->executable)),
                                   model.loaded->files.weights, {.weights_in_place = true}));
    return made;
  });
  return std::make_unique<Engine>(open, model, std::move(state));
}

std::unique_ptr<Generated> generate(const Engine& engine, const std::string& prompt,
                                    int64_t max_tokens, double temperature, double top_p,
                                    int64_t top_k, uint64_t seed, bool logits,
                                    const py::object& on_token, const py::object& features,
                                    const py::object& embeddings, const py::object& draft,
                                    int64_t lookup, int64_t draft_tokens, bool keep_draft) {
  if (max_tokens < 0) {
    throw_user("the number of tokens is negative", "generate(max_tokens=...)", "0 or more",
               std::to_string(max_tokens));
  }
  auto state = engine.use();
  const Proposing proposing = proposing_of(engine, draft, lookup, draft_tokens, keep_draft);
  const app::LoadedModel& model = *engine.model().loaded;
  app::TextInputOptions inputs = engine.model().inputs;
  const bool has_inputs = !features.is_none() || !embeddings.is_none();
  if (!features.is_none()) inputs.features = features_of(features, "generate(features=...)");
  if (!embeddings.is_none())
    inputs.embeddings = embeddings_of(embeddings, "generate(embeddings=...)");
  std::exception_ptr raised;
  auto result = without_interpreter([&] {
    auto made = std::make_unique<Generated>();
    llm::TextInputs own =
        has_inputs ? inputs.load(model.files.module, model.files.folder) : state->inputs;
    made->prompt = app::encode_prompt(model, prompt, own);
    llm::GenerateOptions options;
    options.max_tokens = max_tokens;
    options.eos = model.files.eos;
    options.sampler = {temperature, top_p, top_k, seed};
    options.keep_logits = logits;
    StreamDecoder decoder(model.tokenizer);
    options.on_token = [&](int32_t token) {
      if (interrupt_of_this_thread()) return false;
      if (on_token.is_none()) return true;
      const std::string text = decoder.push(token);
      py::gil_scoped_acquire locked;
      try {
        on_token(token, text);
      } catch (const py::error_already_set&) {
        raised = std::current_exception();
        return false;
      }
      return true;
    };
    // In one order, whichever engine is the draft.
    Engine::State *first = state.get(), *second = proposing.draft.get();
    if (second && second < first) std::swap(first, second);
    const auto busy = lock_busy(first->busy);
    const auto busy_too = second ? lock_busy(second->busy) : std::unique_lock<std::timed_mutex>();
    std::unique_ptr<llm::Speculation> speculation;
    if (proposing.is_on()) speculation = proposing.speculation(model, *state->engine);
    options.speculation = speculation.get();
    made->speculative = proposing.is_on();
    if (own.features.size() > 0) unwrap(state->engine->set_features(own.features));
    unwrap(state->engine->set_embeddings(own.embeddings));
    runtime::VirtualMachine& vm = state->engine->vm();
    runtime::VirtualMachine* draft_vm = proposing.draft ? &proposing.draft->engine->vm() : nullptr;
    vm.set_interrupt(&interrupt_of_this_thread());
    if (draft_vm) draft_vm->set_interrupt(&interrupt_of_this_thread());
    auto generation = state->engine->generate(made->prompt, options);
    vm.set_interrupt(nullptr);
    if (draft_vm) draft_vm->set_interrupt(nullptr);
    made->generation = unwrap(std::move(generation));
    made->text = model.tokenizer.decode(made->generation.tokens);
    return made;
  });
  if (raised) std::rethrow_exception(raised);
  return result;
}

std::unique_ptr<Embedder> make_embedder(const LanguageModel& model, const py::object& device,
                                        bool cache) {
  const SessionRef open = session_of(device, "embedder(device)");
  auto session = open->use();
  auto state = without_interpreter([&] {
    const ModelInterface interface =
        unwrap(model_interface_of(model.loaded->files.module.all_attrs()));
    unwrap(llm::check_embeds(interface, model.folder));
    CompileSettings settings;
    settings.cache = cache;
    auto made = std::make_shared<Embedder::State>();
    auto compiled = compile(model.loaded->files.module, open->target(), settings, open);
    made->session = session;
    made->embedder =
        unwrap(llm::Embedder::create(unwrap(session->open_vm(compiled->executable)),
                                     model.loaded->files.weights, {.weights_in_place = true}));
    return made;
  });
  return std::make_unique<Embedder>(open, model, std::move(state));
}

using TextOrTokens = std::variant<std::string, std::vector<int32_t>>;

py::object embed(const Embedder& embedder, const std::vector<TextOrTokens>& texts) {
  auto state = embedder.use();
  const app::LoadedModel& model = *embedder.model().loaded;
  auto vectors = without_interpreter([&] {
    std::vector<std::vector<int32_t>> tokens;
    for (const TextOrTokens& one : texts) {
      const auto* text = std::get_if<std::string>(&one);
      tokens.push_back(text ? unwrap(model.tokenizer.encode(*text))
                            : std::get<std::vector<int32_t>>(one));
    }
    const auto busy = lock_busy(state->busy);
    runtime::VirtualMachine& vm = state->embedder->vm();
    vm.set_interrupt(&interrupt_of_this_thread());
    auto made = state->embedder->embed(tokens);
    vm.set_interrupt(nullptr);
    return std::make_shared<HostTensor>(unwrap(std::move(made)));
  });
  return as_numpy(*vectors, vectors, true);
}

}  // namespace

bool LanguageModel::is_encoder() const {
  return llm::is_encoder(unwrap(model_interface_of(loaded->files.module.all_attrs())));
}

llm::SamplerOptions sampler_of(const SamplerTuple& values) {
  const auto& [temperature, top_p, top_k, seed] = values;
  const llm::SamplerOptions options{temperature, top_p, top_k, seed};
  unwrap(llm::check_sampler_options(options));
  return options;
}

LanguageModel language_model_of(const py::object& model, const char* where) {
  if (py::isinstance<LanguageModel>(model)) return model.cast<LanguageModel>();
  if (py::isinstance<py::str>(model) || py::hasattr(model, "__fspath__")) {
    return load_model(py::module_::import("os").attr("fspath")(model).cast<std::string>(), {});
  }
  throw_user("not a language model", where, "a tapml.LanguageModel, or the folder of one",
             py::str(py::type::of(model).attr("__name__")).cast<std::string>());
}

void bind_language_model(py::module_& module) {
  using llm::SpeculationCounts;
  py::class_<SpeculationCounts>(module, "Speculation", py::is_final(),
                                "What speculative decoding did for one text.")
      .def_readonly("proposed", &SpeculationCounts::proposed, "Proposed tokens.")
      .def_readonly("accepted", &SpeculationCounts::accepted, "Those that were accepted.")
      .def_property_readonly("acceptance", &SpeculationCounts::acceptance, "accepted / proposed")
      .def_readonly("verify_steps", &SpeculationCounts::verify_steps,
                    "Calls that checked proposed tokens.")
      .def_property_readonly("tokens_per_verify", &SpeculationCounts::tokens_per_verify)
      .def_readonly("plain_steps", &SpeculationCounts::plain_steps, "Calls for a single token.")
      .def_readonly("stopped_after", &SpeculationCounts::stopped_after,
                    "Tokens of the text when it turned itself off, because plain decoding was "
                    "faster; else None.")
      .def_readonly("slower", &SpeculationCounts::slower,
                    "Whether plain decoding measured faster, and it stayed on.")
      .def("__repr__", [](const SpeculationCounts& counts) {
        return "<tapml.Speculation: " + std::to_string(counts.accepted) + " of " +
               std::to_string(counts.proposed) + " tokens accepted>";
      });
  py::class_<Generated>(module, "Generation", py::is_final(), "A text generated by a model.")
      .def_readonly("text", &Generated::text, "The generated text, without the prompt.")
      .def_property_readonly(
          "tokens", [](const Generated& g) { return g.generation.tokens; },
          "Generated token ids, without an end token.")
      .def_readonly("prompt_tokens", &Generated::prompt)
      .def_property_readonly(
          "stop_reason",
          [](const Generated& g) { return llm::stop_reason_name(g.generation.reason); },
          "``\"eos\"``, ``\"max_tokens\"``, ``\"context\"`` or ``\"caller\"``.")
      .def_property_readonly(
          "logits",
          [](const Generated& g) -> py::object {
            const HostTensor& logits = g.generation.logits;
            if (logits.shape().size() != 2) return py::none();
            return as_numpy(logits, std::make_shared<HostTensor>(logits), false);
          },
          "A NumPy array f32[P + N - 1, vocabulary] for P prompt tokens and N generated ones; None "
          "unless requested.")
      .def_property_readonly(
          "speculation",
          [](const Generated& g) {
            return g.speculative ? std::optional(g.generation.speculation) : std::nullopt;
          },
          "A ``Speculation``, or None without one.")
      .def_property_readonly("prefill_seconds",
                             [](const Generated& g) { return g.generation.prefill_seconds; })
      .def_property_readonly("decode_seconds",
                             [](const Generated& g) { return g.generation.decode_seconds; })
      .def("__repr__",
           [](const Generated& g) { return "<tapml.Generation " + in_quotes(g.text) + ">"; });
  py::class_<Engine>(module, "Engine", py::is_final(),
                     "A language model on a device, with its weights uploaded.")
      .def_property_readonly("device", [](const Engine& engine) { return engine.open(); })
      .def("generate", &generate, py::arg("prompt"), py::kw_only(), py::arg("max_tokens") = 64,
           py::arg("temperature") = 0.0, py::arg("top_p") = 1.0, py::arg("top_k") = 0,
           py::arg("seed") = 0, py::arg("logits") = false, py::arg("on_token") = py::none(),
           py::arg("features") = py::none(), py::arg("embeddings") = py::none(),
           py::arg("draft") = py::none(), py::arg("lookup") = 0, py::arg("draft_tokens") = 4,
           py::arg("keep_draft") = false,
           R"doc(
Continues a text, greedily at temperature 0.

``on_token(token, text)`` receives each token and the text that it completes; an exception that it
raises ends the generation. With ``logits`` the result contains the logits. ``features`` and
``embeddings`` are those of this text, in place of the model's (``LanguageModel.load``).

``draft``, an engine of a smaller model with the same vocabulary, proposes up to ``draft_tokens``
tokens at once, or ``lookup``, what followed the last N tokens where they stood before in the text;
the model checks them in one call (docs/speculative-decoding.md). It turns itself off where plain
decoding is faster, unless ``keep_draft``. UserError for a model with recurrent state, and for a
draft with another vocabulary.)doc")
      .def("__repr__", [](const Engine& engine) {
        return "<tapml.Engine " + in_quotes(engine.model().folder) + " on " +
               in_quotes(engine.open()->target().text) + ">";
      });
  py::class_<Embedder>(module, "Embedder", py::is_final(),
                       "An encoder on a device, with its weights uploaded.")
      .def_property_readonly("device", [](const Embedder& embedder) { return embedder.open(); })
      .def("embed", &embed, py::arg("texts"), R"doc(
Makes a vector of each text: a NumPy array f32[texts, d], in order.

A list of token ids may replace a text. Texts of about the same length run together. Raises
UserError for a text without tokens or with more than the model's context, and for no text.)doc")
      .def("__repr__", [](const Embedder& embedder) {
        return "<tapml.Embedder " + in_quotes(embedder.model().folder) + " on " +
               in_quotes(embedder.open()->target().text) + ">";
      });
  py::class_<LanguageModel>(module, "LanguageModel", py::is_final(),
                            "A Hugging Face model folder: module, weights, tokenizer.")
      .def_static(
          "load",
          [](const Path& folder, const std::string& quantize, const std::string& activations,
             const std::string& kv_cache, const std::string& accumulation,
             const std::string& quantize_activations, const py::object& features,
             const py::object& embeddings, const std::string& pooling,
             std::optional<bool> normalize) {
            const char* normalized = !normalize ? "" : *normalize ? "yes" : "no";
            return load_model(folder,
                              {.quantize = quantize,
                               .activations = activations,
                               .kv_cache = kv_cache,
                               .accumulation = accumulation,
                               .quantize_activations = quantize_activations,
                               .pooling = pooling,
                               .normalize = normalized},
                              {features_of(features, "LanguageModel.load(features=...)"),
                               embeddings_of(embeddings, "LanguageModel.load(embeddings=...)")});
          },
          py::arg("folder"), py::kw_only(), py::arg("quantize") = "", py::arg("activations") = "",
          py::arg("kv_cache") = "", py::arg("accumulation") = "",
          py::arg("quantize_activations") = "", py::arg("features") = py::none(),
          py::arg("embeddings") = py::none(), py::arg("pooling") = "",
          py::arg("normalize") = py::none(), R"doc(
Reads config.json, the weights (mapped, not copied) and tokenizer.json.

``quantize`` (``"q4f32"``, ``"q8f16"``, ``"q3f16g64"``) keeps the weights of linear layers as integers
of few bits; rules for weights by name may follow (``"q4f16,lm_head.weight=q8f16"``,
docs/quantization.md). ``activations`` and ``kv_cache`` are the dtypes in which the model computes
and keeps its cache: ``"f32"``, ``"f16"`` or ``"bf16"``. ``accumulation="f16"`` allows linear layers
to keep their sums in f16, with activations in f16. ``quantize_activations="int8"`` quantizes what
linear layers with quantized weights read, in the groups of the weights. ``features`` is what the encoder of a
model reads before each text: an array ``[m, ...]``, or a file of one (.npy, .npz, safetensors);
commands in reports repeat only a file. ``embeddings`` take the place of tokens in each text: pairs
of an array ``[m, d]``, or a file of one, and the position in the text of its first row.
``pooling`` (``"mean"`` or ``"cls"``) says how an encoder makes a vector of a text's tokens, and
``normalize`` whether the vector has the length 1; by default the model's files say it.

Raises UserError for a folder that is not a model, and for an unknown architecture.)doc")
      .def_readonly("folder", &LanguageModel::folder)
      .def_property_readonly(
          "quantize", [](const LanguageModel& m) { return m.format.quantize; },
          "The layouts of its quantized weights; empty if they are not quantized.")
      .def_property_readonly(
          "module",
          [](const LanguageModel& m) { return Program{m.loaded->files.module, m.folder}; })
      .def_property_readonly(
          "weights",
          [](const LanguageModel& m) {
            py::list names;
            for (const auto& [name, tensor] : m.loaded->files.weights) {
              names.append(name);
            }
            return py::tuple(names);
          },
          "Names of the weights.")
      .def(
          "encode",
          [](const LanguageModel& m, const std::string& text) {
            return unwrap(m.loaded->tokenizer.encode(text));
          },
          py::arg("text"), "Token ids of a text.")
      .def(
          "decode",
          [](const LanguageModel& m, const std::vector<int32_t>& tokens) {
            return m.loaded->tokenizer.decode(tokens);
          },
          py::arg("tokens"), "The text of token ids.")
      .def("engine", &make_engine, py::arg("device"), py::kw_only(), py::arg("cache") = true,
           "Compiles the model for the device and uploads it.")
      .def("embedder", &make_embedder, py::arg("device"), py::kw_only(), py::arg("cache") = true,
           "Compiles an encoder for the device and uploads it.")
      .def_property_readonly("is_encoder", &LanguageModel::is_encoder,
                             "Whether it makes vectors of texts, and continues none.")
      .def("__repr__", [](const LanguageModel& m) {
        return "<tapml.LanguageModel " + in_quotes(m.folder) + ">";
      });
}

}  // namespace tapml::python
