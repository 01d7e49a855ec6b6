// Commands that reports print, so that a reader sees a failure again: every word quoted, every
// option that decides what runs and how it is judged.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "llm/sampler.h"
#include "topdown/results/kernel_source.h"
#include "topdown/results/kernel_verdict.h"
#include "topdown/results/replay_options.h"

namespace tapml::topdown {

// Options of `replay`, `migrate` and `localize`; what is empty does not stand there.
struct CommandOptions {
  std::string quantize;               // not of replay
  std::optional<int64_t> max_tokens;  // not of replay
  llm::SamplerOptions sampler;        // not of replay
  std::string patterns, kernels, tolerance;
  std::string model;             // of replay: where weights by reference are
  std::optional<int64_t> group;  // of replay: the one that runs
  ReplayOptions launches;        // of replay
  std::vector<std::string> libraries;
  std::string token_file, tls_ca;
  bool insecure = false;
  bool in_process = false;
  std::optional<double> kernel_seconds;
  std::vector<std::string> faults;  // KERNEL:KIND
};

// The same, each file by its absolute path: for commands that are given in another folder.
CommandOptions with_absolute_paths(CommandOptions options);
// The absolute path where there is such a file; else the text itself.
std::string absolute_path(const std::string& path);

std::string quoted_word(const std::string& text);  // one word of a shell's command line

// `command`: "migrate" or "localize".
std::string model_command(const std::string& command, const std::string& model,
                          const std::string& source, const std::string& target,
                          const std::string& prompt, const CommandOptions& options);
// The same with a "--to" for each of `targets`.
std::string model_command(const std::string& command, const std::string& model,
                          const std::string& source, const std::vector<std::string>& targets,
                          const std::string& prompt, const CommandOptions& options);
// Of all the suite's kernels, or of `kernel` alone.
std::string replay_command(const std::string& suite, const std::string& target,
                           const std::string& kernel, const CommandOptions& options);
// What of the options tells how `kernel` is run: bugs that are planted elsewhere do not.
CommandOptions options_of_kernel(CommandOptions options, const std::string& kernel);
// The same for a suite of the failing call beside which `kernels` holds the user's own source,
// where the kernel is one (write_user_source).
CommandOptions options_of_reproducer(CommandOptions options, const KernelVerdict& verdict,
                                     const std::string& kernels);
// Writes the user's own source of the kernel, where it has one, into `folder`/kernels.
Status write_user_source(const KernelVerdict& verdict, const KernelSource& source,
                         const std::string& folder);

}  // namespace tapml::topdown
