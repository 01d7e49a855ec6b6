// Command-line options that commands share: --json, and those of the structs of app/.
#pragma once

#include <memory>
#include <type_traits>

#include "app/encoder_texts.h"
#include "app/isolation.h"
#include "app/model.h"
#include "cli/command.h"
#include "llm/sampler.h"

namespace tapml::cli {

void add_json(CLI::App& command, Output& output);
// Adds --json, and makes `runner` the function to run if the command is chosen.
void set_runner(CLI::App& command, Registration registration, Runner runner);
// The runner is run(*options, output).
template <class Options>
void set_runner(CLI::App& command, Registration registration,
                const std::shared_ptr<Options>& options,
                std::type_identity_t<int (*)(const Options&, const Output&)> run) {
  set_runner(command, registration,
             [options, run, &output = registration.output] { return run(*options, output); });
}

void add_options(CLI::App& command, app::CacheOptions& options);        // --no-cache
void add_options(CLI::App& command, app::PatternOptions& options);      // --patterns
void add_options(CLI::App& command, app::ModelFormat& format);          // --quantize, --activations
void add_pooling_options(CLI::App& command, app::ModelFormat& format);  // --pooling, --normalize
void add_options(CLI::App& command,
                 app::TextInputOptions& options);  // --features, --audio, --embeddings, --image
// Makes --prompt required, unless features are given: a model with an encoder may know how its
// texts begin.
void require_prompt(CLI::App& command);
void add_options(CLI::App& command, app::EncoderTexts& options);   // --text, --texts
void add_options(CLI::App& command, app::LibraryFiles& options);   // --library
void add_options(CLI::App& command, app::RemoteOptions& options);  // --token-file, --tls-ca, ...
void add_token_option(CLI::App& command, app::RemoteOptions& options);
// --in-process, --kernel-timeout: for the commands that test kernels.
void add_options(CLI::App& command, app::IsolationOptions& options);
// --seed; the option's default is that of `seed`.
void add_seed_option(CLI::App& command, uint64_t& seed, const std::string& description);
// --temperature, --top-k, --top-p, --seed: for the commands that generate text.
void add_options(CLI::App& command, llm::SamplerOptions& options);
// MODEL, --target, --model and all of the above but pooling and sampling: for the commands that run
// a model which continues texts.
void add_options(CLI::App& command, app::ModelOptions& options);
// The same for an encoder, which has no cache and reads nothing but texts, and with pooling.
void add_encoder_options(CLI::App& command, app::ModelOptions& options);

}  // namespace tapml::cli
