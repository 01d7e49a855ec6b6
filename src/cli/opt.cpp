// tapml opt: runs passes over the textual form.
#include <CLI/CLI.hpp>
#include <algorithm>

#include "analysis/verifier.h"
#include "base/strings.h"
#include "cli/command.h"
#include "cli/dumps.h"
#include "cli/options.h"
#include "cli/shapes.h"
#include "io/host/files.h"
#include "ir/exceptions.h"
#include "pipeline/check_input.h"
#include "pipeline/compile.h"
#include "schedule/schedule.h"
#include "text/parser.h"
#include "text/printer.h"

namespace tapml::cli {

namespace {

struct OptOptions {
  std::string text, target;
  std::vector<std::string> passes;
  ShapeOptions shapes;
  std::vector<std::string> traces;
  bool verify = false, list = false;
  DumpOptions dumps;
};

int list_passes(const Output& output) {
  std::vector<Json> list;
  for (const pipeline::PassInfo& pass : pipeline::pass_table()) {
    const std::string level = pipeline::pass_level_name(pass.level);
    output.line(std::string(pass.name) + "  (" + pass.phase + ", " + level + ")  " + pass.doc);
    output.line(std::string("    requires ") + pass.precondition);
    output.line(std::string("    leaves ") + pass.leaves);
    if (pass.without) output.line(std::string("    left out: ") + pass.without);
    list.push_back(
        Json::object({{"name", Json::string(pass.name)},
                      {"phase", Json::string(pass.phase)},
                      {"level", Json::string(level)},
                      {"doc", Json::string(pass.doc)},
                      {"requires", Json::string(pass.precondition)},
                      {"leaves", Json::string(pass.leaves)},
                      {"function", Json::boolean(pass.is_function())},
                      {"without", pass.without ? Json::string(pass.without) : Json::null()}}));
  }
  output.document(Json::object({{"passes", Json::array(std::move(list))}}));
  return kDone;
}

// "FILE" for a module with one tensor program, or "PROGRAM=FILE".
void replay_trace(const std::string& option, Module& module) {
  std::vector<std::string> programs;
  for (const auto& [name, function] : module.functions) {
    if (!tir::as_prim_func(function.get())) continue;
    programs.push_back(name);
  }
  if (programs.empty()) throw_user("the module has no tensor program", "--trace " + option);
  const size_t equals = option.find('=');
  const std::string file = equals == std::string::npos ? option : option.substr(equals + 1);
  std::string program = equals == std::string::npos ? "" : option.substr(0, equals);
  if (program.empty() && programs.size() == 1) program = programs[0];
  if (std::find(programs.begin(), programs.end(), program) == programs.end()) {
    throw_user("a trace needs a tensor program of the module", "--trace " + option,
               "PROGRAM=FILE with one of " + join(programs),
               program.empty() ? "no program" : program);
  }
  const schedule::Trace trace = schedule::Trace::parse(unwrap(read_text_file(file)), file);
  auto function = std::static_pointer_cast<const tir::PrimFunc>(module.functions.at(program));
  module.functions[program] = schedule::replay(trace, std::move(function)).func();
}

int run(const OptOptions& options, const Output& output) {
  if (options.list) return list_passes(output);
  if (options.text.empty()) throw_user("no text module is given", "command line", "TEXT");
  text::SourceMap places;
  Module module = pipeline::normal_form(
      text::parse(unwrap(read_text_file(options.text)), options.text, {.places = &places}),
      &places);
  // Passes rely on these checks. A module whose memory is planned is only printed: deduction does
  // not know the operators of planned memory.
  const bool changes =
      !options.passes.empty() || !options.traces.empty() || !options.shapes.bindings.empty();
  if (options.verify && !changes && pipeline::is_planned(module)) {
    analysis::verify_input(module, options.text, &places);
  } else if (options.verify || changes) {
    pipeline::check_input(module, options.text, &places);
  }
  module = options.shapes.apply(module);
  pipeline::Instruments instruments;
  instruments.verify = options.verify;
  Dumps dumps(options.dumps, output);
  dumps.attach(instruments);
  std::optional<target::Target> target;
  if (!options.target.empty()) target = target::parse_target(options.target);
  const target::Target* platform = target ? &*target : nullptr;
  int number = 0;
  std::optional<std::string> result;  // of a step whose result is no module
  for (const std::string& name : options.passes) {
    const pipeline::PassInfo* pass = pipeline::find_pass(name);
    if (!pass || pass->is_function()) {
      module = pipeline::run_by_name(module, name, platform, instruments, number);
      continue;
    }
    if (&name != &options.passes.back() || !options.traces.empty()) {
      throw_user("nothing can follow pass " + name + ", which is not a function of modules",
                 "--passes", name + " last, and no --trace",
                 &name != &options.passes.back() ? join(options.passes, ",") : "--trace",
                 "the steps of a compilation before " + name + " run by themselves");
    }
    result = pipeline::run_to(name, module, platform, instruments);
  }
  for (const std::string& trace : options.traces) {
    replay_trace(trace, module);
    if (options.verify) analysis::verify(module, "--trace " + trace);
  }
  const std::string text = result ? *result : text::print(module);
  // The module printed after the diffs would be hard to tell apart from them.
  if (!options.dumps.diff) output.text(text);
  output.document(Json::object({{"text", Json::string(text)}, {"changes", dumps.json()}}));
  return kDone;
}

}  // namespace

void add_opt(Registration registration) {
  auto* command = registration.app.add_subcommand("opt", "Run passes over a text module");
  command->footer("Example: tapml opt program.txt --passes legalize,dead_code --verify");
  auto options = std::make_shared<OptOptions>();
  command->add_option("text", options->text, "Text module");
  command->add_option("--passes", options->passes, "Passes to run, in this order")->delimiter(',');
  command->add_option("--target", options->target, "Platform of the passes that depend on one");
  command->add_option("--trace", options->traces,
                      "Schedule trace to replay on a tensor program after the passes (repeatable)");
  command->add_flag("--verify", options->verify, "Check the invariants before and after each pass");
  options->dumps.add_to(*command);
  options->shapes.add_to(*command);
  command->add_flag("--list-passes", options->list, "Print the known passes");
  set_runner(*command, registration, options, run);
}

}  // namespace tapml::cli
