// tapml help: what --help of a command prints.
#include <CLI/CLI.hpp>
#include <memory>
#include <vector>

#include "base/strings.h"
#include "base/suggest.h"
#include "cli/command.h"
#include "ir/exceptions.h"

namespace tapml::cli {

namespace {

std::string help_of(const CLI::App& program, const std::vector<std::string>& words) {
  const CLI::App* command = &program;
  std::string name = program.get_name();
  for (const std::string& word : words) {
    const auto shown =
        command->get_subcommands([](const CLI::App* one) { return !one->get_group().empty(); });
    std::vector<std::string_view> names;
    const CLI::App* next = nullptr;
    for (const CLI::App* one : shown) {
      names.emplace_back(one->get_name());
      if (one->get_name() == word) next = one;
    }
    if (next == nullptr) {
      const std::string meant = suggestion(word, names);
      throw_user("there is no such command", name,
                 names.empty() ? "no further word" : join_choices(names), in_quotes(word),
                 meant.empty() ? "tapml help" : meant);
    }
    command = next;
    name += " " + word;
  }
  // CLI::App::help() would describe the command that was chosen: this one.
  return command->get_formatter()->make_help(command, name, CLI::AppFormatMode::Normal);
}

}  // namespace

void add_help(Registration registration) {
  auto* app = registration.app.add_subcommand("help", "Describe a command and its options");
  app->footer("Example: tapml help migrate");
  auto words = std::make_shared<std::vector<std::string>>();
  app->add_option("COMMAND", *words, "The command, e.g. rpc serve; none: all commands");
  app->add_flag("--json", registration.output.json, "One JSON document on stdout");
  app->callback([words, registration] {
    registration.selected = [words, registration] {
      const std::string help = help_of(registration.app, *words);
      registration.output.text(help);
      registration.output.document(Json::object({{"help", Json::string(help)}}));
      return kDone;
    };
  });
}

}  // namespace tapml::cli
