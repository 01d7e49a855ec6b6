// tapml help: prints --help of a command, and the tables of docs/cli.md.
#include <CLI/CLI.hpp>
#include <memory>
#include <vector>

#include "base/strings.h"
#include "base/suggest.h"
#include "cli/command.h"
#include "cli/help_text.h"
#include "cli/options.h"
#include "ir/exceptions.h"

namespace tapml::cli {

namespace {

// A command by its words, and by its full name: "tapml rpc serve".
struct Named {
  const CLI::App* command;
  std::string name;
};

Named find_command(const CLI::App& program, const std::vector<std::string>& words) {
  Named found{&program, program.get_name()};
  for (const std::string& word : words) {
    const auto shown = found.command->get_subcommands(
        [](const CLI::App* one) { return !one->get_group().empty(); });
    std::vector<std::string_view> names;
    const CLI::App* next = nullptr;
    for (const CLI::App* one : shown) {
      names.emplace_back(one->get_name());
      if (one->get_name() == word) next = one;
    }
    if (next == nullptr) {
      const std::string meant = suggestion(word, names);
      throw_user("there is no such command", found.name,
                 names.empty() ? "no further word" : join_choices(names), in_quotes(word),
                 meant.empty() ? "tapml help" : meant);
    }
    found = {next, found.name + " " + word};
  }
  return found;
}

std::string help_of(const CLI::App& program, const std::vector<std::string>& words, bool markdown) {
  const auto [command, name] = find_command(program, words);
  if (markdown) return markdown_help(*command, name);
  // CLI::App::help() would describe the chosen command, which is this one.
  return command->get_formatter()->make_help(command, name, CLI::AppFormatMode::Normal);
}

}  // namespace

void add_help(Registration registration) {
  auto* app = registration.app.add_subcommand("help", "Describe a command and its options");
  app->footer("Example: tapml help migrate");
  auto words = std::make_shared<std::vector<std::string>>();
  app->add_option("COMMAND", *words, "Command to describe, such as rpc serve");
  auto markdown = std::make_shared<bool>(false);
  app->add_flag("--markdown", *markdown, "Print the options as Markdown tables");
  set_runner(*app, registration, [words, markdown, registration] {
    const std::string help = help_of(registration.app, *words, *markdown);
    registration.output.text(help);
    registration.output.document(Json::object({{"help", Json::string(help)}}));
    return kDone;
  });
}

}  // namespace tapml::cli
