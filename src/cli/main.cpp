#include <CLI/CLI.hpp>

#include "base/host/interrupt.h"
#include "base/host/progress.h"
#include "base/log.h"
#include "base/strings.h"
#include "base/suggest.h"
#include "base/version.h"
#include "cli/command.h"
#include "cli/help_text.h"
#include "io/host/mapped_ranges.h"
#include "ir/exceptions.h"

namespace {

// "tapml rpc serve": the part of the command that was recognized.
std::string command_name(const CLI::App& app) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  return chosen.empty() ? app.get_name() : app.get_name() + " " + command_name(*chosen.front());
}

const CLI::App& innermost(const CLI::App& app) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  return chosen.empty() ? app : innermost(*chosen.front());
}

std::vector<std::string_view> commands_of(const CLI::App& app) {
  std::vector<std::string_view> names;
  for (const CLI::App* command :
       app.get_subcommands([](const CLI::App* one) { return !one->get_group().empty(); })) {
    names.emplace_back(command->get_name());
  }
  return names;
}

// "--promt": an argument written like an option that `command` does not have.
std::string unknown_option(const CLI::App& command) {
  for (const std::string& word : command.remaining()) {
    if (word.size() > 1 && word[0] == '-' && (word[1] < '0' || word[1] > '9')) return word;
  }
  return "";
}

tapml::Error unknown_option_error(const CLI::App& command, const std::string& written,
                                  const std::string& name) {
  const std::string option = written.substr(0, written.find('='));
  std::vector<std::string> names;
  for (const CLI::Option* one : command.get_options()) {
    for (const std::string& longer : one->get_lnames()) names.push_back("--" + longer);
  }
  const std::vector<std::string_view> views(names.begin(), names.end());
  // "--temp" is a prefix of "--temperature", and two edits from "--help".
  std::string meant = tapml::longer_name(option, views);
  if (meant.empty()) meant = tapml::nearest_name(option, views);
  return tapml::user_error("there is no such option", "command line", "an option of " + name,
                           tapml::in_quotes(option),
                           meant.empty() ? name + " --help" : "did you mean '" + meant + "'?");
}

tapml::Error command_line_error(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = innermost(app);
  const std::string help = command_name(app) + " --help";
  if (command.get_require_subcommand_min() == 0) {
    // A misspelled option also causes an error about the missing one; report the cause.
    const std::string unknown = unknown_option(command);
    if (!unknown.empty()) return unknown_option_error(command, unknown, command_name(app));
    return tapml::user_error(error.what(), "command line", "", "", help);
  }
  const std::vector<std::string_view> commands = commands_of(command);
  const std::string expected = tapml::join_choices(commands);
  const std::vector<std::string> unknown = app.remaining(true);
  if (unknown.empty()) {
    return tapml::user_error("a command is missing", command_name(app), expected, "none", help);
  }
  const std::string meant = tapml::suggestion(unknown[0], commands);
  return tapml::user_error("there is no such command", command_name(app), expected,
                           tapml::in_quotes(unknown[0]), meant.empty() ? help : meant);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace tapml;
  install_interrupt_handler();
  set_log_sink([](LogLevel level, std::string_view message) {
    Progress::line_to_stderr(std::string(log_level_name(level)) + ": " + std::string(message));
  });

  CLI::App app("Bring machine-learning models up on new platforms, kernel by kernel.");
  app.name("tapml");
  app.formatter(cli::help_formatter());
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("tapml ") + tapml::kVersion);
  cli::Runner selected;
  cli::Output output;
  cli::add_commands({app, selected, output});

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);  // --help, --version
    for (int i = 1; i < argc; ++i) output.json |= std::string_view(argv[i]) == "--json";
    return output.error(command_line_error(app, e));
  }
  auto code = guard([&] { return selected(); });
  // A truncated file reads as zeros: it is the cause of any error.
  if (Status files = check_lost_files(); !files) code = fail(files.error());
  if (!code) return output.error(code.error());
  return interrupted() ? cli::kInterrupted : *code;
}
