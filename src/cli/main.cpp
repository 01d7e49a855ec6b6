#include <CLI/CLI.hpp>

#include "base/host/interrupt.h"
#include "base/host/progress.h"
#include "base/host/terminal.h"
#include "base/log.h"
#include "cli/command.h"
#include "ir/exceptions.h"

int main(int argc, char** argv) {
  using namespace tapml;
  install_interrupt_handler();
  set_log_sink([](LogLevel level, std::string_view message) {
    Progress::line_to_stderr(std::string(log_level_name(level)) + ": " + std::string(message));
  });

  CLI::App app("tapml brings machine-learning models up on new platforms, kernel by kernel.");
  app.name("tapml");
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("tapml ") + cli::kVersion);
  cli::Runner selected;
  cli::Output output;
  cli::add_commands({app, selected, output});

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);  // --help, --version
    for (int i = 1; i < argc; ++i) output.json |= std::string_view(argv[i]) == "--json";
    return output.error(user_error(e.what(), "command line", "", "", "tapml --help"));
  }
  auto code = guard([&] { return selected(); });
  if (!code) return output.error(code.error());
  return interrupted() ? cli::kInterrupted : *code;
}
