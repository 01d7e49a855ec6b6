// What the program says of its commands: as --help, and as Markdown.
#pragma once

#include <memory>
#include <string>

namespace CLI {
class App;
class FormatterBase;
}  // namespace CLI

namespace tapml::cli {

// --help of a command and of all below it: arguments, and options in the groups of option_table.h,
// each with its default, wrapped to the width of standard output. It is set before subcommands are
// added, since these take it over.
std::shared_ptr<CLI::FormatterBase> help_formatter();

// `command` ("tapml rpc serve") and the commands below it: for each that does something a heading,
// one sentence, the usage and a table of its options.
std::string markdown_help(const CLI::App& command, const std::string& name);

}  // namespace tapml::cli
