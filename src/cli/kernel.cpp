// tapml kernel: help for authors of custom kernels.
#include "passes/kernel.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>

#include "abi/platforms.h"
#include "app/executable.h"
#include "app/model.h"
#include "base/host/interrupt.h"
#include "base/host/table.h"
#include "cli/command.h"
#include "cli/options.h"
#include "frontend/gguf/model.h"
#include "io/host/files.h"
#include "ir/exceptions.h"
#include "pipeline/check_input.h"
#include "pipeline/compile.h"
#include "relax/visit.h"
#include "text/parser.h"
#include "text/printer.h"
#include "topdown/kernels/kernel_source.h"
#include "topdown/kernels/skeleton.h"
#include "topdown/replay/replay.h"
#include "topdown/report/report_parts.h"
#include "topdown/suite/kernel_names.h"

namespace tapml::cli {

namespace {

struct SkeletonOptions {
  std::string suite, kernel, target = kDefaultNewPlatform, file;
};

struct ShowOptions {
  std::string model, folder, kernel, target = kDefaultPlatform, file;
  app::ModelFormat format;
  PatternOptions patterns;
  LibraryFiles libraries;
};

topdown::Suite read_suite(const std::string& folder) {
  // No tensor is needed, so the location of weights by reference does not matter.
  const std::string file = folder + "/suite.json";
  return unwrap(topdown::parse_suite_index(unwrap(read_text_file(file)), file));
}

void print_or_write(const std::string& text, const std::string& file, const Output& output) {
  if (file.empty()) return output.text(text);
  unwrap(write_text_atomic(file, text));
  output.line(file);
}

int run(const SkeletonOptions& options, const Output& output) {
  const target::Target target = target::parse_target(options.target);
  const topdown::Suite suite = read_suite(options.suite);
  const std::string kernel =
      topdown::find_kernel(topdown::kernel_names(suite), options.kernel, {"NAME", "the suite"});
  const topdown::KernelReference reference(suite);
  const std::string text = topdown::kernel_skeleton(reference.module(), kernel, target);
  print_or_write(text, options.file, output);
  output.document(Json::object({{"kernel", Json::string(kernel)},
                                {"target", Json::string(options.target)},
                                {"file", Json::string(options.file)},
                                {"text", Json::string(text)}}));
  return kDone;
}

// A module with its kernels formed: from a suite, a model directory, an executable or a text
// module.
Module fixed_module(const ShowOptions& options, const target::Target& target) {
  std::error_code ignored;
  const std::string& model = options.model;
  const bool is_folder = std::filesystem::is_directory(model, ignored);
  Module module;
  if (is_folder && std::filesystem::exists(model + "/suite.json", ignored)) {
    if (!options.format.quantization().empty()) {
      throw_user("--quantize goes with a model directory", "--quantize", "a model directory", model,
                 "the kernels of a suite are already formed");
    }
    return topdown::KernelReference(read_suite(model)).module();
  }
  if (is_folder || is_executable_file(model) || frontend::is_gguf_model(model)) {
    app::ModelFormat format = options.format;
    format.multiplies_bytes = target::multiplies_bytes(target.description);
    module = load_model(model, options.folder, {}, format).files.module;
  } else {
    text::SourceMap places;
    module = pipeline::normal_input(
        text::parse(unwrap(read_text_file(model)), model, {.places = &places}), model, &places);
  }
  options.patterns.apply(module);
  pipeline::Instruments instruments;
  instruments.poll = [] { unwrap(check_interrupted()); };
  return pipeline::form_kernels(module, instruments);
}

// The functions that call the kernel, with the layers that it implements in them.
std::vector<std::pair<std::string, Origin>> callers_of(const Module& fixed,
                                                       const std::string& kernel) {
  std::vector<std::pair<std::string, Origin>> callers;
  for (const auto& [name, function] : fixed.functions) {
    const relax::Function* caller = relax::as_relax_function(function.get());
    if (!caller || passes::is_kernel(function.get())) continue;
    bool calls = false;
    Origin origin;
    relax::visit_bindings(caller->body, [&](const relax::Binding& binding, bool) {
      relax::visit(binding.value, [&](const relax::Expr& expr) {
        const auto* global = relax::as<relax::GlobalVarNode>(expr);
        if (!global || global->name != kernel) return;
        calls = true;
        origin = merge_origins(origin, binding.origin);
      });
    });
    if (calls) callers.emplace_back(name, std::move(origin));
  }
  return callers;
}

int show(const ShowOptions& options, const Output& output) {
  target::Target target = target::parse_target(options.target);
  const Module fixed = fixed_module(options, target);
  const std::vector<std::string> names = topdown::kernel_names(fixed);
  if (options.kernel.empty()) {
    std::vector<Json> list;
    std::vector<TableRow> table;
    for (const std::string& name : names) {
      std::set<std::string> functions;
      Origin layers;
      for (const auto& [function, origin] : callers_of(fixed, name)) {
        functions.insert(function);
        layers = merge_origins(layers, origin);
      }
      table.push_back({name, topdown::used_in(functions), layers_summary(layers)});
      list.push_back(Json::string(name));
    }
    for (const std::string& line :
         table_lines({{.name = "kernel"}, {.name = "in"}, {.name = "layers", .below = true}}, table,
                     text_width(STDOUT_FILENO))) {
      output.line(line);
    }
    output.document(Json::object({{"kernels", Json::array(std::move(list))}}));
    return kDone;
  }
  const std::string kernel = topdown::find_kernel(names, options.kernel, {"NAME", "the model"});
  const device::HostLibraries libraries = options.libraries.load();
  pipeline::ImplementOptions implement;
  implement.libraries = library_options(libraries, options.patterns);
  const topdown::KernelSource source =
      topdown::kernel_source(fixed, kernel, target, implement, {}, true);
  const std::string specification = text::print(passes::kernel_spec(fixed, kernel), kernel);
  std::vector<Json> used;
  std::string text = "# Kernel " + kernel + "\n";
  Origin all;
  for (const auto& [function, origin] : callers_of(fixed, kernel)) {
    text += "# used by " + function + (origin.layers.empty() ? "" : ": " + layers_summary(origin)) +
            "\n";
    used.push_back(Json::object({{"function", Json::string(function)},
                                 {"layers", Json::string(layers_summary(origin))},
                                 {"lines", Json::string(lines_summary(origin))}}));
    all = merge_origins(all, origin);
  }
  if (!all.lines.empty()) text += "# made by " + lines_summary(all) + "\n";
  text += "\n# Specification\n\n" + specification;
  if (!source.loops.empty()) {
    text += "\n# Loops for " + target.text + " (" + source.provider + ")\n\n" + source.loops;
  }
  if (!source.code.empty()) {
    text += "\n# Code for " + target.text + " (" + source.language + ")\n\n" + source.code;
  } else {
    text += "\n# No code for " + target.text + ": " + source.provider + "\n";
  }
  print_or_write(text, options.file, output);
  output.document(Json::object({{"kernel", Json::string(kernel)},
                                {"target", Json::string(target.text)},
                                {"used_by", Json::array(std::move(used))},
                                {"specification", Json::string(specification)},
                                {"provider", Json::string(source.provider)},
                                {"loops", Json::string(source.loops)},
                                {"language", Json::string(source.language)},
                                {"code", Json::string(source.code)},
                                {"file", Json::string(options.file)}}));
  return kDone;
}

void add_show(CLI::App& command, Registration registration) {
  auto* show_command = command.add_subcommand(
      "show", "Print a kernel's specification, scheduled loops and code for a target");
  show_command->footer("Example: tapml kernel show models/demo rms_norm_485247dc --target opencl");
  auto options = std::make_shared<ShowOptions>();
  show_command
      ->add_option("model", options->model,
                   "Model directory, GGUF file, executable, text module or suite folder")
      ->required();
  show_command->add_option("name", options->kernel,
                           "Kernel: its name, the beginning of it, or a pattern with * and ?");
  show_command
      ->add_option("--target", options->target, "Platform of the code: kind[:key=value,...]")
      ->capture_default_str();
  show_command->add_option("--model", options->folder,
                           "Model directory of an executable whose weights have moved");
  show_command->add_option("-o,--output", options->file, "File for the text")
      ->default_str("standard output");
  add_options(*show_command, options->format);
  add_options(*show_command, options->patterns);
  add_options(*show_command, options->libraries);
  set_runner(*show_command, registration, options, show);
}

}  // namespace

void add_kernel(Registration registration) {
  auto* command = registration.app.add_subcommand("kernel", "Show a kernel, or start a custom one");
  command->require_subcommand(1);
  command->footer("Example: tapml kernel skeleton out/suite rms_norm_485247dc --target opencl");
  auto* skeleton =
      command->add_subcommand("skeleton", "Print a source to start a custom kernel from");
  skeleton->footer(
      "Example: tapml kernel skeleton out/suite rms_norm_485247dc --target opencl -o "
      "rms.cl");
  auto options = std::make_shared<SkeletonOptions>();
  skeleton->add_option("suite", options->suite, "Folder of the suite")->required();
  skeleton
      ->add_option("name", options->kernel,
                   "Kernel: its name, the beginning of it, or a pattern with * and ?")
      ->required();
  skeleton->add_option("--target", options->target, "Platform of the code: kind[:key=value,...]")
      ->capture_default_str();
  skeleton->add_option("-o,--output", options->file, "File for the source")
      ->default_str("standard output");
  set_runner(*skeleton, registration, options, run);
  add_show(*command, registration);
}

}  // namespace tapml::cli
