// tapml completion: a script by which a shell completes commands, options and platforms.
#include <CLI/CLI.hpp>
#include <memory>
#include <vector>

#include "cli/command.h"
#include "target/target.h"

namespace tapml::cli {

namespace {

struct Choice {
  std::string word, text;
};

// A command by its words ("rpc serve", the program itself ""), and what may follow it.
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

std::string words_of(const std::vector<Choice>& choices) {
  std::string text;
  for (const Choice& choice : choices) text += (text.empty() ? "" : " ") + choice.word;
  return text;
}

std::string platforms() {
  std::string text;
  for (const target::Description& one : target::descriptions()) {
    text += (text.empty() ? "" : " ") + one.platform;
  }
  return text;
}

// In both shells: the words so far, of which the commands go to $command.
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

std::string bash_script(const std::vector<Completed>& all) {
  std::string text =
      "# Completion of tapml in bash: source <(tapml completion bash)\n"
      "_tapml() {\n"
      "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}\n" +
      find_command(all, "\"${COMP_WORDS[@]:1:COMP_CWORD-1}\"") +
      "  case $previous in\n"
      "    --target | --from | --to)\n"
      "      COMPREPLY=($(compgen -W '" +
      platforms() +
      "' -- \"$current\"))\n"
      "      return\n      ;;\n"
      "  esac\n"
      "  local commands= options=\n"
      "  case $command in\n";
  for (const Completed& one : all) {
    text += "    '" + one.path + "')\n      commands='" + words_of(one.commands) +
            "'\n      options='" + words_of(one.options) + "'\n      ;;\n";
  }
  return text +
         "  esac\n"
         "  if [[ $current == -* ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$options\" -- \"$current\"))\n"
         "  elif [[ -n $commands ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$commands\" -- \"$current\"))\n"
         "  else\n"
         "    COMPREPLY=($(compgen -f -- \"$current\"))\n"
         "  fi\n"
         "}\n"
         "complete -o filenames -o bashdefault -F _tapml tapml\n";
}

// 'word:text' in single quotes, for _describe.
std::string described(const Choice& choice) {
  std::string text = "'" + choice.word + ":";
  for (const char c : choice.text) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

std::string described(const std::vector<Choice>& choices) {
  std::string text;
  for (const Choice& choice : choices) text += "\n        " + described(choice);
  return text;
}

std::string zsh_script(const std::vector<Completed>& all) {
  std::string text =
      "#compdef tapml\n"
      "# Completion of tapml in zsh: source <(tapml completion zsh), or a file _tapml on $fpath.\n"
      "_tapml() {\n"
      "  local current=${words[CURRENT]} previous=${words[CURRENT-1]}\n" +
      find_command(all, "\"${(@)words[2,CURRENT-1]}\"") +
      "  case $previous in\n"
      "    --target | --from | --to)\n"
      "      compadd " +
      platforms() +
      "\n      return\n      ;;\n"
      "  esac\n"
      "  local -a commands options\n"
      "  case $command in\n";
  for (const Completed& one : all) {
    text += "    '" + one.path + "')\n      commands=(" + described(one.commands) +
            "\n      )\n      options=(" + described(one.options) + "\n      )\n      ;;\n";
  }
  return text +
         "  esac\n"
         "  if [[ $current == -* ]]; then\n"
         "    _describe -o option options\n"
         "  elif (( $#commands )); then\n"
         "    _describe command commands\n"
         "  else\n"
         "    _files\n"
         "  fi\n"
         "}\n"
         "compdef _tapml tapml\n";
}

}  // namespace

void add_completion(Registration registration) {
  auto* app = registration.app.add_subcommand("completion",
                                              "Print a script that completes commands in a shell");
  app->footer("Example: source <(tapml completion bash)");
  auto shell = std::make_shared<std::string>();
  app->add_option("SHELL", *shell, "bash or zsh")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh"}));
  app->add_flag("--json", registration.output.json, "One JSON document on stdout");
  app->callback([shell, registration] {
    registration.selected = [shell, registration] {
      const std::vector<Completed> all = commands_of(registration.app);
      const std::string script = *shell == "bash" ? bash_script(all) : zsh_script(all);
      registration.output.text(script);
      registration.output.document(Json::object({{"script", Json::string(script)}}));
      return kDone;
    };
  });
}

}  // namespace tapml::cli
