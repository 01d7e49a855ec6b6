#include "llm/tools/tool_grammar.h"

#include "llm/grammar/json_schema.h"

namespace tapml::llm {

namespace {

constexpr const char* kTools = "tools";

// The schema with references that begin at `place` in place of the root.
Json moved(const Json& schema, const std::string& place) {
  if (schema.is_array()) {
    Json result = Json::array();
    for (const Json& item : schema.items()) result.push(moved(item, place));
    return result;
  }
  if (!schema.is_object()) return schema;
  Json result = Json::object();
  for (const auto& [key, value] : schema.members()) {
    const bool is_reference = key == "$ref" && value.is_string() && value.as_string()[0] == '#';
    result.set(key, is_reference ? Json::string(place + value.as_string().substr(1))
                                 : moved(value, place));
  }
  return result;
}

// Whether the schema of a tool's arguments can be followed.
Status check_schema(const Json& schema) {
  const auto text = schema_grammar(schema, kTools);
  if (!text) return fail(text.error());
  const auto grammar = Grammar::parse(*text, kTools);
  if (!grammar) return fail(grammar.error());
  return {};
}

Result<Json> arguments_schema(const Json& function) {
  const Json any = Json::object({{"type", Json::string("object")}});
  const Json* schema = function.find("parameters");
  if (!schema || schema->is_null()) return any;
  const Status follows = check_schema(*schema);
  if (follows) return *schema;
  const Json* strict = function.find("strict");
  if (!strict || !strict->as_bool()) return any;
  return fail(follows.error());
}

}  // namespace

CallForm call_form_of(std::string_view prompt) {
  if (prompt.find("<tool_call>") != std::string_view::npos) return CallForm::kTagged;
  const bool lists = prompt.find("[AVAILABLE_TOOLS]") != std::string_view::npos;
  return lists ? CallForm::kList : CallForm::kObject;
}

Result<std::shared_ptr<const Grammar>> tool_grammar(const ToolChoice& choice, CallForm form,
                                                    bool begins_in_thought) {
  const char* const key = form == CallForm::kObject ? "parameters" : "arguments";
  Json tools = Json::object(), choices = Json::array();
  for (const Json& tool : choice.tools.items()) {
    const Json* const described = tool.find("function");
    const Json* const named = described ? described->find("name") : nullptr;
    if (!named) return fail(user_error("a tool has no function with a name", kTools));
    const Json& function = *described;
    const std::string& name = named->as_string();
    if (!choice.required.empty() && choice.required != name) continue;
    const std::string own = "tool" + std::to_string(choices.items().size());
    const std::string place = "#/$defs/" + own;
    TAPML_ASSIGN(const Json schema, arguments_schema(function));
    Json properties = Json::object({{"name", Json::object({{"const", Json::string(name)}})}});
    properties.set(key, moved(schema, place + "/properties/" + key));
    tools.set(own,
              Json::object({{"type", Json::string("object")},
                            {"properties", std::move(properties)},
                            {"required", Json::array({Json::string("name"), Json::string(key)})},
                            {"additionalProperties", Json::boolean(false)}}));
    choices.push(Json::object({{"$ref", Json::string(place)}}));
  }
  const Json schema = Json::object({{"$defs", std::move(tools)}, {"anyOf", std::move(choices)}});
  TAPML_ASSIGN(const std::string call, schema_grammar(schema, kTools));
  // The rule `root` of the schema becomes `call`.
  const std::string rules = "call ::=" + call.substr(call.find("::=") + 3);
  const std::string more = choice.several ? "{0,7}" : "{0}";
  std::string calls;
  switch (form) {
    case CallForm::kTagged:
      calls = R"(tagged ("\n" tagged))" + more +
              "\ntagged ::= \"<tool_call>\\n\" call "
              "\"\\n</tool_call>\"\n";
      break;
    case CallForm::kList:
      calls = R"("[" call ("," call))" + more + " \"]\"\n";
      break;
    case CallForm::kObject:
      calls = "call\n";
      break;
  }
  const std::string thought = begins_in_thought ? "thought" : R"(("<think>" thought)?)";
  const std::string text = "root ::= " + thought + " calls\ncalls ::= " + calls +
                           "thought ::= ([^<] | \"<\" [^/<])* \"</think>\" \"\\n\"{0,2}\n" + rules;
  TAPML_ASSIGN(Grammar grammar, Grammar::parse(text, kTools));
  return std::make_shared<const Grammar>(std::move(grammar));
}

}  // namespace tapml::llm
