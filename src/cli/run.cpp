// tapml run: generates text.
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "app/chat.h"
#include "app/model.h"
#include "app/speculation.h"
#include "base/clock.h"
#include "base/host/interrupt.h"
#include "base/host/progress.h"
#include "base/host/terminal.h"
#include "cli/chat_options.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/prompt.h"
#include "cli/trace.h"
#include "io/host/files.h"
#include "io/host/mapped_ranges.h"
#include "io/safetensors.h"
#include "ir/exceptions.h"
#include "llm/engine.h"
#include "llm/grammar/token_mask.h"
#include "llm/stop_texts.h"

namespace tapml::cli {

namespace {

struct RunOptions {
  ModelOptions model;
  TraceOptions trace;
  PromptOptions prompt;
  std::string dump_logits;
  bool is_chat = false;
  ChatOptions chat;
  std::vector<std::string> stop;
  app::GrammarOptions grammar;
  int64_t max_tokens = 64;
  llm::SamplerOptions sampler;
  app::SpeculationOptions speculation;
};

Json token_list(const std::vector<int32_t>& tokens) {
  std::vector<Json> items;
  for (int32_t token : tokens) items.push_back(Json::integer(token));
  return Json::array(std::move(items));
}

void dump_logits(const std::string& path, const std::vector<int32_t>& prompt,
                 const llm::Generation& generation) {
  std::vector<int32_t> tokens = prompt;
  tokens.insert(tokens.end(), generation.tokens.begin(), generation.tokens.end());
  auto count = static_cast<int64_t>(tokens.size());
  auto image =
      write_safetensors({{"tokens", HostTensor::from<int32_t>(DType::kI32, {count}, tokens)},
                         {"logits", generation.logits}});
  unwrap(write_file_atomic(path, image));
}

// For an empty answer: the reason, and what to try. Empty otherwise.
std::string empty_answer_note(const RunOptions& options, const llm::Generation& generation) {
  if (!generation.tokens.empty() || options.max_tokens == 0) return "";
  std::string note =
      "the answer is empty: the model's end token came first. Try another prompt, such as the "
      "beginning of a text like those the model was trained on";
  // Greedy decoding gives the same empty answer for any seed.
  if (options.sampler.temperature == 0) return note + ", or --temperature 0.8";
  return note + ", or another --seed";
}

// The messages of a chat; images come first in the user's.
Json messages_of(const RunOptions& options, const std::string& prompt) {
  Json messages = Json::array();
  if (!options.chat.system.empty()) messages.push(chat_message("system", options.chat.system));
  const size_t images = options.model.inputs.images.files.size();
  if (images == 0) {
    messages.push(chat_message("user", prompt));
    return messages;
  }
  Json parts = Json::array();
  for (size_t i = 0; i < images; ++i) {
    parts.push(Json::object({{"type", Json::string("image")}}));
  }
  parts.push(Json::object({{"type", Json::string("text")}, {"text", Json::string(prompt)}}));
  messages.push(Json::object({{"role", Json::string("user")}, {"content", std::move(parts)}}));
  return messages;
}

int run(RunOptions options, const Output& output) {
  if (!options.is_chat) refuse_chat_options(options.chat);
  unwrap(llm::check_sampler_options(options.sampler));
  if (options.max_tokens < 0) {
    throw_user("the number of tokens is negative", "--max-tokens", "0 or more",
               std::to_string(options.max_tokens));
  }
  // Checked before minutes of generating.
  if (!options.dump_logits.empty()) unwrap(check_writable(options.dump_logits));
  const std::shared_ptr<const llm::Grammar> grammar = options.grammar.read();
  Trace trace(options.trace);
  Progress progress = Progress::to_stderr(output.json, Progress::kPatience);
  progress.begin("load");
  options.model.watcher = progress.watcher();
  std::string text = options.prompt.read();
  if (options.is_chat) {
    if (text.empty()) throw_user("the prompt is empty", "--prompt", "some text", "nothing");
    options.model.with_folder = [&](const std::string& folder) {
      const llm::ChatTemplate chat = options.chat.load(folder, options.model.model);
      text = unwrap(chat.render(messages_of(options, text), options.chat.render_options()));
    };
  }
  std::vector<int32_t> prompt;
  ReadyModel model = make_ready(
      options.model,
      [&](const Tokenizer& tokenizer, const ModelInterface& interface, llm::TextInputs& inputs) {
        options.speculation.check(interface);
        prompt = encode_prompt(tokenizer, interface, text, inputs, options.is_chat);
      });
  auto engine = make_engine(model);
  double load_seconds = model.load_seconds + engine->load_seconds();
  std::unique_ptr<app::SpeculativeModel> speculative;
  if (options.speculation.is_on()) {
    const double start = seconds_now();
    speculative = app::SpeculativeModel::load(options.speculation, options.model, model);
    if (speculative->draft()) speculative->draft()->vm().set_interrupt(&interrupt_flag());
    load_seconds += seconds_now() - start;
  }

  engine->vm().set_interrupt(&interrupt_flag());
  engine->vm().set_call_limit(options.model.step_limit);
  StreamDecoder decoder(*model.tokenizer);
  llm::GenerateOptions generate;
  generate.max_tokens = options.max_tokens;
  generate.eos = model.eos;
  generate.sampler = options.sampler;
  generate.keep_logits = !options.dump_logits.empty();
  if (speculative) generate.speculation = &speculative->speculation();
  // A redrawn line and the text would interfere with each other.
  const bool shares_terminal = progress.live() && is_terminal(STDOUT_FILENO);
  Status files;
  llm::StopTexts stop(options.stop);
  std::optional<llm::TokenTexts> token_texts;
  std::optional<llm::TokenMask> mask;
  if (grammar) {
    token_texts.emplace(*model.tokenizer);
    mask.emplace(grammar, *token_texts, model.eos);
    generate.constrain = [&](std::span<float> logits) { mask->apply(logits); };
  }
  bool is_complete = false;  // the grammar allows no more
  std::string answer;
  const auto give = [&](const std::string& piece) {
    answer += piece;
    output.text(piece);
  };
  generate.on_token = [&](int32_t token) {
    if (files = check_lost_files(); !files) return false;  // the text would be garbage from here on
    if (shares_terminal) progress.end("first token");
    give(stop.push(decoder.push(token)));
    is_complete = mask && !mask->accept(token);
    return !interrupted() && !is_complete && !stop.stopped();
  };
  trace.begin(*model.session, model.target.text);
  engine->set_watcher(progress.watcher());
  progress.begin("generate");
  auto generated = engine->generate(prompt, generate);
  if (!generated && !answer.empty()) output.text("\n");  // messages have lines of their own
  llm::Generation generation = unwrap(std::move(generated));
  unwrap(files);
  progress.end();
  give(stop.push(decoder.finish()));
  give(stop.finish());
  output.text("\n");
  unwrap(check_interrupted());
  trace.write();
  if (!options.dump_logits.empty()) dump_logits(options.dump_logits, prompt, generation);

  double tokens_per_second =
      generation.decode_seconds > 0
          ? static_cast<double>(generation.decode_steps) / generation.decode_seconds
          : 0;
  const std::string note = empty_answer_note(options, generation);
  Json document = Json::object(
      {{"prompt_tokens", token_list(prompt)},
       {"tokens", token_list(generation.tokens)},
       {"text", Json::string(answer)},
       {"target", Json::string(model.target.text)},
       {"stop_reason",
        Json::string(is_complete || stop.stopped() ? "stop"
                                                   : llm::stop_reason_name(generation.reason))},
       {"note", Json::string(note)},
       {"timings", Json::object({{"load", Json::number(load_seconds)},
                                 {"compile", Json::number(model.compile_seconds)},
                                 {"prefill", Json::number(generation.prefill_seconds)},
                                 {"decode", Json::number(generation.decode_seconds)},
                                 {"tokens_per_s", Json::number(tokens_per_second)}})}});
  if (speculative) document.set("speculation", speculation_json(generation.speculation));
  output.document(document);
  if (!output.json) {
    if (!note.empty()) std::fprintf(stderr, "[%s]\n", note.c_str());
    const std::string proposed = speculation_text(generation.speculation);
    if (!proposed.empty()) std::fprintf(stderr, "[%s]\n", proposed.c_str());
    std::fprintf(stderr, "[%zu prompt tokens, %zu generated, %.1f tokens/s; compile %.2f s]\n",
                 prompt.size(), generation.tokens.size(), tokens_per_second, model.compile_seconds);
  }
  return kDone;
}

}  // namespace

void add_run(Registration registration) {
  auto* command = registration.app.add_subcommand("run", "Generate text with a model");
  command->footer("Example: tapml run models/demo --prompt \"In the beginning\" --max-tokens 40");
  auto options = std::make_shared<RunOptions>();
  add_options(*command, options->model);
  add_options(*command, options->prompt);
  command->add_flag("--chat", options->is_chat,
                    "Answer the prompt as a chat: through the model's chat template");
  add_options(*command, options->chat);
  add_stop_option(*command, options->stop);
  add_options(*command, options->grammar);
  command->add_option("--max-tokens", options->max_tokens, "Most tokens to generate")
      ->capture_default_str();
  add_options(*command, options->sampler);
  add_options(*command, options->speculation);
  command->add_option("--dump-logits", options->dump_logits,
                      "File for the tokens and logits (safetensors)");
  add_options(*command, options->trace);
  set_runner(*command, registration,
             [options, registration] { return run(*options, registration.output); });
}

}  // namespace tapml::cli
