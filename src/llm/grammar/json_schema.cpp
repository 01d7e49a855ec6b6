#include "llm/grammar/json_schema.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "io/json_reader.h"

namespace tapml::llm {

namespace {

constexpr int kMostSchemas = 256;

// Numbers have a limited length, because a model may not find the end of one.
constexpr const char* kCommon = R"gbnf(
ws ::= | " " | "\n" [ \t]{0,20}
string ::= "\"" char* "\""
char ::= [^"\\\x00-\x1F\x7F] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4})
integer ::= "-"? ("0" | [1-9] [0-9]{0,15})
number ::= integer ("." [0-9]{1,16})? ([eE] [-+]? [0-9]{1,3})?
boolean ::= "true" | "false"
null ::= "null"
value ::= object | array | string | number | boolean | null
object ::= "{" ws (string ws ":" ws value (ws "," ws string ws ":" ws value)* ws)? "}"
array ::= "[" ws (value (ws "," ws value)* ws)? "]"
)gbnf";

const std::set<std::string_view> kAnnotations = {
    "title",    "description", "default",     "examples", "$schema",
    "$id",      "$defs",       "definitions", "$comment", "deprecated",
    "readOnly", "writeOnly",   "$anchor",     "required", "format"};

// A literal of the notation.
std::string literal(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (c == '\n') {
      quoted += "\\n";
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

class SchemaGrammar {
 public:
  SchemaGrammar(const Json& root, const std::string& source) : root_(root), source_(source) {}

  Result<std::string> run() {
    TAPML_ASSIGN(const std::string name, rule_of(root_, "#"));
    std::string text = "root ::= ws " + name + " ws\n";
    for (const auto& [rule, choices] : rules_) text += rule + " ::= " + choices + "\n";
    return text + kCommon;
  }

 private:
  Error error(const Json& at, const std::string& path, const std::string& problem,
              const std::string& expected) const {
    return user_error(problem, json_location(source_, at) + " (" + path + ")", expected,
                      json_excerpt(at));
  }

  std::string add(const std::string& choices) {
    const std::string name = "schema-" + std::to_string(rules_.size());
    rules_.emplace_back(name, choices);
    return name;
  }

  // The name of the rule of a schema. Each schema has one rule, so that it may refer to itself.
  Result<std::string> rule_of(const Json& schema, const std::string& path) {
    if (const auto known = known_.find(&schema); known != known_.end()) return known->second;
    if (depth_ >= kMostSchemas) {
      return fail(error(schema, path, "the schema is nested, or refers, too deep",
                        "at most " + std::to_string(kMostSchemas) + " schemas in one another"));
    }
    const size_t number = rules_.size();
    std::string name = add("");
    known_[&schema] = name;
    ++depth_;
    Result<std::string> choices = choices_of(schema, path);
    --depth_;
    if (!choices) return fail(std::move(choices).error());
    rules_[number].second = *std::move(choices);
    return name;
  }

  Result<std::string> choices_of(const Json& schema, const std::string& path) {
    if (schema.is_bool()) {
      if (schema.as_bool()) return "value";
      return fail(
          error(schema, path, "the schema allows nothing", "a schema that allows something"));
    }
    if (!schema.is_object()) {
      return fail(error(schema, path, "a schema is an object or true", "an object"));
    }
    if (const Json* reference = schema.find("$ref")) return referred(*reference, path);
    if (const Json* value = schema.find("const")) return literal(value->dump());
    if (const Json* values = schema.find("enum")) return one_of(*values, path);
    for (const char* word : {"anyOf", "oneOf"}) {
      if (const Json* schemas = schema.find(word)) return any_of(*schemas, path + "/" + word);
    }
    TAPML_ASSIGN(const std::vector<std::string> types, types_of(schema, path));
    TAPML_TRY(check_keywords(schema, path, types));
    std::string choices;
    for (const std::string& type : types) {
      TAPML_ASSIGN(const std::string one, of_type(schema, type, path));
      choices += (choices.empty() ? "" : " | ") + one;
    }
    return choices;
  }

  Result<std::string> referred(const Json& reference, const std::string& path) {
    const std::string& target = reference.as_string();
    const Json* found = &root_;
    if (!reference.is_string() || !(target == "#" || target.starts_with("#/"))) found = nullptr;
    for (size_t at = 2; found && at <= target.size();) {
      const size_t end = std::min(target.find('/', at), target.size());
      found = found->find(target.substr(at, end - at));
      at = end + 1;
    }
    if (!found) {
      return fail(error(reference, path, "the reference is to nothing in the schema",
                        "such as \"#/$defs/NAME\""));
    }
    return rule_of(*found, target);
  }

  Result<std::string> one_of(const Json& values, const std::string& path) {
    std::string choices;
    for (const Json& value : values.items()) {
      choices += (choices.empty() ? "" : " | ") + literal(value.dump());
    }
    if (choices.empty()) {
      return fail(error(values, path + "/enum", "the schema allows nothing", "a list of values"));
    }
    return choices;
  }

  Result<std::string> any_of(const Json& schemas, const std::string& path) {
    std::string choices;
    for (size_t i = 0; i < schemas.items().size(); ++i) {
      TAPML_ASSIGN(const std::string one,
                   rule_of(schemas.items()[i], path + "/" + std::to_string(i)));
      choices += (choices.empty() ? "" : " | ") + one;
    }
    if (choices.empty()) {
      return fail(error(schemas, path, "the schema allows nothing", "a list of schemas"));
    }
    return choices;
  }

  // Without "type", the types that the other keywords are about, or all.
  Result<std::vector<std::string>> types_of(const Json& schema, const std::string& path) {
    static const std::set<std::string_view> known = {"object",  "array",   "string", "number",
                                                     "integer", "boolean", "null"};
    std::vector<std::string> types;
    if (const Json* type = schema.find("type")) {
      const std::vector<Json> items = type->is_array() ? type->items() : std::vector<Json>{*type};
      for (const Json& item : items) {
        if (!item.is_string() || !known.contains(item.as_string())) {
          return fail(error(item, path + "/type", "the type is not known",
                            "object, array, string, number, integer, boolean or null"));
        }
        types.push_back(item.as_string());
      }
      if (types.empty()) {
        return fail(error(*type, path + "/type", "the schema allows nothing", "a type"));
      }
      return types;
    }
    if (schema.find("properties") || schema.find("additionalProperties")) types = {"object"};
    if (schema.find("items") || schema.find("prefixItems")) types.emplace_back("array");
    if (schema.find("minLength") || schema.find("maxLength")) types.emplace_back("string");
    if (types.empty()) types = {"value"};
    return types;
  }

  Status check_keywords(const Json& schema, const std::string& path,
                        const std::vector<std::string>& types) {
    const std::map<std::string_view, std::string_view> of_types = {
        {"properties", "object"}, {"additionalProperties", "object"},
        {"items", "array"},       {"prefixItems", "array"},
        {"minItems", "array"},    {"maxItems", "array"},
        {"minLength", "string"},  {"maxLength", "string"}};
    for (const auto& [key, value] : schema.members()) {
      if (key == "type" || kAnnotations.contains(key)) continue;
      const auto known = of_types.find(key);
      if (known == of_types.end()) {
        return fail(error(value, path, "the keyword \"" + key + "\" is not served",
                          "type, enum, const, properties, required, additionalProperties, items, "
                          "prefixItems, minItems, maxItems, minLength, maxLength, anyOf, oneOf, "
                          "$ref"));
      }
      if (std::ranges::find(types, known->second) == types.end()) {
        return fail(
            error(value, path,
                  "the keyword \"" + key + "\" is about the type " + std::string(known->second),
                  "\"type\": \"" + std::string(known->second) + "\""));
      }
    }
    return {};
  }

  Result<std::string> of_type(const Json& schema, const std::string& type,
                              const std::string& path) {
    if (type == "object") return of_object(schema, path);
    if (type == "array") return of_array(schema, path);
    if (type != "string") return type;
    TAPML_ASSIGN(const std::string repeats, count_of(schema, "minLength", "maxLength", path));
    return repeats == "*" ? "string" : R"("\"" char)" + repeats + R"( "\"")";
  }

  // "{least,most}", or "*".
  Result<std::string> count_of(const Json& schema, const char* least, const char* most,
                               const std::string& path) {
    const JsonObjectReader reader(schema, source_, path);
    TAPML_ASSIGN(const int64_t low, reader.int_or(least, 0, 0, 4096));
    TAPML_ASSIGN(const auto high, reader.optional_int(most, 0, 4096));
    if (high && *high < low) {
      return fail(error(schema, path, "the schema allows nothing",
                        std::string(most) + " of at least " + least));
    }
    if (low == 0 && !high) return "*";
    return "{" + std::to_string(low) + "," + (high ? std::to_string(*high) : "") + "}";
  }

  Result<std::string> of_array(const Json& schema, const std::string& path) {
    std::vector<std::string> first;
    if (const Json* items = schema.find("prefixItems")) {
      for (size_t i = 0; i < items->items().size(); ++i) {
        TAPML_ASSIGN(std::string rule,
                     rule_of(items->items()[i], path + "/prefixItems/" + std::to_string(i)));
        first.push_back(std::move(rule));
      }
    }
    std::string rest = "value";
    if (const Json* items = schema.find("items")) {
      if (items->is_bool() && !items->as_bool()) {
        rest.clear();
      } else {
        TAPML_ASSIGN(rest, rule_of(*items, path + "/items"));
      }
    }
    const JsonObjectReader reader(schema, source_, path);
    TAPML_ASSIGN(int64_t low, reader.int_or("minItems", 0, 0, 4096));
    TAPML_ASSIGN(auto high, reader.optional_int("maxItems", 0, 4096));
    const auto first_items = static_cast<int64_t>(first.size());
    if (rest.empty()) high = std::min(high.value_or(first_items), first_items);
    if (high && *high < low) {
      return fail(
          error(schema, path, "the schema allows nothing", "maxItems of at least minItems"));
    }
    if (!first.empty()) {
      // All of the first items, as structured outputs have them.
      low = std::max(low, first_items);
      if (high && *high < low) {
        return fail(error(schema, path, "fewer items than prefixItems has are not served",
                          "maxItems of at least " + std::to_string(low)));
      }
    }
    std::string text = R"("[" ws )";
    for (size_t i = 0; i < first.size(); ++i) text += (i ? R"( ws "," ws )" : "") + first[i];
    const int64_t left = std::max<int64_t>(low - std::ssize(first), 0);
    const std::string most = high ? std::to_string(*high - std::ssize(first)) : std::string();
    if (!first.empty()) {
      if (!rest.empty() && most != "0") {
        text += R"( (ws "," ws )" + rest + "){" + std::to_string(left) + "," + most + "}";
      }
    } else if (most != "0") {
      const std::string more = R"(ws "," ws )" + rest;
      const std::string others = "{" + std::to_string(std::max<int64_t>(left - 1, 0)) + "," +
                                 (high ? std::to_string(*high - 1) : "") + "}";
      text += (left == 0 ? "(" : "") + rest + " (" + more + ")" + others + (left == 0 ? ")?" : "");
    }
    return text + R"( ws "]")";
  }

  Result<std::string> of_object(const Json& schema, const std::string& path) {
    const Json* properties = schema.find("properties");
    const Json* additional = schema.find("additionalProperties");
    std::set<std::string> required;
    if (const Json* names = schema.find("required")) {
      for (const Json& name : names->items()) required.insert(name.as_string());
    }
    std::string others;  // the rule of other members
    if (!properties && !additional && required.empty()) return "object";
    if (additional && !(additional->is_bool() && !additional->as_bool())) {
      TAPML_ASSIGN(others, rule_of(*additional, path + "/additionalProperties"));
    }
    struct Member {
      std::string text;
      bool is_required;
    };
    std::vector<Member> members;
    if (properties) {
      for (const auto& [name, own] : properties->members()) {
        TAPML_ASSIGN(const std::string rule, rule_of(own, path + "/properties/" + name));
        members.push_back({literal(Json::string(name).dump()) + R"( ws ":" ws )" + rule,
                           required.erase(name) > 0});
      }
    }
    for (const std::string& name : required) {
      if (others.empty()) {
        return fail(
            error(schema, path,
                  "the schema allows nothing: \"" + name + "\" is required and is no property",
                  "a property of this name"));
      }
      members.push_back({literal(Json::string(name).dump()) + R"( ws ":" ws )" + others, true});
    }
    // From the last member to the first: what may follow a member, and what may come if none came
    // before.
    std::string after, first;
    if (!others.empty()) {
      const std::string one = R"(string ws ":" ws )" + others;
      after = add(R"((ws "," ws )" + one + ")*");
      first = add(one + " " + after + " |");
    }
    for (size_t i = members.size(); i-- > 0;) {
      const auto& [text, is_required] = members[i];
      const std::string later = after.empty() ? "" : " " + after;
      const std::string begins = text + later;
      const std::string follows = R"(ws "," ws )" + text + later;
      first = add(begins + (is_required ? "" : " | " + first));
      after = add(follows + (is_required ? "" : " | " + after));
    }
    return R"("{" ws )" + first + R"( ws "}")";
  }

  const Json& root_;
  const std::string& source_;
  std::map<const Json*, std::string> known_;
  int depth_ = 0;
  std::vector<std::pair<std::string, std::string>> rules_;
};

}  // namespace

std::string json_grammar(bool objects_only) {
  return std::string("root ::= ws ") + (objects_only ? "object" : "value") + " ws\n" + kCommon;
}

Result<std::string> schema_grammar(const Json& schema, const std::string& source) {
  return SchemaGrammar(schema, source).run();
}

}  // namespace tapml::llm
