// tapml completion: prints a script for shell completion of commands, options and platforms.
#include <CLI/CLI.hpp>
#include <memory>
#include <vector>

#include "base/strings.h"
#include "cli/command.h"
#include "cli/options.h"
#include "target/target.h"

namespace tapml::cli {

namespace {

struct Choice {
  std::string word, text;
};

// A command by its words ("rpc serve", the program itself ""), and its completions.
struct Completed {
  std::string path;
  std::vector<Choice> commands, options;
};

// The first sentence, on one line.
std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

void collect(const CLI::App& app, const std::string& path, std::vector<Completed>& all) {
  Completed command{path, {}, {}};
  const auto subcommands =
      app.get_subcommands([](const CLI::App* one) { return !one->get_group().empty(); });
  for (const CLI::App* one : subcommands) {
    command.commands.push_back({one->get_name(), first_line(one->get_description())});
  }
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      command.options.push_back({"--" + name, first_line(option->get_description())});
    }
  }
  all.push_back(std::move(command));
  for (const CLI::App* one : subcommands) {
    collect(*one, path.empty() ? one->get_name() : path + " " + one->get_name(), all);
  }
}

std::vector<Completed> commands_of(const CLI::App& program) {
  std::vector<Completed> all;
  collect(program, "", all);
  return all;
}

std::string platforms() {
  std::string text;
  for (const target::Platform& one : target::platforms()) {
    text += (text.empty() ? "" : " ") + one.description.platform;
  }
  return text;
}

// For both shells: splits off the words so far; those of the command go to $command.
std::string find_command(const std::vector<Completed>& all, const char* words) {
  std::string patterns;
  for (const Completed& one : all) {
    if (one.path.empty()) continue;
    const std::string pattern = one.path.find(' ') == std::string::npos ? " " + one.path : one.path;
    patterns += (patterns.empty() ? "\"" : " | \"") + pattern + "\"";
  }
  return std::string("  local command= word\n  for word in ") + words +
         "; do\n    case \"$command $word\" in\n      " + patterns +
         ") command=\"${command:+$command }$word\" ;;\n    esac\n  done\n";
}

// The parts that differ between the scripts of the two shells.
struct Shell {
  const char* head;       // up to the first statement of the function
  const char* words;      // the words before the current one
  const char* platforms;  // a statement that offers the words in place of {}
  const char* locals;     // local variables for the offered words
  std::string (*list)(const std::vector<Choice>& choices);
  const char* tail;
};

std::string script_of(const Shell& shell, const std::vector<Completed>& all) {
  std::string offer = shell.platforms;
  offer.replace(offer.find("{}"), 2, platforms());
  std::string text = shell.head + find_command(all, shell.words) +
                     "  case $previous in\n    --target | --from | --to)\n      " + offer +
                     "\n      return\n      ;;\n  esac\n" + shell.locals + "  case $command in\n";
  for (const Completed& one : all) {
    text += "    '" + one.path + "')\n      commands=" + shell.list(one.commands) +
            "\n      options=" + shell.list(one.options) + "\n      ;;\n";
  }
  return text + "  esac\n" + shell.tail;
}

std::string bash_list(const std::vector<Choice>& choices) {
  return "'" + join(choices, &Choice::word, " ") + "'";
}

// ('word:text' ...), for _describe.
std::string zsh_list(const std::vector<Choice>& choices) {
  std::string text = "(";
  for (const Choice& choice : choices) {
    text += "\n        '" + choice.word + ":";
    for (const char c : choice.text) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    text += "'";
  }
  return text + "\n      )";
}

constexpr Shell kBash = {
    "# Completion of tapml in bash: source <(tapml completion bash)\n"
    "_tapml() {\n"
    "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}\n",
    "\"${COMP_WORDS[@]:1:COMP_CWORD-1}\"",
    "COMPREPLY=($(compgen -W '{}' -- \"$current\"))",
    "  local commands= options=\n",
    bash_list,
    "  if [[ $current == -* ]]; then\n"
    "    COMPREPLY=($(compgen -W \"$options\" -- \"$current\"))\n"
    "  elif [[ -n $commands ]]; then\n"
    "    COMPREPLY=($(compgen -W \"$commands\" -- \"$current\"))\n"
    "  else\n"
    "    COMPREPLY=($(compgen -f -- \"$current\"))\n"
    "  fi\n"
    "}\n"
    "complete -o filenames -o bashdefault -F _tapml tapml\n"};

constexpr Shell kZsh = {
    "#compdef tapml\n"
    "# Completion of tapml in zsh: source <(tapml completion zsh), or a file _tapml on $fpath.\n"
    "_tapml() {\n"
    "  local current=${words[CURRENT]} previous=${words[CURRENT-1]}\n",
    "\"${(@)words[2,CURRENT-1]}\"",
    "compadd {}",
    "  local -a commands options\n",
    zsh_list,
    "  if [[ $current == -* ]]; then\n"
    "    _describe -o option options\n"
    "  elif (( $#commands )); then\n"
    "    _describe command commands\n"
    "  else\n"
    "    _files\n"
    "  fi\n"
    "}\n"
    "compdef _tapml tapml\n"};

}  // namespace

void add_completion(Registration registration) {
  auto* app = registration.app.add_subcommand("completion",
                                              "Print a script that completes commands in a shell");
  app->footer("Example: source <(tapml completion bash)");
  auto shell = std::make_shared<std::string>();
  app->add_option("SHELL", *shell, "Shell that runs the script")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh"}));
  set_runner(*app, registration, [shell, registration] {
    const std::vector<Completed> all = commands_of(registration.app);
    const std::string script = script_of(*shell == "bash" ? kBash : kZsh, all);
    registration.output.text(script);
    registration.output.document(Json::object({{"script", Json::string(script)}}));
    return kDone;
  });
}

}  // namespace tapml::cli
