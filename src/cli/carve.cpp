// tapml carve: one run, a test for every kernel call.
#include "topdown/carve.h"

#include <CLI/CLI.hpp>

#include "app/model.h"
#include "base/host/interrupt.h"
#include "base/host/progress.h"
#include "cli/command.h"
#include "cli/options.h"
#include "ir/exceptions.h"
#include "llm/engine.h"

namespace tapml::cli {

namespace {

struct CarveOptions {
  ModelOptions model;
  std::string prompt, folder;
  int64_t max_tokens = 4;
  int64_t calls = 0;
};

int run(const CarveOptions& options, const Output& output) {
  Progress progress = Progress::to_stderr(output.json);
  std::vector<int32_t> prompt;
  ReadyModel model =
      make_ready(options.model, [&](const Tokenizer& tokenizer, const ModelInterface& interface) {
        prompt = encode_prompt(tokenizer, interface.context, options.prompt);
        progress.begin("compile");
      });
  auto engine = unwrap(llm::Engine::create(*model.session, model.executable, model.weights));
  progress.begin("carve");
  topdown::Carver carver(*model.executable, options.calls);
  engine->vm().call_point().set_observer(&carver);
  llm::GenerateOptions generate;
  generate.max_tokens = options.max_tokens;
  generate.eos = model.eos;
  generate.on_token = [](int32_t) { return !interrupted(); };
  engine->vm().set_interrupt(&interrupt_flag());
  auto generated = engine->generate(prompt, generate);
  if (!generated && !interrupted()) throw_error(generated.error());
  engine->vm().call_point().set_observer(nullptr);
  // What was carved before an interruption is a valid suite, too.
  topdown::Suite suite = carver.take();
  progress.begin("write " + options.folder);
  unwrap(topdown::save_suite(suite, options.folder));
  progress.end(std::to_string(suite.calls.size()) + " calls of " +
               std::to_string(suite.kernels.size()) + " kernels");
  output.line(options.folder + ": " + std::to_string(suite.calls.size()) + " tests for " +
              std::to_string(suite.kernels.size()) + " kernels");
  output.document(
      Json::object({{"suite", Json::string(options.folder)},
                    {"kernels", Json::integer(static_cast<int64_t>(suite.kernels.size()))},
                    {"calls", Json::integer(static_cast<int64_t>(suite.calls.size()))},
                    {"tensors", Json::integer(static_cast<int64_t>(suite.tensors.size()))}}));
  return interrupted() ? kInterrupted : kDone;
}

}  // namespace

void add_carve(Registration registration) {
  auto* command = registration.app.add_subcommand("carve", "Carve one run into kernel tests");
  command->footer("Example: tapml carve models/demo --prompt \"And God said\" -o out/suite");
  auto options = std::make_shared<CarveOptions>();
  add_options(*command, options->model);
  command->add_option("--prompt", options->prompt, "Text to run")->required();
  command->add_option("-o,--output", options->folder, "Folder of the suite")->required();
  command->add_option("--max-tokens", options->max_tokens, "Decode steps to carve")
      ->capture_default_str();
  command
      ->add_option("--calls", options->calls,
                   "Most calls to keep of a kernel with the same sizes (0: all)")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 40))
      ->capture_default_str();
  command->add_flag("--json", registration.output.json, "One JSON document on stdout");
  command->callback([options, registration] {
    registration.selected = [options, registration] { return run(*options, registration.output); };
  });
}

}  // namespace tapml::cli
