// tapml compile: compiles a model or a text module and reports what came out.
#include "pipeline/compile.h"

#include <CLI/CLI.hpp>
#include <filesystem>

#include "cli/command.h"
#include "frontend/huggingface/model.h"
#include "io/host/files.h"
#include "ir/exceptions.h"
#include "pipeline/check_input.h"
#include "text/parser.h"

namespace tapml::cli {

namespace {

struct CompileOptions {
  std::string model, config, target = "cpu", dump;
  bool times = false, verify = false;
};

Module read_module(const CompileOptions& options) {
  if (options.model.empty() == options.config.empty()) {
    throw_user("one input is needed", "command line", "MODEL or --config config.json",
               options.model.empty() ? "neither" : "both");
  }
  if (!options.config.empty()) return frontend::read_config(options.config).module;
  if (std::filesystem::is_directory(options.model)) {
    return frontend::read_model(options.model).module;
  }
  Module module = text::parse(unwrap(read_text_file(options.model)), options.model);
  pipeline::check_input(module, options.model);
  bool any = false;
  for (const auto& [name, function] : module.functions) {
    any |= function->level == FunctionLevel::kRelax;
  }
  if (!any) throw_user("the module has no graph-level function to compile", options.model, "def");
  return module;
}

int run(const CompileOptions& options, const Output& output) {
  target::Target target = target::parse_target(options.target);
  Module module = read_module(options);
  std::vector<std::pair<std::string, double>> times;
  pipeline::ImplementOptions implement;
  implement.instruments = {options.dump, options.verify, &times};
  auto executable = pipeline::compile(module, target, implement);
  double total = 0;
  size_t code = 0;
  for (const auto& [name, seconds] : times) total += seconds;
  for (const ModuleBlob& blob : executable->modules) code += blob.bytes.size();
  std::vector<Json> kernels, passes;
  for (const Implementation& one : executable->implementations) {
    kernels.push_back(Json::object(
        {{"name", Json::string(executable->kernels[static_cast<size_t>(one.kernel)].name)},
         {"implementation", Json::string(one.provider)},
         {"launches", Json::integer(static_cast<int64_t>(one.launches.size()))}}));
    output.line(executable->kernels[static_cast<size_t>(one.kernel)].name + "  " + one.provider +
                "  " + std::to_string(one.launches.size()) + " launches");
  }
  if (options.times) {
    for (const auto& [name, seconds] : times) {
      char line[96];
      std::snprintf(line, sizeof line, "%-20s %8.3f s", name.c_str(), seconds);
      output.line(line);
      passes.push_back(
          Json::object({{"pass", Json::string(name)}, {"seconds", Json::number(seconds)}}));
    }
  }
  char summary[160];
  std::snprintf(summary, sizeof summary, "%zu kernels, %zu call sites, %zu bytes of code, %.2f s",
                executable->kernels.size(), executable->call_sites.size(), code, total);
  output.line(summary);
  output.document(Json::object({{"target", Json::string(options.target)},
                                {"kernels", Json::array(std::move(kernels))},
                                {"code_bytes", Json::integer(static_cast<int64_t>(code))},
                                {"passes", Json::array(std::move(passes))},
                                {"seconds", Json::number(total)}}));
  return kDone;
}

}  // namespace

void add_compile(Registration registration) {
  auto* command = registration.app.add_subcommand("compile", "Compile a model or a text module");
  command->footer("Example: tapml compile models/demo --target opencl --time-passes");
  auto options = std::make_shared<CompileOptions>();
  command->add_option("model", options->model, "Model directory or text module");
  command->add_option("--config", options->config, "config.json: no weights are needed");
  command->add_option("--target", options->target, "kind[:key=value,...]")->capture_default_str();
  command->add_option("--dump-ir", options->dump, "Folder for the text after every pass");
  command->add_flag("--time-passes", options->times, "Seconds of every pass");
  command->add_flag("--verify", options->verify, "Check the invariants after every pass");
  command->add_flag("--json", registration.output.json, "One JSON document on stdout");
  command->callback([options, registration] {
    registration.selected = [options, registration] { return run(*options, registration.output); };
  });
}

}  // namespace tapml::cli
