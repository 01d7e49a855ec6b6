#include "cli/options.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <limits>

#include "base/log.h"

namespace tapml::cli {

namespace {

// An empty text, or what is wrong: the option parser alone takes 2^64 for 2^64 - 1.
std::string is_seed(const std::string& text) {
  uint64_t value = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error == std::errc() && end == last) return "";
  return "a seed is an integer from 0 to 18446744073709551615, not " + text;
}

}  // namespace

void add_options(CLI::App& command, app::CacheOptions& options) {
  command.add_flag("--no-cache", options.off, "Neither look into the compile cache nor add to it");
}

void add_options(CLI::App& command, app::PatternOptions& options) {
  command.add_option("--patterns", options.file,
                     "Text module of patterns: each match becomes one kernel");
}

void add_quantize_option(CLI::App& command, std::string& quantize) {
  command.add_option("--quantize", quantize,
                     "q4f32 or q4f16: linear weights as integers of four bits, "
                     "activations in f32 or f16 (docs/quantization.md)");
}

void add_options(CLI::App& command, app::LibraryFiles& options) {
  command.add_option("--library", options.files,
                     "Shared object of routines that kernels may call (docs/libraries.md)");
}

void add_token_option(CLI::App& command, app::RemoteOptions& options) {
  command.add_option("--token-file", options.token_file,
                     "File with the server's token, or with lines ENDPOINT TOKEN; without it "
                     "TAPML_RPC_TOKEN");
}

void add_options(CLI::App& command, app::RemoteOptions& options) {
  add_token_option(command, options);
  command.add_option("--tls-ca", options.tls_ca,
                     "File with the root certificates to trust (PEM) at tls:host:port; without it "
                     "TAPML_RPC_CA, else the system's");
  command.add_flag("--insecure", options.insecure,
                   "Send the token beyond this machine without encryption too");
  command
      .add_option("--request-seconds", options.request_seconds,
                  "Longest request to a device at a place; 0: as long as it shows signs of life")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
}

void add_options(CLI::App& command, app::IsolationOptions& options) {
  CLI::Option* in_process =
      command.add_flag("--in-process", options.in_process,
                       "Kernels under test, and those that are not proved to stay inside of their "
                       "buffers, run in this process, which ends when one crashes");
  command
      .add_option("--kernel-timeout", options.kernel_seconds,
                  "Seconds that a kernel call may take in its own process")
      ->check(CLI::Range(0.001, 1e6))
      ->excludes(in_process)  // nothing ends a call there
      ->capture_default_str();
}

void add_options(CLI::App& command, llm::SamplerOptions& options) {
  command.add_option("--temperature", options.temperature, "0: greedy")->capture_default_str();
  command.add_option("--top-k", options.top_k, "Likeliest tokens to draw from; 0: all")
      ->capture_default_str();
  command.add_option("--top-p", options.top_p, "Nucleus to draw from, in (0, 1]")
      ->capture_default_str();
  command.add_option("--seed", options.seed, "Seed of the sampler")
      ->check(is_seed)
      ->capture_default_str();
  command.parse_complete_callback([&options] {
    if (options.temperature != 0 || (options.top_k == 0 && options.top_p == 1)) return;
    log_warning("--top-k and --top-p have no effect without --temperature");
  });
}

void add_options(CLI::App& command, app::ModelOptions& options) {
  command.add_option("model", options.model, "Hugging Face model directory, or an executable")
      ->required();
  command.add_option("--target", options.target,
                     "kind[:key=value,...][@place], see tapml devices; cpu, or the executable's");
  command.add_option("--model", options.folder,
                     "Model directory of an executable, where it is not the one it was made from");
  add_options(command, options.cache);
  add_options(command, options.patterns);
  add_quantize_option(command, options.quantize);
  add_options(command, options.libraries);
  add_options(command, options.remote);
  add_options(command, options.isolation);
  command
      .add_option("--step-limit", options.step_limit,
                  "End a run that calls functions more often than this, every iteration of a loop "
                  "included; 0: never")
      ->check(CLI::Range(int64_t{0}, std::numeric_limits<int64_t>::max()))
      ->capture_default_str();
}

}  // namespace tapml::cli
