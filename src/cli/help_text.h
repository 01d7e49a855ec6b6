// Descriptions of the program's commands: as --help, and as Markdown.
#pragma once

#include <memory>
#include <string>

namespace CLI {
class App;
class FormatterBase;
}  // namespace CLI

namespace tapml::cli {

// Sets --help of a command and its subcommands: arguments, and options in the groups of
// option_table.h, each with its default, wrapped to the width of standard output. Call it before
// subcommands are added, since these inherit it.
std::shared_ptr<CLI::FormatterBase> help_formatter();

// `command` ("tapml rpc serve") and its subcommands: for each command that runs something a
// heading, one sentence, the usage and a table of its options.
std::string markdown_help(const CLI::App& command, const std::string& name);

}  // namespace tapml::cli
