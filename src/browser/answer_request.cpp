#include "browser/answer_request.h"

#include <algorithm>

#include "llm/grammar/json_schema.h"

namespace tapml::browser {

namespace {

constexpr int64_t kMostTokens = int64_t{1} << 30;

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
    TAPML_ASSIGN(text, llm::schema_grammar(schema.json(), request.source()));
  }
  TAPML_ASSIGN(llm::Grammar grammar, llm::Grammar::parse(text, request.source()));
  return std::make_shared<const llm::Grammar>(std::move(grammar));
}

}  // namespace

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
  return options;
}

Result<ToolsAsked> tools_of(const JsonObjectReader& request) {
  ToolsAsked asked;
  TAPML_ASSIGN(const std::vector<Json>* const tools, request.optional_array("tools"));
  TAPML_ASSIGN(asked.choice.several, request.bool_or("parallel_tool_calls", true));
  std::string word = "auto";
  if (const Json* given = request.find("tool_choice")) {
    const Json* function = given->find("function");
    const Json* name = function ? function->find("name") : nullptr;
    asked.choice.required = name ? name->as_string() : "";
    word = name ? "required" : given->as_string();
    constexpr std::string_view kWords[] = {"none", "auto", "required"};
    if (std::ranges::find(kWords, word) == std::end(kWords)) {
      return fail(request.field_error(
          "tool_choice", "is not a choice",
          R"("auto", "none", "required" or {"type": "function", "function": {"name": NAME}})"));
    }
  }
  bool is_there = asked.choice.required.empty();
  for (const Json& tool : tools ? *tools : std::vector<Json>{}) {
    const Json* function = tool.find("function");
    const Json* name = function ? function->find("name") : nullptr;
    if (!name || !name->is_string()) {
      return fail(request.item_error(tool, "tools", "has a tool without a name",
                                     R"({"type": "function", "function": {"name": NAME, ...}})"));
    }
    is_there |= name->as_string() == asked.choice.required;
  }
  const bool has_tools = tools && !tools->empty();
  if (word == "required" && (!has_tools || !is_there)) {
    return fail(request.field_error("tool_choice", "asks for a call of a tool that is not there",
                                    has_tools ? "one of the tools" : "tools"));
  }
  if (word == "required" && request.has("response_format")) {
    return fail(request.field_error("tool_choice", "asks for a call, which has no other format",
                                    "no response_format"));
  }
  if (!has_tools || word == "none") return asked;
  asked.choice.tools = Json::array(*tools);
  asked.kind = word == "required" ? ToolsAsked::Kind::kRequired : ToolsAsked::Kind::kAuto;
  return asked;
}

}  // namespace tapml::browser
