#include "server/openai/request.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <random>

#include "llm/grammar/json_schema.h"
#include "server/openai/request_reading.h"

namespace tapml::server {

namespace {

constexpr int64_t kMostChoices = 16;
constexpr int64_t kMostStopTexts = 16;

uint64_t random_seed() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

// What is part of the interface and is not served: refused, because ignoring it would change the
// meaning of an answer.
std::optional<ApiError> find_unserved(const JsonObjectReader& reader) {
  for (const char* name : {"functions", "function_call", "audio", "prediction",
                           "web_search_options", "suffix", "guided_json"}) {
    if (reader.has(name)) {
      return ApiError{.message = std::string("\"") + name + "\" is not served",
                      .param = name,
                      .code = "unsupported_parameter"};
    }
  }
  return std::nullopt;
}

ApiResult<std::vector<std::string>> read_stop(const JsonObjectReader& reader) {
  const Json* stop = reader.find("stop");
  if (!stop) return std::vector<std::string>{};
  const std::vector<Json> items = stop->is_array() ? stop->items() : std::vector<Json>{*stop};
  if (std::ssize(items) > kMostStopTexts) {
    return refuse("stop", "at most " + std::to_string(kMostStopTexts) + " stop texts are served");
  }
  std::vector<std::string> texts;
  for (const Json& item : items) {
    if (!item.is_string()) {
      return refuse("stop",
                    std::string("\"stop\" is a text or a list of texts, not ") + item.kind_name());
    }
    if (!item.as_string().empty()) texts.push_back(item.as_string());
  }
  return texts;
}

ApiResult<std::map<int32_t, double>> read_bias(const JsonObjectReader& reader) {
  std::map<int32_t, double> bias;
  const Json* json = reader.find("logit_bias");
  if (!json) return bias;
  if (!json->is_object()) {
    return refuse("logit_bias",
                  std::string("\"logit_bias\" is an object from token ids to numbers, "
                              "not ") +
                      json->kind_name());
  }
  for (const auto& [key, value] : json->members()) {
    int32_t token = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), token);
    if (error != std::errc{} || end != key.data() + key.size() || token < 0) {
      return refuse("logit_bias", "the key \"" + key + "\" of \"logit_bias\" is not a token id");
    }
    if (!value.is_number() || value.as_double() < -100 || value.as_double() > 100) {
      return refuse("logit_bias", "a bias is a number from -100 to 100, not " +
                                      json_excerpt(value) + " (token " + key + ")");
    }
    // OpenAI: -100 bans a token.
    bias[token] =
        value.as_double() == -100 ? -std::numeric_limits<double>::infinity() : value.as_double();
  }
  return bias;
}

// What "response_format" or "grammar" say; null: an answer is any text.
ApiResult<std::shared_ptr<const llm::Grammar>> read_grammar(const JsonObjectReader& reader) {
  TAPML_ASSIGN(std::string text, checked(reader.string_or("grammar", ""), "grammar"));
  std::string param = "grammar";
  TAPML_ASSIGN(const auto format,
               checked(reader.optional_object("response_format"), "response_format"));
  if (format) {
    param = "response_format";
    TAPML_ASSIGN(const std::string type, checked(format->required_string("type"), param));
    if (!text.empty() && type != "text") {
      return refuse(param, "an answer has one of \"response_format\" and \"grammar\"");
    }
    if (type == "json_object") {
      text = llm::json_grammar(/*objects_only=*/true);
    } else if (type == "json_schema") {
      TAPML_ASSIGN(const auto named, checked(format->required_object("json_schema"), param));
      const Json* schema = named.find("schema");
      if (!schema) return refuse(param, "\"json_schema\" has no \"schema\"");
      TAPML_ASSIGN(text, checked(llm::schema_grammar(*schema, kRequestSource), param));
    } else if (type != "text") {
      return refuse(
          param, "the response formats are text, json_object and json_schema, not \"" + type + "\"",
          "unsupported_parameter");
    }
  }
  if (text.empty()) return std::shared_ptr<const llm::Grammar>();
  TAPML_ASSIGN(llm::Grammar grammar, checked(llm::Grammar::parse(text, param), param));
  return std::make_shared<const llm::Grammar>(std::move(grammar));
}

ApiResult<GenerationRequest> read_generation(const JsonObjectReader& reader, bool is_chat) {
  if (auto unserved = find_unserved(reader)) return std::unexpected(*std::move(unserved));
  GenerationRequest request;
  TAPML_ASSIGN(request.model, checked(reader.string_or("model", ""), "model"));
  const char* const most =
      reader.has("max_completion_tokens") ? "max_completion_tokens" : "max_tokens";
  TAPML_ASSIGN(request.max_tokens, checked(reader.optional_int(most, 1, 1 << 30), most));
  if (!is_chat && !request.max_tokens) request.max_tokens = 16;  // OpenAI's default
  request.sampler.temperature = 1;
  llm::SamplerOptions& sampler = request.sampler;
  llm::LogitRules& rules = request.rules;
  struct Number {
    const char* name;
    double* value;
    double low, high;
  };
  for (const Number& one :
       {Number{"temperature", &sampler.temperature, 0, 100},
        Number{"top_p", &sampler.top_p, 1e-9, 1}, Number{"min_p", &rules.min_p, 0, 1},
        Number{"presence_penalty", &rules.presence_penalty, -2, 2},
        Number{"frequency_penalty", &rules.frequency_penalty, -2, 2},
        Number{"repetition_penalty", &rules.repetition_penalty, 0.01, 100}}) {
    TAPML_ASSIGN(*one.value,
                 checked(reader.float_or(one.name, *one.value, one.low, one.high), one.name));
  }
  TAPML_ASSIGN(sampler.top_k, checked(reader.int_or("top_k", 0, -1, 1 << 30), "top_k"));
  sampler.top_k = std::max<int64_t>(sampler.top_k, 0);  // -1: all, too
  TAPML_ASSIGN(const std::optional<int64_t> seed, checked(reader.optional_int("seed"), "seed"));
  sampler.seed = seed ? static_cast<uint64_t>(*seed) : random_seed();
  TAPML_ASSIGN(rules.bias, read_bias(reader));
  TAPML_ASSIGN(request.stop, read_stop(reader));
  TAPML_ASSIGN(request.grammar, read_grammar(reader));
  TAPML_ASSIGN(request.choices, checked(reader.int_or("n", 1, 1, kMostChoices), "n"));
  TAPML_ASSIGN(request.stream, checked(reader.bool_or("stream", false), "stream"));
  TAPML_ASSIGN(const auto stream_options,
               checked(reader.optional_object("stream_options"), "stream_options"));
  if (stream_options) {
    TAPML_ASSIGN(request.stream_usage, checked(stream_options->bool_or("include_usage", false),
                                               "stream_options.include_usage"));
  }
  if (is_chat) {
    TAPML_ASSIGN(const bool reports, checked(reader.bool_or("logprobs", false), "logprobs"));
    TAPML_ASSIGN(const int64_t top,
                 checked(reader.int_or("top_logprobs", 0, 0, 20), "top_logprobs"));
    if (top > 0 && !reports) {
      return refuse("top_logprobs", "\"top_logprobs\" takes \"logprobs\": true");
    }
    if (reports) request.top_probabilities = top;
  } else {
    TAPML_ASSIGN(request.top_probabilities,
                 checked(reader.int_or("logprobs", -1, 0, 20), "logprobs"));
  }
  return request;
}

// The text of a message's content: a text, or parts that are all texts.
ApiResult<Json> read_content(const Json* content, const std::string& where) {
  if (!content || content->is_null()) return Json::null();
  if (content->is_string()) return *content;
  if (!content->is_array()) {
    return refuse(where, "the content is a text or a list of parts, not " +
                             std::string(content->kind_name()));
  }
  std::string text;
  for (const Json& part : content->items()) {
    const Json* type = part.find("type");
    const std::string kind = type ? type->as_string() : "";
    if (kind != "text") {
      return refuse(
          where, kind.empty() ? "a part of a content has no \"type\""
                              : "parts of the type \"" + kind + "\" are not served, only \"text\"");
    }
    const Json* words = part.find("text");
    if (!words || !words->is_string()) return refuse(where, "a part of type \"text\" has no text");
    text += words->as_string();
  }
  return Json::string(text);
}

// Templates take a call's arguments as an object, clients send them as its text.
Json with_arguments_read(const Json& calls) {
  Json result = Json::array();
  for (Json call : calls.items()) {
    const Json* function = call.find("function");
    const Json* arguments = function ? function->find("arguments") : nullptr;
    if (arguments && arguments->is_string()) {
      if (auto parsed = parse_json(arguments->as_string(), kRequestSource);
          parsed && parsed->is_object()) {
        Json changed = *function;
        changed.set("arguments", *std::move(parsed));
        call.set("function", std::move(changed));
      }
    }
    result.push(std::move(call));
  }
  return result;
}

ApiResult<Json> read_messages(const JsonObjectReader& reader) {
  TAPML_ASSIGN(const std::vector<Json>* const given,
               checked(reader.required_array("messages"), "messages"));
  if (given->empty()) return refuse("messages", "there is no message");
  Json messages = Json::array();
  for (size_t i = 0; i < given->size(); ++i) {
    const std::string where = "messages[" + std::to_string(i) + "]";
    Json message = (*given)[i];
    const Json* role = message.find("role");
    if (!message.is_object() || !role || !role->is_string()) {
      return refuse(where, "a message is an object with \"role\" and \"content\"");
    }
    // Newer clients' word for it, which templates do not know.
    if (role->as_string() == "developer") message.set("role", Json::string("system"));
    TAPML_ASSIGN(Json content, read_content(message.find("content"), where + ".content"));
    const Json* calls = message.find("tool_calls");
    const bool has_calls = calls && calls->is_array() && !calls->items().empty();
    if (content.is_null() && !has_calls) return refuse(where, "the message has no content");
    if (has_calls) message.set("tool_calls", with_arguments_read(*calls));
    message.set("content", content.is_null() ? Json::string("") : std::move(content));
    messages.push(std::move(message));
  }
  return messages;
}

// The name of the tool that "tool_choice" names; empty for another form.
std::string named_tool(const Json& choice) {
  const Json* function = choice.find("function");
  const Json* name = function ? function->find("name") : nullptr;
  return name ? name->as_string() : "";
}

// The tools that the model may call, and whether it must.
ApiResult<void> read_tools(const JsonObjectReader& reader, ChatRequest& request) {
  TAPML_ASSIGN(const std::vector<Json>* const tools,
               checked(reader.optional_array("tools"), "tools"));
  TAPML_ASSIGN(request.parallel_calls,
               checked(reader.bool_or("parallel_tool_calls", true), "parallel_tool_calls"));
  if (const Json* choice = reader.find("tool_choice")) {
    const std::string word = choice->as_string();
    if (word == "none") return {};
    request.required_tool = named_tool(*choice);
    request.requires_call = word == "required" || !request.required_tool.empty();
    if (!request.requires_call && word != "auto") {
      return refuse("tool_choice",
                    "the choice is \"auto\", \"none\", \"required\" or {\"type\": \"function\", "
                    "\"function\": {\"name\": NAME}}, not " +
                        json_excerpt(*choice),
                    "unsupported_parameter");
    }
  }
  bool has_required = request.required_tool.empty();
  for (const Json& tool : tools ? *tools : std::vector<Json>{}) {
    const Json* function = tool.find("function");
    const Json* name = function ? function->find("name") : nullptr;
    if (!name || !name->is_string()) {
      return refuse("tools",
                    "a tool is an object with \"type\": \"function\" and a \"function\" "
                    "that has a name");
    }
    has_required |= name->as_string() == request.required_tool;
  }
  request.has_tools = tools && !tools->empty();
  if (request.requires_call && (!request.has_tools || !has_required)) {
    return refuse("tool_choice", request.has_tools
                                     ? "there is no tool \"" + request.required_tool + "\""
                                     : "a call is required, and there are no tools");
  }
  if (request.requires_call && request.generation.grammar) {
    return refuse("tool_choice", "an answer that must be a call has no other grammar");
  }
  if (request.has_tools) request.render.tools = Json::array(*tools);
  return {};
}

}  // namespace

ApiResult<ChatRequest> read_chat_request(const std::string& body) {
  TAPML_ASSIGN(const Json json, parse_body(body));
  const JsonObjectReader reader(json, kRequestSource);
  ChatRequest request;
  TAPML_ASSIGN(request.generation, read_generation(reader, true));
  TAPML_ASSIGN(request.messages, read_messages(reader));
  TAPML_TRY(read_tools(reader, request));
  TAPML_ASSIGN(const auto variables,
               checked(reader.optional_object("chat_template_kwargs"), "chat_template_kwargs"));
  if (variables) request.render.variables = variables->json();
  return request;
}

ApiResult<CompletionRequest> read_completion_request(const std::string& body) {
  TAPML_ASSIGN(const Json json, parse_body(body));
  const JsonObjectReader reader(json, kRequestSource);
  CompletionRequest request;
  TAPML_ASSIGN(request.generation, read_generation(reader, false));
  TAPML_ASSIGN(const bool echo, checked(reader.bool_or("echo", false), "echo"));
  TAPML_ASSIGN(const int64_t best, checked(reader.int_or("best_of", 1), "best_of"));
  if (echo || best > 1) {
    return refuse(echo ? "echo" : "best_of", "it is not served", "unsupported_parameter");
  }
  TAPML_ASSIGN(request.prompts, read_prompts(reader, "prompt"));
  if (std::ssize(request.prompts) * request.generation.choices > kMostChoices) {
    return refuse("prompt",
                  "at most " + std::to_string(kMostChoices) + " texts are generated for a request");
  }
  return request;
}

}  // namespace tapml::server
