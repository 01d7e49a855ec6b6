#include "cli/chat_options.h"

#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>

#include "ir/exceptions.h"

namespace tapml::cli {

void add_options(CLI::App& command, app::ChatOptions& options) {
  command.add_option("--system", options.system, "Instructions: the conversation's system message");
  command.add_option("--chat-template", options.template_file,
                     "File of a chat template, in place of the model's (docs/chat.md)");
  command.add_option("--chat-variables", options.variables,
                     "JSON object of further variables of the chat template");
}

void refuse_chat_options(const app::ChatOptions& options) {
  for (const auto& [name, value] :
       {std::pair{"--system", options.system}, std::pair{"--chat-template", options.template_file},
        std::pair{"--chat-variables", options.variables}}) {
    if (value.empty()) continue;
    throw_user(name + std::string(" goes with --chat only"), name, "--chat", "no --chat",
               "add --chat, or leave it out");
  }
}

void refuse_inputs(const app::TextInputOptions& inputs, const std::string& hint) {
  for (const auto& [name, given] : {std::pair{"--features", !inputs.features.file.empty()},
                                    std::pair{"--audio", !inputs.features.audio.empty()},
                                    std::pair{"--embeddings", !inputs.embeddings.files.empty()},
                                    std::pair{"--image", !inputs.images.files.empty()}}) {
    if (given) throw_user("a conversation has texts only", name, "no such option", "a file", hint);
  }
}

void add_stop_option(CLI::App& command, std::vector<std::string>& stop) {
  command
      .add_option("--stop", stop, "Text that ends the answer, and is not part of it (repeatable)")
      ->allow_extra_args(false);
}

void add_options(CLI::App& command, app::GrammarOptions& options) {
  command.add_option("--grammar", options.grammar_file,
                     "File of a grammar that the answer follows, in GBNF (docs/chat.md)");
  command.add_option("--json-schema", options.schema_file,
                     "File of a JSON schema that the answer follows");
}

void add_options(CLI::App& command, app::SpeculationOptions& options) {
  CLI::Option* draft =
      command.add_option("--draft", options.draft,
                         "Smaller model that proposes tokens, which MODEL checks together "
                         "(docs/speculative-decoding.md)");
  command
      .add_option("--lookup", options.lookup,
                  "Propose what followed the last N tokens where they stood before in the text")
      ->check(CLI::Range(int64_t{1}, int64_t{64}))
      ->excludes(draft);
  command.add_option("--draft-tokens", options.propose.tokens, "Most tokens to propose at once")
      ->check(CLI::Range(int64_t{1}, llm::Speculation::kMostProposed))
      ->capture_default_str();
  command.add_flag("--keep-draft", options.propose.keep,
                   "Propose tokens even where that measures slower than plain decoding");
}

namespace {

std::string fixed_text(double value, int digits) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return text.data();
}

}  // namespace

std::string speculation_text(const llm::SpeculationCounts& counts) {
  if (counts.verify_steps + counts.plain_steps == 0) return "";
  if (counts.verify_steps == 0) return "no tokens were proposed";
  std::string text = std::to_string(counts.accepted) + " of " + std::to_string(counts.proposed) +
                     " proposed tokens accepted (" + fixed_text(100 * counts.acceptance(), 0) +
                     "%), " + fixed_text(counts.tokens_per_verify(), 2) + " tokens a verify step";
  if (counts.stopped_after) {
    return text + "; plain decoding is faster: turned off after " +
           std::to_string(*counts.stopped_after) + " tokens (--keep-draft keeps it on)";
  }
  return counts.slower ? text + "; plain decoding would be faster" : text;
}

Json speculation_json(const llm::SpeculationCounts& counts) {
  return Json::object({{"proposed", Json::integer(counts.proposed)},
                       {"accepted", Json::integer(counts.accepted)},
                       {"acceptance", Json::number(counts.acceptance())},
                       {"verify_steps", Json::integer(counts.verify_steps)},
                       {"tokens_per_verify", Json::number(counts.tokens_per_verify())},
                       {"plain_steps", Json::integer(counts.plain_steps)},
                       {"stopped_after",
                        counts.stopped_after ? Json::integer(*counts.stopped_after) : Json::null()},
                       {"slower", Json::boolean(counts.slower)},
                       {"timings", Json::object({{"propose", Json::number(counts.propose_seconds)},
                                                 {"verify", Json::number(counts.verify_seconds)},
                                                 {"plain", Json::number(counts.plain_seconds)}})}});
}

}  // namespace tapml::cli
