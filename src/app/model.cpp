#include "app/model.h"

#include <filesystem>

#include "abi/model_interface.h"
#include "app/executable.h"
#include "app/platforms.h"
#include "base/clock.h"
#include "base/host/interrupt.h"
#include "base/log.h"
#include "frontend/huggingface/folder.h"
#include "frontend/huggingface/foreign.h"
#include "io/host/files.h"
#include "ir/exceptions.h"
#include "llm/tokenizer/regex_pcre2.h"
#include "llm/tokenizer/unicode_utf8proc.h"
#include "pipeline/compile.h"
#include "runtime/capture.h"
#include "runtime/vm.h"
#include "text/parser.h"

namespace tapml::app {

namespace {

// A file beside tokenizer.json, which may be absent.
tokenizer::NamedText read_beside(const std::string& folder, const char* name) {
  const std::string path = folder + "/" + name;
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return {};
  return {unwrap(read_text_file(path)), path};
}

// The tokenizer of a model folder, with all that its files say of it.
Tokenizer load_tokenizer(const std::string& folder) {
  const std::string path = frontend::tokenizer_path(folder);
  const std::string json = unwrap(read_text_file(path));
  const tokenizer::TokenizerFiles files = {
      .config = read_beside(folder, "tokenizer_config.json"),
      .special_tokens = read_beside(folder, "special_tokens_map.json"),
      .added_tokens = read_beside(folder, "added_tokens.json")};
  Tokenizer tokenizer = unwrap(Tokenizer::parse(json, path, tokenizer::pcre2_regex_engine(),
                                                &tokenizer::utf8proc_tables(), files));
  for (const std::string& warning : tokenizer.warnings()) log_warning(warning);
  return tokenizer;
}

// The tokens that end a text, by the folder's configuration files.
std::vector<int32_t> read_eos_of(const std::string& folder) {
  const std::string generation = folder + "/generation_config.json";
  if (std::filesystem::exists(generation)) {
    auto eos = frontend::parse_generation_eos(unwrap(read_text_file(generation)), generation);
    if (eos) return *eos;
  }
  const std::string config = folder + "/config.json";
  return frontend::parse_config(unwrap(read_text_file(config)), config).eos;
}

void log_warnings(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) log_warning(warning);
}

// Of what is no executable: a file is no model either.
void refuse_other_files(const std::string& model) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(model, ignored)) return;
  frontend::refuse_foreign_file(model);
  throw_user(model + " is neither a model folder nor an executable", model,
             "a folder with config.json, model.safetensors and tokenizer.json, or a file that "
             "tapml compile -o wrote",
             std::filesystem::file_size(model, ignored) == 0 ? "an empty file"
                                                             : "a file that starts otherwise",
             model.ends_with(".safetensors") ? "give the folder that the weights are in" : "");
}

// Kernels and weights of an executable are what they are.
void refuse_changes(const PatternOptions& patterns, const std::string& quantize,
                    const std::string& executable) {
  for (const auto& [option, value] :
       {std::pair{"--patterns", patterns.file}, std::pair{"--quantize", quantize}}) {
    if (value.empty()) continue;
    throw_user(option + std::string(" goes with a model directory only"), option,
               "a model directory as MODEL", executable, "give it where the model is compiled");
  }
}

}  // namespace

const models::Quantization* find_quantization(const std::string& name) {
  return name.empty() ? nullptr : &models::find_quantization(name);
}

LoadedModel load_model(const std::string& model, const std::string& folder,
                       const PatternOptions& patterns, const std::string& quantize,
                       const WorkWatcher& watcher) {
  if (!is_executable_file(model)) {
    refuse_other_files(model);
    frontend::HuggingFaceModel files =
        frontend::read_model(model, find_quantization(quantize), watcher);
    patterns.apply(files.module);
    log_warnings(files.warnings);
    Tokenizer tokenizer = load_tokenizer(files.folder);
    const int64_t vocabulary = model_interface_of(files.module.attrs).vocabulary;
    if (tokenizer.vocab_size() > vocabulary) {
      log_warning("the tokenizer has ids up to " + std::to_string(tokenizer.vocab_size() - 1) +
                  ", but the model has " + std::to_string(vocabulary) +
                  " tokens: a text that needs more is refused");
    }
    return {std::move(files), std::move(tokenizer)};
  }
  refuse_changes(patterns, quantize, model);
  ExecutableFile file = load_executable(model);
  std::string from = model_folder(file, model, folder);
  frontend::HuggingFaceModel files;
  files.module = text::parse(file.module, model + ", section module");
  files.weights = load_source_weights(file, from);
  files.eos = read_eos_of(from);
  files.folder = from;
  Tokenizer tokenizer = load_tokenizer(from);
  return {std::move(files), std::move(tokenizer)};
}

std::vector<int32_t> encode_prompt(const Tokenizer& tokenizer, int64_t context,
                                   const std::string& prompt) {
  if (prompt.empty()) {
    throw_user("the prompt is empty", "--prompt", "some text", "nothing");
  }
  bool repeated = false;
  std::vector<int32_t> tokens = unwrap(tokenizer.encode_prompt(prompt, &repeated));
  if (repeated) {
    log_warning(
        "the prompt begins with the token that the tokenizer puts before every prompt: it is there "
        "once, not twice");
  }
  if (tokens.empty()) throw_user("the prompt has no tokens", "--prompt", "some text", prompt);
  if (static_cast<int64_t>(tokens.size()) >= context) {
    throw_user("the prompt is too long for the model", "--prompt",
               "fewer than " + std::to_string(context) + " tokens",
               std::to_string(tokens.size()) + " tokens", "shorten it");
  }
  return tokens;
}

std::vector<int32_t> encode_prompt(const LoadedModel& model, const std::string& prompt) {
  return encode_prompt(model.tokenizer, model_interface_of(model.files.module.attrs).context,
                       prompt);
}

ReadyModel make_ready(
    const ModelOptions& options,
    const std::function<void(const Tokenizer&, const ModelInterface&)>& before_compile) {
  const double start = seconds_now();
  RemoteOptions remote = options.remote;
  if (!remote.watcher) remote.watcher = options.watcher;
  if (!is_executable_file(options.model)) {
    if (!options.folder.empty()) {
      throw_user("--model goes with an executable only", "--model", "an executable as MODEL",
                 options.model);
    }
    target::Target target = target::parse_target(options.target.value_or("cpu"));
    const device::HostLibraries libraries = options.libraries.load();
    auto session = open_session(target, options.cache, libraries, remote);
    LoadedModel model =
        load_model(options.model, "", options.patterns, options.quantize, options.watcher);
    if (before_compile) {
      before_compile(model.tokenizer, model_interface_of(model.files.module.attrs));
    }
    const double loaded = seconds_now();
    CompileCache cache(options.cache);
    pipeline::ImplementOptions implement;
    implement.cache = cache.kernels();
    implement.libraries = library_options(libraries, options.patterns);
    implement.instruments.poll = [] { unwrap(check_interrupted()); };
    implement.instruments.watcher = options.watcher;
    auto executable = pipeline::compile(model.files.module, target, implement);
    auto contained = ContainedKernels::open(executable, target, options.libraries, options.remote,
                                            options.isolation);
    return {std::move(target),   std::move(session),     std::move(executable),
            model.files.weights, model.files.eos,        std::move(model.tokenizer),
            loaded - start,      seconds_now() - loaded, std::move(contained)};
  }
  refuse_changes(options.patterns, options.quantize, options.model);
  ExecutableFile file = load_executable(options.model);
  target::Target target = executable_target(file, options.model, options.target);
  auto session = open_session(target, options.cache, options.libraries.load(), remote);
  std::string folder = model_folder(file, options.model, options.folder);
  auto weights = load_source_weights(file, folder);
  Tokenizer tokenizer = load_tokenizer(folder);
  if (before_compile) before_compile(tokenizer, file.executable.model);
  auto executable = std::make_shared<const Executable>(std::move(file.executable));
  auto contained = ContainedKernels::open(executable, target, options.libraries, options.remote,
                                          options.isolation);
  return {std::move(target),   std::move(session),   std::move(executable), std::move(weights),
          read_eos_of(folder), std::move(tokenizer), seconds_now() - start, 0,
          std::move(contained)};
}

std::unique_ptr<llm::Engine> make_engine(const ReadyModel& model) {
  if (!has_own_process(model.target)) {
    auto engine = unwrap(llm::Engine::create(*model.session, model.executable, model.weights,
                                             {.weights_in_place = true}));
    model.attach(engine->machine());
    return engine;
  }
  return unwrap(
      llm::Engine::create(unwrap(model.session->open_machine(model.executable)), model.weights));
}

}  // namespace tapml::app
