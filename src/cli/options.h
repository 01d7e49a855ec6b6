// Command-line options for the structs of app/.
#pragma once

#include "app/isolation.h"
#include "app/model.h"
#include "llm/sampler.h"

namespace CLI {
class App;
}

namespace tapml::cli {

void add_options(CLI::App& command, app::CacheOptions& options);    // --no-cache
void add_options(CLI::App& command, app::PatternOptions& options);  // --patterns
void add_options(CLI::App& command, app::ModelFormat& format);      // --quantize, --activations
void add_options(CLI::App& command, app::FeatureOptions& options);  // --features
void add_options(CLI::App& command, app::LibraryFiles& options);    // --library
void add_options(CLI::App& command, app::RemoteOptions& options);   // --token-file, --tls-ca, ...
void add_token_option(CLI::App& command, app::RemoteOptions& options);
// --in-process, --kernel-timeout: for the commands that test kernels.
void add_options(CLI::App& command, app::IsolationOptions& options);
// --temperature, --top-k, --top-p, --seed: for the commands that generate text.
void add_options(CLI::App& command, llm::SamplerOptions& options);
// MODEL, --target, --model and all of the above: for the commands that run a model.
void add_options(CLI::App& command, app::ModelOptions& options);

}  // namespace tapml::cli
