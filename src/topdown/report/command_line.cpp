#include "topdown/report/command_line.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "io/host/files.h"
#include "io/json.h"
#include "topdown/results/sampler_words.h"
#include "topdown/suite/kernel_names.h"

namespace tapml::topdown {

namespace {

void add(std::string& line, const char* option, const std::string& value) {
  if (!value.empty()) line += std::string(" ") + option + " " + quoted_word(value);
}

// The options that all three commands share.
std::string shared_words(const CommandOptions& options) {
  std::string line;
  add(line, "--patterns", options.patterns);
  for (const std::string& library : options.libraries) add(line, "--library", library);
  add(line, "--custom-kernels", options.kernels);
  add(line, "--tolerance", options.tolerance);
  add(line, "--token-file", options.token_file);
  add(line, "--tls-ca", options.tls_ca);
  if (options.insecure) line += " --insecure";
  if (options.in_process) line += " --in-process";
  if (options.kernel_seconds && !options.in_process) {
    char text[32];
    std::snprintf(text, sizeof text, " --kernel-timeout %g", *options.kernel_seconds);
    line += text;
  }
  for (const std::string& fault : options.faults) add(line, "--inject-fault", fault);
  return line;
}

}  // namespace

std::string quoted_word(const std::string& text) {
  std::string word = "'";
  for (char c : text) word += c == '\'' ? "'\\''" : std::string(1, c);
  return word + "'";
}

std::string absolute_path(const std::string& path) {
  std::error_code ignored;
  if (path.empty() || !std::filesystem::exists(path, ignored)) return path;
  const std::filesystem::path whole = std::filesystem::absolute(path, ignored);
  return ignored ? path : whole.lexically_normal().string();
}

CommandOptions with_absolute_paths(CommandOptions options) {
  for (std::string* file :
       {&options.patterns, &options.features, &options.audio, &options.texts_file, &options.kernels,
        &options.tolerance, &options.model, &options.token_file, &options.tls_ca}) {
    *file = absolute_path(*file);
  }
  for (std::string& library : options.libraries) library = absolute_path(library);
  for (std::string& image : options.images) image = absolute_path(image);
  for (std::string& one : options.embeddings) {
    std::error_code ignored;
    const size_t at =
        std::filesystem::exists(one, ignored) ? one.size() : std::min(one.rfind('@'), one.size());
    one = absolute_path(one.substr(0, at)) + one.substr(at);
  }
  return options;
}

const char* input_name(const CommandOptions& options) {
  return options.reads_texts() ? "texts" : "prompt";
}

std::string model_command(const std::string& command, const std::string& model,
                          const std::string& source, const std::string& target,
                          const std::string& prompt, const CommandOptions& options) {
  return model_command(command, model, source, std::vector{target}, prompt, options);
}

std::string model_command(const std::string& command, const std::string& model,
                          const std::string& source, const std::vector<std::string>& targets,
                          const std::string& prompt, const CommandOptions& options) {
  std::string line = "tapml " + command + " " + quoted_word(model);
  add(line, "--quantize", options.quantize);
  add(line, "--activations", options.activations);
  add(line, "--kv-cache", options.kv_cache);
  add(line, "--accumulation", options.accumulation);
  add(line, "--quantize-activations", options.quantize_activations);
  add(line, "--pooling", options.pooling);
  add(line, "--normalize", options.normalize);
  add(line, "--features", options.features);
  add(line, "--audio", options.audio);
  for (const std::string& one : options.embeddings) add(line, "--embeddings", one);
  for (const std::string& image : options.images) add(line, "--image", image);
  line += " --from " + quoted_word(source);
  for (const std::string& target : targets) line += " --to " + quoted_word(target);
  if (options.reads_texts()) {
    for (const std::string& text : options.texts) line += " --text " + quoted_word(text);
    add(line, "--texts", options.texts_file);
    return line + shared_words(options);
  }
  add(line, "--prompt", prompt);
  if (options.max_tokens) line += " --max-tokens " + std::to_string(*options.max_tokens);
  return line + sampler_words(options.sampler) + shared_words(options);
}

std::string check_import_command(const ImportCommand& command) {
  std::string line = "tapml check-import";
  if (!command.model.empty()) line += " " + quoted_word(command.model);
  add(line, "--config", command.config);
  if (!command.config.empty()) line += " --seed " + std::to_string(command.seed);
  add(line, "--prompt", command.prompt);
  std::string tokens;
  for (const int32_t token : command.tokens) {
    tokens += (tokens.empty() ? "" : ",") + std::to_string(token);
  }
  add(line, "--tokens", tokens);
  add(line, "--python", command.python);
  return line;
}

std::string replay_command(const std::string& suite, const std::string& target,
                           const std::string& kernel, const CommandOptions& options) {
  std::string line = "tapml replay " + quoted_word(suite) + " --target " + quoted_word(target);
  add(line, "--kernel", kernel);
  if (options.group) line += " --group " + std::to_string(*options.group);
  add(line, "--model", options.model);
  const ReplayOptions usual;
  if (options.launches.launches != usual.launches) {
    line += " --launches " + std::to_string(options.launches.launches);
  }
  if (options.launches.seed != usual.seed) {
    line += " --launch-seed " + std::to_string(options.launches.seed);
  }
  return line + shared_words(options);
}

CommandOptions options_of_kernel(CommandOptions options, const std::string& kernel) {
  std::erase_if(options.faults, [&](const std::string& fault) {
    return !means_kernel(fault.substr(0, fault.rfind(':')), kernel);
  });
  return options;
}

CommandOptions options_of_reproducer(CommandOptions options, const KernelVerdict& verdict,
                                     const std::string& kernels) {
  options = options_of_kernel(std::move(options), verdict.kernel);
  options.kernels = user_file(verdict).empty() ? "" : kernels;
  options.model.clear();  // the suite of the call has its weights
  return options;
}

Status write_custom_source(const KernelVerdict& verdict, const KernelSource& source,
                           const std::string& folder) {
  const std::string own = user_file(verdict);
  if (own.empty()) return {};
  TAPML_TRY(make_folder(folder + "/kernels"));
  return write_text_atomic(folder + "/kernels/" + own.substr(own.rfind('/') + 1), source.code);
}

}  // namespace tapml::topdown
