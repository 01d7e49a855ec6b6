#include "browser/page_model.h"

#include <array>
#include <limits>

#include "browser/page.h"
#include "device/wasm/wasm_device.h"
#include "device/webgpu/webgpu_device.h"
#include "io/json_reader.h"
#include "llm/grammar/json_schema.h"
#include "llm/tokenizer/tokenizer_files.h"
#include "runtime/local_virtual_machine.h"
#include "worker/host.h"
#include "worker/host_gpu.h"
#include "worker/module_loader.h"

namespace tapml::browser {

namespace {

constexpr const char* kExecutable = "model.tapml";
constexpr const char* kRequest = "request";
constexpr int64_t kMostTokens = int64_t{1} << 30;

std::string platform_of(const std::string& target) { return target.substr(0, target.find(':')); }

// `poll` is called between kernels.
Result<std::shared_ptr<runtime::Device>> open_device(const std::string& target,
                                                     std::function<void()> poll) {
  const std::string platform = platform_of(target);
  if (platform == "webgpu") {
    return device::create_webgpu_device(worker::make_host_gpu(std::move(poll)));
  }
  if (platform == "wasm") {
    device::WasmOptions options;
    options.loader = worker::make_module_loader();
    options.name = "WebAssembly of this browser";
    options.poll = std::move(poll);
    return std::make_shared<device::WasmDevice>(std::move(options));
  }
  return fail(user_error("the model was made for another platform", kExecutable,
                         "webgpu or wasm, which pages run", target,
                         "tapml compile MODEL --target webgpu --package DIR"));
}

Json device_json(const DeviceInfo& info) {
  const Limits& limits = info.limits;
  return Json::object({
      {"platform", Json::string(info.platform)},
      {"name", Json::string(info.name)},
      {"version", Json::string(info.version)},
      {"max_buffer_bytes", Json::integer(limits.max_allocation_bytes)},
      {"max_binding_bytes", Json::integer(limits.max_binding_bytes)},
      {"max_bindings", Json::integer(limits.max_bindings)},
      {"max_workgroup_bytes", Json::integer(limits.max_local_memory)},
  });
}

// What "response_format" says; null: an answer is any text.
Result<std::shared_ptr<const llm::Grammar>> grammar_of(const JsonObjectReader& request) {
  TAPML_ASSIGN(const auto format, request.optional_object("response_format"));
  if (!format) return nullptr;
  constexpr std::string_view kTypes[] = {"text", "json_object", "json_schema"};
  TAPML_ASSIGN(const std::string type, format->required_choice("type", kTypes));
  if (type == "text") return nullptr;
  std::string text = llm::json_grammar(/*objects_only=*/true);
  if (type == "json_schema") {
    TAPML_ASSIGN(const JsonObjectReader named, format->required_object("json_schema"));
    TAPML_ASSIGN(const JsonObjectReader schema, named.required_object("schema"));
    TAPML_ASSIGN(text, llm::schema_grammar(schema.json(), kRequest));
  }
  TAPML_ASSIGN(llm::Grammar grammar, llm::Grammar::parse(text, kRequest));
  return std::make_shared<const llm::Grammar>(std::move(grammar));
}

Result<llm::AnswerOptions> options_of(const JsonObjectReader& request) {
  llm::AnswerOptions options;
  TAPML_ASSIGN(options.max_tokens, request.int_or("max_tokens", 256, 1, kMostTokens));
  TAPML_ASSIGN(options.sampler.temperature, request.float_or("temperature", 0, 0, 1e6));
  TAPML_ASSIGN(options.sampler.top_p, request.float_or("top_p", 1));
  TAPML_ASSIGN(options.sampler.top_k, request.int_or("top_k", 0, 0));
  TAPML_ASSIGN(const int64_t seed, request.int_or("seed", 0, 0));
  options.sampler.seed = static_cast<uint64_t>(seed);
  if (request.has("stop")) {
    TAPML_ASSIGN(options.stop, request.required_string_array("stop"));
  }
  TAPML_ASSIGN(options.grammar, grammar_of(request));
  if (const Json* tools = request.find("tools")) options.chat.tools = *tools;
  return options;
}

Error too_early(const char* step) {
  return internal_error(std::string("the model is not ready for this step: ") + step);
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
  TAPML_ASSIGN(auto device, open_device(file.executable.target, poll));
  TAPML_ASSIGN(session_, runtime::LocalSession::create(std::move(device)));
  session_->set_watcher([](const Work& work) {
    page::tapml_page_progress(work.what.data(), static_cast<uint32_t>(work.what.size()),
                              static_cast<double>(work.done), static_cast<double>(work.total));
  });
  TAPML_ASSIGN(vm_, runtime::LocalVirtualMachine::create(
                        *session_, std::make_shared<const Executable>(std::move(file.executable))));
  const ModelInterface& model = vm_->executable().model;
  return Json::object({
      {"architecture", Json::string(model.architecture)},
      {"vocabulary", Json::integer(model.vocabulary)},
      {"context", Json::integer(model.context)},
      {"chat", Json::boolean(chat_template_.has_value())},
      {"device", device_json(session_->info())},
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

Result<std::vector<int32_t>> PageModel::prompt_of(const JsonObjectReader& request) const {
  TAPML_ASSIGN(const std::string prompt, request.required_string("prompt"));
  TAPML_ASSIGN(std::vector<int32_t> tokens, tokenizer_->encode_prompt(prompt));
  if (std::ssize(tokens) < engine_->capacity()) return tokens;
  return fail(user_error("the prompt is too long for the model", "prompt",
                         "fewer than " + std::to_string(engine_->capacity()) + " tokens",
                         std::to_string(tokens.size()) + " tokens"));
}

Result<Json> PageModel::answer(const Json& request,
                               std::function<bool(std::string_view, int64_t)> on_text) {
  if (!chat_) return fail(too_early("answer"));
  const JsonObjectReader reader(request, kRequest);
  TAPML_ASSIGN(llm::AnswerOptions options, options_of(reader));
  std::vector<int32_t> prompt;
  if (reader.has("messages")) {
    TAPML_TRY(reader.required_array("messages"));
    TAPML_ASSIGN(prompt, chat_->encode(*reader.find("messages"), options.chat));
  } else {
    TAPML_ASSIGN(prompt, prompt_of(reader));
  }
  stopped_.store(false, std::memory_order_relaxed);
  int64_t tokens = 0;
  options.on_token = [&](int32_t) { ++tokens; };
  options.on_text = [&](std::string_view text) { return on_text(text, tokens); };
  TAPML_ASSIGN(const llm::Answer answer, chat_->answer(prompt, options));
  return Json::object({
      {"text", Json::string(answer.text)},
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
