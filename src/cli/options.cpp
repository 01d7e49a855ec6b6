#include "cli/options.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <limits>
#include <utility>

#include "base/log.h"

namespace tapml::cli {

namespace {

// Returns an empty text or an error: the option parser alone turns 2^64 into 2^64 - 1.
std::string is_seed(const std::string& text) {
  uint64_t value = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error == std::errc() && end == last) return "";
  return "a seed is an integer from 0 to 18446744073709551615, not " + text;
}

void add_dtypes(CLI::App& command, app::ModelFormat& format) {
  command.add_option("--quantize", format.quantize,
                     "Layout of linear weights: q4f16, q4f32, q8f32, q3f16g64, ... "
                     "(docs/quantization.md)");
  command.add_option(
      "--quantize-map", format.quantize_map,
      "Layouts of weights by name, PATTERN=LAYOUT,...: the last that matches counts, "
      "none keeps a weight as it is");
  command
      .add_option("--activations", format.activations,
                  "Dtype that the model computes in: f32, f16 or bf16 (docs/quantization.md)")
      ->default_str("f32, or the quantization's");
  command
      .add_option("--quantize-activations", format.quantize_activations,
                  "Format of what linear layers with quantized weights read: int8, none or auto, "
                  "which is int8 on cpu and wasm (docs/quantization.md)")
      ->default_str("auto, or none to test kernels");
}

void add_accumulation(CLI::App& command, app::ModelFormat& format) {
  command
      .add_option("--accumulation", format.accumulation,
                  "Dtype that linear layers may accumulate in: f32 or f16 (docs/quantization.md)")
      ->default_str("f32");
}

void add_model(CLI::App& command, app::ModelOptions& options) {
  command
      .add_option("model", options.model,
                  "Hugging Face model directory, GGUF file, executable or package")
      ->required();
  command
      .add_option("--target", options.target, "Platform to run on: kind[:key=value,...][@endpoint]")
      ->default_str("cpu, or the executable's");
  command.add_option("--model", options.folder,
                     "Model directory of an executable whose weights have moved");
  add_options(command, options.cache);
  add_options(command, options.patterns);
}

void add_running(CLI::App& command, app::ModelOptions& options) {
  add_options(command, options.libraries);
  add_options(command, options.remote);
  add_options(command, options.isolation);
  command
      .add_option("--step-limit", options.step_limit,
                  "Most function calls of a run, loop iterations included (0: no limit)")
      ->check(CLI::Range(int64_t{0}, std::numeric_limits<int64_t>::max()))
      ->capture_default_str();
}

}  // namespace

void add_json(CLI::App& command, Output& output) {
  command.add_flag("--json", output.json, "Print one JSON document on standard output");
}

void set_runner(CLI::App& command, Registration registration, Runner runner) {
  add_json(command, registration.output);
  command.callback(
      [&selected = registration.selected, runner = std::move(runner)] { selected = runner; });
}

void add_options(CLI::App& command, app::CacheOptions& options) {
  command.add_flag("--no-cache", options.off, "Do not use the compile cache");
}

void add_options(CLI::App& command, app::PatternOptions& options) {
  command.add_option(
      "--patterns", options.file,
      "Text module of patterns whose matches become single kernels (docs/patterns.md)");
}

void add_options(CLI::App& command, app::ModelFormat& format) {
  add_dtypes(command, format);
  command.add_option("--kv-cache", format.kv_cache, "Dtype of the KV cache: f32, f16 or bf16")
      ->default_str("as --activations");
  add_accumulation(command, format);
}

void add_pooling_options(CLI::App& command, app::ModelFormat& format) {
  command
      .add_option("--pooling", format.pooling,
                  "How an encoder pools the tokens of a text: their mean or the first one")
      ->check(CLI::IsMember({"mean", "cls"}))
      ->default_str("as the model's files say, or mean");
  command.add_option("--normalize", format.normalize, "Whether an encoder's vectors have length 1")
      ->check(CLI::IsMember({"yes", "no"}))
      ->default_str("as the model's files say, or yes");
}

void add_options(CLI::App& command, app::TextInputOptions& options) {
  command.add_option("--features", options.features.file,
                     "File of what the model's encoder reads (.npy, .npz or safetensors)");
  command.add_option("--audio", options.features.audio,
                     "WAV or FLAC file that the model's encoder reads");
  command
      .add_option("--embeddings", options.embeddings.files,
                  "File of embeddings for the tokens from a position on (repeatable)")
      ->allow_extra_args(false);
  command
      .add_option("--image", options.images.files,
                  "PNG or JPEG file for the prompt's next placeholder of an image (repeatable)")
      ->allow_extra_args(false);
}

void require_prompt(CLI::App& command) {
  CLI::Option* prompt = command.get_option("--prompt");
  prompt->required();
  // Callbacks of options come before the check of what is required.
  for (const char* features : {"--features", "--audio"}) {
    command.get_option(features)->each([prompt](const std::string&) { prompt->required(false); });
  }
}

void add_options(CLI::App& command, app::EncoderTexts& options) {
  command
      .add_option("--text", options.texts, "Text for an encoder to make a vector of (repeatable)")
      ->allow_extra_args(false);
  command.add_option("--texts", options.file, "File of texts for an encoder, one per line");
}

void add_options(CLI::App& command, app::LibraryFiles& options) {
  command.add_option("--library", options.files,
                     "Shared object of routines for kernels (docs/libraries.md, repeatable)");
}

void add_token_option(CLI::App& command, app::RemoteOptions& options) {
  command
      .add_option("--token-file", options.token_file,
                  "File with the server's token, or with lines ENDPOINT TOKEN")
      ->default_str("TAPML_RPC_TOKEN");
}

void add_options(CLI::App& command, app::RemoteOptions& options) {
  add_token_option(command, options);
  command
      .add_option("--tls-ca", options.tls_ca,
                  "File of the root certificates to trust for tls: endpoints (PEM)")
      ->default_str("TAPML_RPC_CA, or the system's");
  command.add_flag("--insecure", options.insecure,
                   "Send the token to other machines even without encryption");
  command
      .add_option("--wait", options.wait_seconds,
                  "Longest wait for a device of a tracker, in seconds")
      ->check(CLI::Range(int64_t{0}, int64_t{1'000'000}))
      ->capture_default_str();
  command
      .add_option("--priority", options.priority,
                  "Priority among the clients that wait for a tracker's device")
      ->check(CLI::Range(int64_t{-100}, int64_t{100}))
      ->capture_default_str();
  command
      .add_option(
          "--request-seconds", options.request_seconds,
          "Longest request to a remote device (0: as long as the server shows signs of life)")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
}

void add_options(CLI::App& command, app::IsolationOptions& options) {
  CLI::Option* in_process = command.add_flag(
      "--in-process", options.in_process,
      "Run kernels under test and unproved kernels in this process, which a crash ends");
  command
      .add_option("--kernel-timeout", options.kernel_seconds,
                  "Longest kernel call in a process of its own")
      ->check(CLI::Range(0.001, 1e6))
      ->excludes(in_process)  // in-process calls cannot time out
      ->capture_default_str();
}

void add_seed_option(CLI::App& command, uint64_t& seed, const std::string& description) {
  command.add_option("--seed", seed, description)->check(is_seed)->capture_default_str();
}

void add_options(CLI::App& command, llm::SamplerOptions& options) {
  command
      .add_option("--temperature", options.temperature,
                  "Temperature of drawing tokens (0: always take the most likely one)")
      ->capture_default_str();
  command
      .add_option("--top-k", options.top_k, "Number of most likely tokens to draw from (0: all)")
      ->capture_default_str();
  command
      .add_option("--top-p", options.top_p,
                  "Probability of the most likely tokens to draw from, in (0, 1]")
      ->capture_default_str();
  add_seed_option(command, options.seed, "Seed of the random numbers");
  command.parse_complete_callback([&options] {
    if (options.temperature != 0 || (options.top_k == 0 && options.top_p == 1)) return;
    log_warning("--top-k and --top-p have no effect without --temperature");
  });
}

void add_options(CLI::App& command, app::ModelOptions& options) {
  add_model(command, options);
  add_options(command, options.format);
  add_options(command, options.inputs);
  add_running(command, options);
}

void add_encoder_options(CLI::App& command, app::ModelOptions& options) {
  options.use = app::ModelUse::kEmbed;
  add_model(command, options);
  add_dtypes(command, options.format);
  add_accumulation(command, options.format);
  add_pooling_options(command, options.format);
  add_running(command, options);
}

}  // namespace tapml::cli
