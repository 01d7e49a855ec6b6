// tapml chat: a conversation with a model.
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "app/model.h"
#include "app/speculation.h"
#include "base/host/interrupt.h"
#include "base/host/progress.h"
#include "base/host/terminal.h"
#include "base/suggest.h"
#include "cli/chat_history.h"
#include "cli/chat_options.h"
#include "cli/command.h"
#include "cli/line_input.h"
#include "cli/options.h"
#include "io/host/files.h"
#include "io/host/mapped_ranges.h"
#include "ir/exceptions.h"
#include "llm/chat_session.h"

namespace tapml::cli {

namespace {

struct ChatCommand {
  ModelOptions model;
  ChatOptions chat;
  std::vector<std::string> stop;
  app::GrammarOptions grammar;
  int64_t max_tokens = 1024;
  llm::SamplerOptions sampler;
  app::SpeculationOptions speculation;
};

constexpr const char* kHelp =
    "/help            show this list\n"
    "/clear           begin a new conversation, with the same instructions\n"
    "/system [TEXT]   show the instructions, or replace them and begin anew\n"
    "/regen           answer the last message again\n"
    "/undo            take the last message and its answer back\n"
    "/history         show the conversation\n"
    "/save FILE       write the conversation to a file (JSON)\n"
    "/load FILE       continue the conversation of a file\n"
    "/quit            end the program (so does Ctrl-D)\n"
    "A message that begins with \"//\" is sent with one \"/\". A line that ends with \"\\\" goes "
    "on\n"
    "in the next one. Ctrl-C stops an answer.";

const std::vector<std::string_view> kCommands = {"/help",    "/clear", "/system", "/regen", "/undo",
                                                 "/history", "/save",  "/load",   "/quit"};

// The loop of one program run.
class Chat {
 public:
  Chat(const ChatCommand& options, const Output& output, const ReadyModel& model,
       llm::Engine& engine, llm::Speculation* speculation, const llm::ChatTemplate& chat_template)
      : options_(options),
        output_(output),
        session_(engine, *model.tokenizer, chat_template, model.eos),
        history_(options.chat.system),
        render_(options.chat.render_options()),
        grammar_(options.grammar.read()),
        speculation_(speculation) {}

  void run() {
    LineInput input;
    const bool is_terminal = input.is_terminal();
    if (is_terminal) note("a chat with " + options_.model.model + "; /help lists the commands");
    while (auto line = input.read(is_terminal ? "> " : "")) {
      if (line->starts_with('/') && !line->starts_with("//")) {
        if (!command(*line)) return;
        continue;
      }
      std::string message = *line;
      if (message.starts_with("//")) message.erase(0, 1);
      if (message.find_first_not_of(" \t\r") == std::string::npos) continue;
      history_.add("user", message);
      answer();
    }
  }

  Json document() const {
    return Json::object({{"messages", history_.messages()}, {"answers", answers_}});
  }

 private:
  static void note(const std::string& text) { Progress::line_to_stderr(text); }

  // Answers the last message; takes it back if that is refused.
  void answer() {
    llm::AnswerOptions answer;
    answer.max_tokens = options_.max_tokens;
    answer.sampler = options_.sampler;
    // Another draw for each answer, which depends on nothing but the seed and the place.
    answer.sampler.seed += draws_++;
    answer.stop = options_.stop;
    answer.grammar = grammar_;
    answer.chat = render_;
    answer.speculation = speculation_;
    bool ends_line = true;
    answer.on_text = [&](std::string_view text) {
      ends_line = text.ends_with('\n');
      output_.text(std::string(text));
      return !interrupted() && check_lost_files().has_value();
    };
    auto done = session_.answer(history_.messages(), answer);
    const bool was_stopped = interrupted();
    if (was_stopped) {
      clear_interrupt();
      install_interrupt_handler();
    }
    if (!ends_line || (done && done->text.empty())) output_.text("\n");
    unwrap(check_lost_files());
    if (!done) {
      if (done.error().kind != ErrorKind::kUser) unwrap(Status(fail(done.error())));
      history_.take_back_message();
      output_.error_text(done.error());
      return;
    }
    history_.add("assistant", done->text);
    report(*done);
  }

  void report(const llm::Answer& answer) {
    const double speed = answer.decode_seconds > 0 && answer.decode_steps > 0
                             ? static_cast<double>(answer.decode_steps) / answer.decode_seconds
                             : 0;
    Json row =
        Json::object({{"text", Json::string(answer.text)},
                      {"tokens", Json::integer(std::ssize(answer.tokens))},
                      {"prompt_tokens", Json::integer(answer.prompt_tokens)},
                      {"kept_tokens", Json::integer(answer.kept_tokens)},
                      {"stop_reason", Json::string(llm::answer_end_name(answer.end))},
                      {"timings", Json::object({{"prefill", Json::number(answer.prefill_seconds)},
                                                {"decode", Json::number(answer.decode_seconds)},
                                                {"tokens_per_s", Json::number(speed)}})}});
    if (speculation_) row.set("speculation", speculation_json(answer.speculation));
    answers_.push(std::move(row));
    if (output_.json) return;
    const char* end = answer.end == llm::AnswerEnd::kCancelled     ? "; stopped"
                      : answer.end == llm::AnswerEnd::kMaxTokens   ? "; cut at --max-tokens"
                      : answer.end == llm::AnswerEnd::kContextFull ? "; the context is full"
                                                                   : "";
    std::fprintf(stderr, "[%lld tokens, %.1f tokens/s; %lld of %lld prompt tokens read%s]\n",
                 static_cast<long long>(answer.tokens.size()), speed,
                 static_cast<long long>(answer.prompt_tokens - answer.kept_tokens),
                 static_cast<long long>(answer.prompt_tokens), end);
    const std::string proposed = speculation_text(answer.speculation);
    if (!proposed.empty()) std::fprintf(stderr, "[%s]\n", proposed.c_str());
  }

  // False ends the program.
  bool command(const std::string& line) {
    const size_t blank = line.find_first_of(" \t");
    const std::string name = line.substr(0, blank);
    std::string rest = blank == std::string::npos ? "" : line.substr(blank);
    rest.erase(0, std::min(rest.find_first_not_of(" \t"), rest.size()));
    while (rest.ends_with(' ') || rest.ends_with('\r')) rest.pop_back();
    if (name == "/quit" || name == "/exit") return false;
    auto done = guard([&] {
      run_command(name, rest);
      return true;
    });
    if (done) return true;
    if (done.error().kind != ErrorKind::kUser) unwrap(Status(fail(done.error())));
    output_.error_text(done.error());
    return true;
  }

  void run_command(const std::string& name, const std::string& rest) {
    if (name == "/help") return note(kHelp);
    if (name == "/clear") return history_.clear();
    if (name == "/history") return note(history_.text());
    if (name == "/system") {
      if (!rest.empty()) return history_.set_system(rest);
      return note(history_.system().empty() ? "no instructions" : history_.system());
    }
    if (name == "/save") return history_.save(rest);
    if (name == "/load") return history_.load(rest);
    if (name == "/undo") return history_.take_back_turn();
    if (name == "/regen") {
      history_.take_back_answer();
      return answer();
    }
    const std::string meant = suggestion(name, kCommands);
    throw_user(
        "there is no such command", "chat", "/help, for example", name,
        meant.empty() ? "/help lists the commands; \"//\" begins a message with \"/\"" : meant);
  }

  const ChatCommand& options_;
  const Output& output_;
  llm::ChatSession session_;
  ChatHistory history_;
  llm::ChatTemplateOptions render_;
  const std::shared_ptr<const llm::Grammar> grammar_;
  llm::Speculation* const speculation_;  // null: none
  Json answers_ = Json::array();
  uint64_t draws_ = 0;
};

int run(ChatCommand options, const Output& output) {
  unwrap(llm::check_sampler_options(options.sampler));
  if (options.max_tokens < 1) {
    throw_user("the number of tokens of an answer is too small", "--max-tokens", "1 or more",
               std::to_string(options.max_tokens));
  }
  refuse_inputs(options.model.inputs, "tapml run --chat takes it for a single message");
  Progress progress = Progress::to_stderr(output.json, Progress::kPatience);
  progress.begin("load");
  options.model.watcher = progress.watcher();
  options.chat.render_options();  // reports an error early
  options.grammar.read();
  std::optional<llm::ChatTemplate> chat_template;
  options.model.with_folder = [&](const std::string& folder) {
    chat_template = options.chat.load(folder, options.model.model);
  };
  const ReadyModel model =
      make_ready(options.model, [&](const Tokenizer&, const ModelInterface& interface,
                                    llm::TextInputs&) { options.speculation.check(interface); });
  auto engine = make_engine(model);
  std::unique_ptr<app::SpeculativeModel> speculative;
  if (options.speculation.is_on()) {
    speculative = app::SpeculativeModel::load(options.speculation, options.model, model);
    if (speculative->draft()) speculative->draft()->vm().set_interrupt(&interrupt_flag());
  }
  engine->vm().set_interrupt(&interrupt_flag());
  engine->vm().set_call_limit(options.model.step_limit);
  progress.end();
  Chat chat(options, output, model, *engine, speculative ? &speculative->speculation() : nullptr,
            *chat_template);
  chat.run();
  output.document(chat.document());
  return kDone;
}

}  // namespace

void add_chat(Registration registration) {
  auto* command = registration.app.add_subcommand("chat", "Hold a conversation with a model");
  command->footer(
      "Example: tapml chat models/demo --chat-template examples/chat/plain.jinja --system \"Be "
      "brief\"");
  auto options = std::make_shared<ChatCommand>();
  add_options(*command, options->model);
  add_options(*command, options->chat);
  add_stop_option(*command, options->stop);
  add_options(*command, options->grammar);
  command->add_option("--max-tokens", options->max_tokens, "Most tokens of an answer")
      ->capture_default_str();
  add_options(*command, options->sampler);
  add_options(*command, options->speculation);
  set_runner(*command, registration,
             [options, registration] { return run(*options, registration.output); });
}

}  // namespace tapml::cli
