#include "cli/help_text.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <vector>

#include "base/host/table.h"
#include "base/host/terminal.h"
#include "cli/option_table.h"

namespace tapml::cli {

namespace {

constexpr size_t kNameColumn = 26;                // where descriptions start
constexpr std::string_view kNoGroup = "Options";  // for options that option_table.h lacks

// An argument or option as help shows it.
struct Entry {
  std::string name;         // "--target TARGET", "-o, --output PATH", "MODEL"
  std::string description;  // without the default
  std::string fallback;     // the default; empty: none
  std::string group;        // empty: an argument
  bool required = false;
};

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

// "a|b|c" for an option that takes one of these; empty for others. The option parser exposes the
// choices only in the name of the type: "TEXT:{a,b,c}".
std::string choices_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const size_t begin = type.find('{'), end = type.rfind('}');
  if (begin == std::string::npos || end == std::string::npos || end < begin) return "";
  std::string choices = type.substr(begin + 1, end - begin - 1);
  std::ranges::replace(choices, ',', '|');
  return choices;
}

std::string excluded(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const CLI::Option* other : option.get_excludes()) names.push_back(other->get_name());
  std::ranges::sort(names);
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "; not with " : ", ") + name;
  return text;
}

// The command's words after the program's name, which are its key in the table.
std::string command_words(const std::string& name) {
  const size_t space = name.find(' ');
  return space == std::string::npos ? "" : name.substr(space + 1);
}

Entry entry_of(const CLI::Option& option, const std::string& command) {
  Entry entry;
  entry.description = option.get_description() + excluded(option);
  entry.fallback = option.get_default_str();
  entry.required = option.get_required();
  const bool repeated = option.get_expected_max() == CLI::detail::expected_max_vector_size;
  if (option.get_positional()) {
    const std::string choices = choices_of(option);
    entry.name =
        (choices.empty() ? upper(option.get_name(true, false)) : choices) + (repeated ? "..." : "");
    return entry;
  }
  for (const std::string& shorter : option.get_snames()) entry.name += "-" + shorter + ", ";
  const std::string longer = "--" + option.get_lnames().front();
  const OptionRow* row = find_option_row(command, longer);
  entry.name += longer;
  entry.group = row != nullptr ? row->group : kNoGroup;
  const std::string choices = choices_of(option);
  const std::string value = choices.empty() && row != nullptr ? std::string(row->value) : choices;
  if (!value.empty()) entry.name += " " + value;  // else a flag
  return entry;
}

// Arguments first, then options by group.
std::vector<Entry> entries_of(const CLI::App& command, const std::string& name) {
  std::vector<Entry> arguments, options;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_group().empty()) continue;
    Entry entry = entry_of(*option, command_words(name));
    (entry.group.empty() ? arguments : options).push_back(std::move(entry));
  }
  const auto add_group = [&](std::string_view group) {
    std::ranges::copy_if(options, std::back_inserter(arguments),
                         [&](const Entry& one) { return one.group == group; });
  };
  std::ranges::for_each(kOptionGroups, add_group);
  add_group(kNoGroup);
  return arguments;
}

std::vector<const CLI::App*> commands_below(const CLI::App& command) {
  return command.get_subcommands([](const CLI::App* one) { return !one->get_group().empty(); });
}

std::string usage_of(const CLI::App& command, const std::string& name) {
  std::string usage = name;
  const std::vector<const CLI::Option*> options = command.get_options();
  if (!options.empty()) usage += " [OPTIONS]";
  for (const CLI::Option* option : options) {
    if (!option->get_positional()) continue;
    const std::string argument = entry_of(*option, command_words(name)).name;
    usage += option->get_required() ? " " + argument : " [" + argument + "]";
  }
  if (commands_below(command).empty()) return usage;
  return usage + (command.get_require_subcommand_min() > 0 ? " COMMAND" : " [COMMAND]");
}

// "  NAME    text", the text in lines from column kNameColumn on.
std::string lines_of(const std::string& name, const std::string& text) {
  const size_t width = std::max<size_t>(text_width(STDOUT_FILENO), kNameColumn + 20);
  std::string out = "  " + name;
  const std::vector<std::string> lines = wrapped_lines(text, width - kNameColumn);
  size_t column = out.size();
  if (column + 2 > kNameColumn && !lines.empty()) {
    out += "\n";
    column = 0;
  }
  for (const std::string& line : lines) {
    out += std::string(kNameColumn - column, ' ') + line + "\n";
    column = 0;
  }
  return lines.empty() ? out + "\n" : out;
}

class HelpFormatter : public CLI::FormatterBase {
 public:
  std::string make_help(const CLI::App* command, std::string name,
                        CLI::AppFormatMode /*mode*/) const override {
    std::string out = command->get_description() + "\n\nUsage: " + usage_of(*command, name) + "\n";
    std::string group = "none";  // differs from the group of the first entry
    for (const Entry& entry : entries_of(*command, name)) {
      if (entry.group != group)
        out += "\n" + (entry.group.empty() ? "Arguments" : entry.group) + ":\n";
      group = entry.group;
      std::string text = entry.description;
      if (entry.required && !entry.group.empty()) text += " (required)";
      if (!entry.fallback.empty()) text += " (default: " + entry.fallback + ")";
      out += lines_of(entry.name, text);
    }
    const std::vector<const CLI::App*> commands = commands_below(*command);
    if (!commands.empty()) out += "\nCommands:\n";
    for (const CLI::App* one : commands) out += lines_of(one->get_name(), one->get_description());
    const std::string footer = command->get_footer();
    return footer.empty() ? out : out + "\n" + footer + "\n";
  }
};

// Escapes text for a cell of a Markdown table.
std::string cell(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

}  // namespace

std::shared_ptr<CLI::FormatterBase> help_formatter() { return std::make_shared<HelpFormatter>(); }

std::string markdown_help(const CLI::App& command, const std::string& name) {
  std::string out;
  if (command.get_require_subcommand_min() == 0) {
    out += "### `" + name + "`\n\n" + command.get_description() + ".\n\n    " +
           usage_of(command, name) + "\n\n| option | default | meaning |\n| --- | --- | --- |\n";
    std::string group;
    for (const Entry& entry : entries_of(command, name)) {
      if (entry.group != group) out += "| **" + entry.group + "** | | |\n";
      group = entry.group;
      const std::string fallback = entry.required           ? "required"
                                   : entry.fallback.empty() ? ""
                                                            : "`" + cell(entry.fallback) + "`";
      out +=
          "| `" + cell(entry.name) + "` | " + fallback + " | " + cell(entry.description) + " |\n";
    }
    out += "\n";
  }
  for (const CLI::App* one : commands_below(command)) {
    out += markdown_help(*one, name + " " + one->get_name());
  }
  return out;
}

}  // namespace tapml::cli
