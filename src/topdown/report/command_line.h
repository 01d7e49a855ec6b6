// Commands in reports that reproduce a failure: every word is quoted, and every option that affects
// the run or the verdict is included.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "llm/sampler.h"
#include "topdown/results/kernel_source.h"
#include "topdown/results/kernel_verdict.h"
#include "topdown/results/replay_options.h"

namespace tapml::topdown {

// Options of `replay`, `migrate` and `localize`; empty ones are omitted.
struct CommandOptions {
  std::string quantize, activations, kv_cache, accumulation;  // not for replay
  std::string quantize_activations;                           // not for replay
  std::string features, audio;                                // not for replay
  std::vector<std::string> embeddings;                        // FILE[@POSITION]; not for replay
  std::vector<std::string> images;                            // not for replay
  std::vector<std::string> texts;                             // of an encoder; not for replay
  std::string texts_file;                                     // of texts, one per line; the same
  std::string pooling, normalize;                             // of an encoder; not for replay
  std::optional<int64_t> max_tokens;                          // not for replay
  llm::SamplerOptions sampler;                                // not for replay
  std::string patterns, kernels, tolerance;
  std::string model;             // for replay: where weights by reference are
  std::optional<int64_t> group;  // for replay: the group to run
  ReplayOptions launches;        // for replay
  std::vector<std::string> libraries;
  std::string token_file, tls_ca;
  bool insecure = false;
  bool in_process = false;
  std::optional<double> kernel_seconds;
  std::vector<std::string> faults;  // KERNEL:KIND

  // Whether the model reads texts, as an encoder does, and no prompt.
  bool reads_texts() const { return !texts.empty() || !texts_file.empty(); }
};
// What a page calls the input of the model: "prompt" or "texts".
const char* input_name(const CommandOptions& options);

// The same with absolute paths of files, for commands that run in another folder.
CommandOptions with_absolute_paths(CommandOptions options);
// The absolute path if such a file exists; else the text itself.
std::string absolute_path(const std::string& path);

std::string quoted_word(const std::string& text);  // one word of a shell's command line

// `command`: "migrate" or "localize". `prompt` has no effect if the model reads texts, and neither
// do the options about tokens.
std::string model_command(const std::string& command, const std::string& model,
                          const std::string& source, const std::string& target,
                          const std::string& prompt, const CommandOptions& options);
// The same with a "--to" for each of `targets`.
std::string model_command(const std::string& command, const std::string& model,
                          const std::string& source, const std::vector<std::string>& targets,
                          const std::string& prompt, const CommandOptions& options);
// Compares a model directory, or a configuration with random weights, with its published
// implementation.
struct ImportCommand {
  std::string model, config, prompt, python;
  std::vector<int32_t> tokens;
  uint64_t seed = 0;  // with a configuration
};
std::string check_import_command(const ImportCommand& command);
// For all of the suite's kernels, or for `kernel` alone.
std::string replay_command(const std::string& suite, const std::string& target,
                           const std::string& kernel, const CommandOptions& options);
// The options that affect `kernel`, without faults of other kernels.
CommandOptions options_of_kernel(CommandOptions options, const std::string& kernel);
// The same for a suite of the failing call. Its folder has the source of a custom kernel in
// `kernels` (write_custom_source).
CommandOptions options_of_reproducer(CommandOptions options, const KernelVerdict& verdict,
                                     const std::string& kernels);
// Writes the source of a custom kernel into `folder`/kernels.
Status write_custom_source(const KernelVerdict& verdict, const KernelSource& source,
                           const std::string& folder);

}  // namespace tapml::topdown
