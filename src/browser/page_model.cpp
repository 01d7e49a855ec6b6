#include "browser/page_model.h"

#include "browser/answer_request.h"
#include "browser/page.h"
#include "browser/page_calls.h"
#include "browser/page_device.h"
#include "io/json_reader.h"
#include "llm/tokenizer/tokenizer_files.h"
#include "llm/tools/answer_parts.h"
#include "llm/tools/tool_grammar.h"

namespace tapml::browser {

namespace {

constexpr const char* kExecutable = "model.tapml";
constexpr const char* kRequest = "request";

Error too_early(const char* step) {
  return internal_error(std::string("the model is not ready for this step: ") + step);
}

Json calls_json(const std::vector<llm::ToolCall>& calls) {
  Json list = Json::array();
  for (const llm::ToolCall& call : calls) {
    list.push(Json::object(
        {{"name", Json::string(call.name)}, {"arguments", Json::string(call.arguments)}}));
  }
  return list;
}

Json token_list(const std::vector<int32_t>& tokens) {
  Json list = Json::array();
  for (const int32_t token : tokens) list.push(Json::integer(token));
  return list;
}

}  // namespace

Status PageModel::add_file(const std::string& name, std::span<const std::byte> contents,
                           uint64_t checksum) {
  if (const uint64_t found = checksum64(contents); found != checksum) {
    return fail(user_error("the download of " + name + " is corrupted", name,
                           "checksum " + hash_hex(checksum), "checksum " + hash_hex(found),
                           "load the model again"));
  }
  if (name == kExecutable) {
    code_.assign(contents.begin(), contents.end());
  } else {
    files_.add(name, std::string(reinterpret_cast<const char*>(contents.data()), contents.size()));
  }
  return {};
}

Result<Json> PageModel::open(std::vector<int32_t> end_tokens) {
  end_tokens_ = std::move(end_tokens);
  TAPML_ASSIGN(ExecutableFile file, read_executable(code_, nullptr, kExecutable));
  TAPML_ASSIGN(tokenizer_, tokenizer::read_tokenizer(files_));
  TAPML_ASSIGN(chat_template_, llm::read_chat_template(files_));
  const auto poll = [this] {
    if (page::tapml_page_stopped() != 0) stopped_.store(true, std::memory_order_relaxed);
  };
  TAPML_ASSIGN(session_, open_session(file.executable.target, poll));
  TAPML_ASSIGN(auto machine,
               runtime::LocalVirtualMachine::create(
                   *session_, std::make_shared<const Executable>(std::move(file.executable))));
  machine_ = machine.get();
  vm_ = std::move(machine);
  const ModelInterface& model = vm_->executable().model;
  return Json::object({
      {"architecture", Json::string(model.architecture)},
      {"vocabulary", Json::integer(model.vocabulary)},
      {"context", Json::integer(model.context)},
      {"chat", Json::boolean(chat_template_.has_value())},
      {"device", device_json(session_->info())},
      {"kernels", kernels_json(vm_->executable())},
  });
}

Result<int64_t> PageModel::header_bytes(std::span<const std::byte> first,
                                        int64_t file_bytes) const {
  return safetensors_header_bytes(first, file_bytes, "weights.safetensors");
}

Status PageModel::begin_weights(std::span<const std::byte> header, int64_t file_bytes) {
  if (!vm_) return fail(too_early("begin_weights"));
  weights_.emplace(*session_, file_bytes, vm_->executable().model.weights);
  return weights_->begin(header);
}

Status PageModel::add_weights(std::span<const std::byte> bytes) {
  if (!weights_) return fail(too_early("add_weights"));
  return weights_->add(bytes);
}

Status PageModel::finish(uint64_t checksum) {
  if (!vm_ || !weights_) return fail(too_early("finish"));
  TAPML_ASSIGN(const auto tensors, weights_->finish(checksum));
  weights_.reset();
  TAPML_ASSIGN(engine_, llm::Engine::create(std::move(vm_), tensors));
  engine_->vm().set_interrupt(&stopped_);
  chat_.emplace(*engine_, *tokenizer_, chat_template_ ? &*chat_template_ : nullptr, end_tokens_);
  return {};
}

// Sets the grammar of an answer that must be a call.
Result<PageModel::Asked> PageModel::prompt_of(const JsonObjectReader& request,
                                              llm::AnswerOptions& options) const {
  Asked asked;
  if (!request.has("messages")) {
    TAPML_ASSIGN(const std::string prompt, request.required_string("prompt"));
    TAPML_ASSIGN(asked.prompt, tokenizer_->encode_prompt(prompt));
    if (std::ssize(asked.prompt) < engine_->capacity()) return asked;
    return fail(user_error("the prompt is too long for the model", "prompt",
                           "fewer than " + std::to_string(engine_->capacity()) + " tokens",
                           std::to_string(asked.prompt.size()) + " tokens"));
  }
  TAPML_TRY(request.required_array("messages"));
  const Json& messages = *request.find("messages");
  TAPML_ASSIGN(const ToolsAsked tools, tools_of(request));
  if (tools.kind != ToolsAsked::Kind::kNone) options.chat.tools = tools.choice.tools;
  TAPML_ASSIGN(asked.prompt, chat_->encode(messages, options.chat));
  if (!request.has("parts")) return asked;
  TAPML_ASSIGN(const std::string text, chat_template_->render(messages, options.chat));
  asked.begins_in_thought = llm::ends_in_thought(text);
  if (tools.kind != ToolsAsked::Kind::kRequired) return asked;
  llm::ChatTemplateOptions without_tools = options.chat;
  without_tools.tools = Json::null();
  TAPML_ASSIGN(const std::string plain, chat_template_->render(messages, without_tools));
  if (plain == text) {
    return fail(user_error("the model's chat template has no tools", "tool_choice"));
  }
  TAPML_ASSIGN(options.grammar,
               llm::tool_grammar(tools.choice, llm::call_form_of(text), asked.begins_in_thought));
  return asked;
}

Result<Json> PageModel::answer(const Json& request, const OnText& on_text) {
  if (!chat_) return fail(too_early("answer"));
  const JsonObjectReader reader(request, kRequest);
  TAPML_ASSIGN(llm::AnswerOptions options, options_of(reader));
  TAPML_ASSIGN(const Asked asked, prompt_of(reader, options));
  stopped_.store(false, std::memory_order_relaxed);
  int64_t tokens = 0;
  llm::AnswerParts parts(asked.begins_in_thought, options.chat.tools.is_array());
  llm::AnswerDelta whole;
  const auto give = [&](const llm::AnswerDelta& delta) {
    whole.content += delta.content;
    whole.reasoning += delta.reasoning;
    return (delta.reasoning.empty() || on_text(delta.reasoning, true, tokens)) &&
           (delta.content.empty() || on_text(delta.content, false, tokens));
  };
  const bool splits = reader.has("parts");
  options.on_token = [&](int32_t) { ++tokens; };
  options.on_text = [&](std::string_view text) {
    return give(splits ? parts.push(text) : llm::AnswerDelta{std::string(text), ""});
  };
  TAPML_ASSIGN(const llm::Answer answer, chat_->answer(asked.prompt, options));
  if (splits) give(parts.finish());
  return Json::object({
      {"text", Json::string(splits ? whole.content : answer.text)},
      {"thoughts", Json::string(whole.reasoning)},
      {"calls", calls_json(parts.calls())},
      {"tokens", token_list(answer.tokens)},
      {"end", Json::string(llm::answer_end_name(answer.end))},
      {"prompt_tokens", Json::integer(answer.prompt_tokens)},
      {"kept_tokens", Json::integer(answer.kept_tokens)},
      {"prefill_seconds", Json::number(answer.prefill_seconds)},
      {"decode_seconds", Json::number(answer.decode_seconds)},
  });
}

Result<std::vector<int32_t>> PageModel::tokenize(std::string_view text) const {
  if (!tokenizer_) return fail(too_early("tokenize"));
  return tokenizer_->encode_prompt(text);
}

}  // namespace tapml::browser
