#include "app/model.h"

#include <filesystem>

#include "abi/model_interface.h"
#include "abi/platforms.h"
#include "app/cached_compile.h"
#include "app/end_tokens.h"
#include "app/executable.h"
#include "app/platforms.h"
#include "base/clock.h"
#include "base/host/interrupt.h"
#include "base/log.h"
#include "frontend/gguf/model.h"
#include "frontend/huggingface/folder.h"
#include "frontend/huggingface/foreign.h"
#include "io/host/files.h"
#include "io/host/mapped_ranges.h"
#include "ir/exceptions.h"
#include "llm/package.h"
#include "llm/tokenizer/regex_pcre2.h"
#include "llm/tokenizer/tokenizer_folder.h"
#include "llm/tokenizer/unicode_utf8proc.h"
#include "pipeline/compile.h"
#include "runtime/capture.h"
#include "runtime/local_virtual_machine.h"
#include "text/parser.h"
#include "topdown/reference_run/model_reference.h"

namespace tapml::app {

namespace {

void log_warnings(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) log_warning(warning);
}

// Checks a path that is not an executable: a file is not a model either.
void refuse_other_files(const std::string& model) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(model, ignored)) return;
  if (frontend::is_gguf_model(model)) return;
  frontend::refuse_foreign_file(model);
  throw_user(model + " is neither a model folder nor an executable", model,
             "a folder with config.json, model.safetensors and tokenizer.json, a GGUF file, or a "
             "file written by tapml compile -o",
             std::filesystem::file_size(model, ignored) == 0 ? "an empty file"
                                                             : "a file of another format",
             model.ends_with(".safetensors") ? "give the folder that the weights are in" : "");
}

// Kernels and weights of an executable are fixed.
void refuse_changes(const PatternOptions& patterns, const ModelFormat& format,
                    const std::string& executable) {
  for (const auto& [option, value] :
       {std::pair{"--patterns", patterns.file}, std::pair{"--quantize", format.quantize},
        std::pair{"--quantize-map", format.quantize_map},
        std::pair{"--activations", format.activations}, std::pair{"--kv-cache", format.kv_cache},
        std::pair{"--accumulation", format.accumulation},
        std::pair{"--quantize-activations", format.quantize_activations},
        std::pair{"--pooling", format.pooling}, std::pair{"--normalize", format.normalize}}) {
    if (value.empty()) continue;
    throw_user(option + std::string(" goes with a model directory only"), option,
               "a model directory as MODEL", executable, "give it where the model is compiled");
  }
}

}  // namespace

namespace {

Tokenizer load_gguf_tokenizer(const std::string& path) {
  const frontend::GgufTokenizer texts = frontend::open_gguf_tokenizer(path);
  const tokenizer::TokenizerFiles files{
      .config = {texts.config, path + " (its metadata as a tokenizer_config.json)"},
      .special_tokens = {},
      .added_tokens = {}};
  return unwrap(Tokenizer::parse(texts.tokenizer, path + " (its metadata as a tokenizer.json)",
                                 tokenizer::pcre2_regex_engine(), &tokenizer::utf8proc_tables(),
                                 files));
}

}  // namespace

Tokenizer load_tokenizer(const std::string& folder) {
  if (frontend::is_gguf_model(folder)) return load_gguf_tokenizer(folder);
  // Reports a tokenizer of another kind.
  frontend::tokenizer_path(folder, tokenizer::tokenizer_file(folder));
  Tokenizer tokenizer = unwrap(tokenizer::read_tokenizer(folder));
  log_warnings(tokenizer.warnings());
  return tokenizer;
}

namespace {

// Reads the model of an executable or a package.
struct CompiledModel {
  ExecutableFile file;
  std::map<std::string, HostTensor> weights;
  std::vector<int32_t> eos;
  Tokenizer tokenizer;
  std::string folder;
};

// `before_weights` is called once the executable is read; it may be empty.
CompiledModel load_compiled(const std::string& model, const std::string& folder,
                            const std::function<void(const ExecutableFile&)>& before_weights = {}) {
  if (llm::is_package(model)) {
    if (!folder.empty()) {
      throw_user("--model goes with an executable only", "--model", "an executable as MODEL", model,
                 "a package has its own weights");
    }
    llm::Package package = unwrap(llm::read_package(model));
    if (before_weights) before_weights(package.file);
    log_warnings(package.tokenizer.warnings());
    return {std::move(package.file), std::move(package.weights), std::move(package.end_tokens),
            std::move(package.tokenizer), model};
  }
  ExecutableFile file = load_executable(model);
  if (before_weights) before_weights(file);
  std::string from = model_folder(file, model, folder);
  auto weights = load_source_weights(file, from);
  std::vector<int32_t> eos = read_end_tokens(from);
  Tokenizer tokenizer = load_tokenizer(from);
  return {std::move(file), std::move(weights), std::move(eos), std::move(tokenizer),
          std::move(from)};
}

}  // namespace

bool is_compiled(const std::string& model) {
  return is_executable_file(model) || llm::is_package(model);
}

std::string ModelFormat::quantization() const {
  if (quantize.empty() || quantize_map.empty()) return quantize + quantize_map;
  return quantize + "," + quantize_map;
}

models::QuantizationRef find_quantization(const std::string& text) {
  return text.empty() ? nullptr : models::Quantization::parse(text);
}

models::Precision precision_of(const ModelFormat& format) {
  return models::parse_precision(format.activations, format.kv_cache, format.accumulation,
                                 format.quantize_activations, format.multiplies_bytes);
}

frontend::PoolingChoice pooling_of(const ModelFormat& format) {
  frontend::PoolingChoice choice;
  if (!format.pooling.empty()) choice.pooling = models::find_pooling(format.pooling);
  if (!format.normalize.empty()) choice.normalized = format.normalize == "yes";
  return choice;
}

LoadedModel load_model(const std::string& model, const std::string& folder,
                       const PatternOptions& patterns, const ModelFormat& format,
                       const WorkWatcher& watcher) {
  if (!is_compiled(model)) {
    refuse_other_files(model);
    frontend::HuggingFaceModel files =
        frontend::read_model(model, find_quantization(format.quantization()), precision_of(format),
                             watcher, pooling_of(format));
    patterns.apply(files.module);
    log_warnings(files.warnings);
    Tokenizer tokenizer = load_tokenizer(files.folder);
    const int64_t vocabulary = unwrap(model_interface_of(files.module.all_attrs())).vocabulary;
    if (tokenizer.vocab_size() > vocabulary) {
      log_warning("the tokenizer has ids up to " + std::to_string(tokenizer.vocab_size() - 1) +
                  ", but the model has " + std::to_string(vocabulary) +
                  " tokens: a text that needs more is refused");
    }
    return {std::move(files), std::move(tokenizer)};
  }
  refuse_changes(patterns, format, model);
  CompiledModel compiled = load_compiled(model, folder);
  frontend::HuggingFaceModel files;
  files.module = text::parse(compiled.file.module, model + ", section module");
  files.weights = std::move(compiled.weights);
  files.eos = std::move(compiled.eos);
  files.folder = std::move(compiled.folder);
  return {std::move(files), std::move(compiled.tokenizer)};
}

namespace {

std::vector<int32_t> tokens_after(const std::vector<int32_t>& prefix, const Tokenizer& tokenizer,
                                  const std::string& prompt) {
  std::vector<int32_t> tokens = unwrap(tokenizer.encode(prompt, false));
  const bool is_whole = !tokens.empty() && tokens.front() == prefix.front();
  if (!is_whole) tokens.insert(tokens.begin(), prefix.begin(), prefix.end());
  return tokens;
}

std::vector<int32_t> tokens_of(const Tokenizer& tokenizer, const std::string& prompt,
                               bool is_chat) {
  if (prompt.empty()) {
    throw_user("the prompt is empty", "--prompt", "some text", "nothing");
  }
  if (is_chat) return unwrap(tokenizer.encode(prompt, false));
  bool repeated = false;
  std::vector<int32_t> tokens = unwrap(tokenizer.encode_prompt(prompt, &repeated));
  if (repeated) {
    log_warning(
        "the prompt begins with the token that the tokenizer puts before every prompt: it is there "
        "once, not twice");
  }
  return tokens;
}

}  // namespace

std::vector<int32_t> encode_prompt(const Tokenizer& tokenizer, int64_t context,
                                   const std::string& prompt, const std::vector<int32_t>& prefix,
                                   bool is_chat) {
  const std::vector<int32_t> tokens = prefix.empty() ? tokens_of(tokenizer, prompt, is_chat)
                                                     : tokens_after(prefix, tokenizer, prompt);
  if (tokens.empty()) throw_user("the prompt has no tokens", "--prompt", "some text", prompt);
  if (static_cast<int64_t>(tokens.size()) >= context) {
    throw_user("the prompt is too long for the model", "--prompt",
               "fewer than " + std::to_string(context) + " tokens",
               std::to_string(tokens.size()) + " tokens", "shorten it");
  }
  return tokens;
}

std::vector<int32_t> encode_prompt(const LoadedModel& model, const std::string& prompt,
                                   llm::TextInputs& inputs) {
  return encode_prompt(model.tokenizer, unwrap(model_interface_of(model.files.module.all_attrs())),
                       prompt, inputs);
}

void check_use(const ModelInterface& interface, ModelUse use, const std::string& model) {
  if (use == ModelUse::kEither) return;
  unwrap(use == ModelUse::kEmbed ? llm::check_embeds(interface, model)
                                 : llm::check_continues(interface, model));
}

ReadyModel make_ready(const ModelOptions& options, const BeforeCompile& before_compile) {
  const double start = seconds_now();
  RemoteOptions remote = options.remote;
  if (!remote.watcher) remote.watcher = options.watcher;
  if (options.loaded || !is_compiled(options.model)) {
    if (!options.folder.empty()) {
      throw_user("--model goes with an executable only", "--model", "an executable as MODEL",
                 options.model);
    }
    target::Target target = options.opened;
    std::unique_ptr<runtime::Session> own;
    const device::HostLibraries libraries = options.libraries.load();
    if (!options.session) {
      target = target::parse_target(options.target.value_or(kDefaultPlatform));
      own = open_session(target, options.cache, libraries, remote);
    }
    ModelFormat format = options.format;
    format.multiplies_bytes =
        !options.for_any_platform && target::multiplies_bytes(target.description);
    const auto model = options.loaded
                           ? options.loaded
                           : std::make_shared<const LoadedModel>(load_model(
                                 options.model, "", options.patterns, format, options.watcher));
    const ModelInterface interface = unwrap(model_interface_of(model->files.module.all_attrs()));
    check_use(interface, options.use, options.model);
    llm::TextInputs inputs = options.inputs.load(model->files.module, model->files.folder);
    if (options.with_folder) options.with_folder(model->files.folder);
    if (before_compile) before_compile(model->tokenizer, interface, inputs);
    const double loaded = seconds_now();
    CompileCache cache(options.cache);
    pipeline::ImplementOptions implement;
    implement.cache = cache.kernels();
    implement.libraries = library_options(libraries, options.patterns);
    implement.instruments.poll = [] { unwrap(check_interrupted()); };
    implement.instruments.watcher = options.watcher;
    auto executable = compile_with_cache(model->files.module, target, implement, cache).executable;
    auto contained = ContainedKernels::open(executable, target, options.libraries, options.remote,
                                            options.isolation);
    runtime::Session* session = own ? own.get() : options.session;
    return {std::move(target),
            session,
            std::move(own),
            std::move(executable),
            model->files.weights,
            model->files.eos,
            std::shared_ptr<const Tokenizer>(model, &model->tokenizer),
            std::move(inputs),
            loaded - start,
            seconds_now() - loaded,
            std::move(contained)};
  }
  refuse_changes(options.patterns, options.format, options.model);
  target::Target target;
  std::unique_ptr<runtime::Session> session;
  CompiledModel model =
      load_compiled(options.model, options.folder, [&](const ExecutableFile& file) {
        target = executable_target(file, options.model, options.target);
        if (options.session) return;
        session = open_session(target, options.cache, options.libraries.load(), remote);
      });
  check_use(model.file.executable.model, options.use, options.model);
  llm::TextInputs inputs;
  if (options.inputs.are_taken_by(model.file.executable.model)) {
    inputs = options.inputs.load(text::parse(model.file.module, options.model + ", section module"),
                                 model.folder);
  }
  if (options.with_folder) options.with_folder(model.folder);
  if (before_compile) before_compile(model.tokenizer, model.file.executable.model, inputs);
  auto executable = std::make_shared<const Executable>(std::move(model.file.executable));
  auto contained = ContainedKernels::open(executable, target, options.libraries, options.remote,
                                          options.isolation);
  runtime::Session* opened = session ? session.get() : options.session;
  return {std::move(target),
          opened,
          std::move(session),
          std::move(executable),
          std::move(model.weights),
          std::move(model.eos),
          std::make_shared<const Tokenizer>(std::move(model.tokenizer)),
          std::move(inputs),
          seconds_now() - start,
          0,
          std::move(contained)};
}

void ReadyModel::attach(llm::Engine& engine) const {
  if (contained) contained->attach(engine.vm());
  topdown::set_inputs(engine, inputs);
}

std::unique_ptr<llm::Engine> make_engine(const ReadyModel& model, int64_t capacity) {
  if (!has_own_process(model.target)) {
    auto engine = unwrap(llm::Engine::create(*model.session, model.executable, model.weights,
                                             {.capacity = capacity, .weights_in_place = true}));
    model.attach(*engine);
    unwrap(check_mapped_files());
    return engine;
  }
  auto engine = unwrap(llm::Engine::create(unwrap(model.session->open_vm(model.executable)),
                                           model.weights, {.capacity = capacity}));
  model.attach(*engine);
  unwrap(check_mapped_files());
  return engine;
}

std::unique_ptr<llm::Embedder> make_embedder(const ReadyModel& model) {
  const bool has_own = has_own_process(model.target);
  std::unique_ptr<runtime::VirtualMachine> vm;
  if (has_own) {
    vm = unwrap(model.session->open_vm(model.executable));
  } else {
    vm = unwrap(runtime::LocalVirtualMachine::create(*model.session, model.executable));
  }
  if (model.contained) model.contained->attach(*vm);
  auto embedder =
      unwrap(llm::Embedder::create(std::move(vm), model.weights, {.weights_in_place = !has_own}));
  unwrap(check_mapped_files());
  return embedder;
}

}  // namespace tapml::app
