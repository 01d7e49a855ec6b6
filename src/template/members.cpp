// Items and attributes of values.
#include <algorithm>
#include <array>

#include "base/strings.h"
#include "template/method_names.h"
#include "template/renderer.h"
#include "template/text.h"

namespace tapml::jinja {

namespace {

Value no_attribute(const Value& value, std::string_view name) {
  return Value::undefined("a " + std::string(value.type_name()) + " has no " + in_quotes(name));
}

}  // namespace

// obj[key]; nothing where Python raises a LookupError or a TypeError.
Result<std::optional<Value>> Renderer::item_of(const Value& value, const Value& key) {
  if (value.is_dict()) {
    if (!key.is_hashable()) return std::nullopt;
    TAPML_TRY(charge(value.members().size() / 16));
    const Value* found = value.find(key);
    return found ? std::optional(*found) : std::nullopt;
  }
  if (!key.is_integral() || value.view_name()) return std::nullopt;
  if (!value.is_sequence() && !value.is_string()) return std::nullopt;
  TAPML_ASSIGN(const int64_t length, length_of(value));
  const int64_t index = key.as_integer() < 0 ? key.as_integer() + length : key.as_integer();
  if (index < 0 || index >= length) return std::nullopt;
  if (value.is_sequence()) return value.items()[static_cast<size_t>(index)];
  const std::string_view text = value.text();
  const size_t at = byte_of(text, index);
  return Value::string(std::string(text.substr(at, code_point_at(text, at).length)));
}

Result<std::optional<Value>> Renderer::attribute_of(const Value& value, const std::string& name) {
  switch (value.kind()) {
    case Kind::kNamespace:
      for (const auto& [key, member] : value.object<Namespace>().members) {
        if (key == name) return member;
      }
      return std::nullopt;
    case Kind::kLoop: {
      TAPML_ASSIGN(Value found, loop_member(value.object<LoopState>(), name));
      return found;
    }
    case Kind::kMacro: {
      const MacroSyntax& syntax = *value.object<Macro>().syntax;
      if (name == "name") return Value::string(syntax.name);
      if (name != "arguments") return std::nullopt;
      Items names;
      for (const std::string& one : syntax.parameters) names.push_back(Value::string(one));
      return Value::tuple(std::move(names));
    }
    case Kind::kCycler: {
      auto& cycler = value.object<Cycler>();
      if (name == "current") return cycler.items[cycler.at];
      if (name == "next" || name == "reset") return Value::method(value, name);
      return std::nullopt;
    }
    case Kind::kList:
      if (value.view_name() == kGroupName) {
        if (name == "grouper") return value.items()[0];
        if (name == "list") return value.items()[1];
      }
      break;
    default:
      break;
  }
  if (is_changing_method(value, name)) {
    return Value::undefined("the method " + in_quotes(name) + " changes a " + value.type_name() +
                            ", which templates may not");
  }
  if (has_method(value, name)) return Value::method(value, name);
  return std::nullopt;
}

// The attribute comes first, then the item.
Result<Value> Renderer::member(const Value& value, const std::string& name) {
  if (value.is_undefined()) return undefined_error(value);
  TAPML_ASSIGN(auto attribute, attribute_of(value, name));
  if (attribute) return *attribute;
  TAPML_ASSIGN(auto item, item_of(value, Value::string(name)));
  if (item) return *item;
  return no_attribute(value, name);
}

// The item comes first, then the attribute.
Result<Value> Renderer::subscript(const Value& value, const Value& key) {
  if (value.is_undefined()) return undefined_error(value);
  TAPML_ASSIGN(auto item, item_of(value, key));
  if (item) return *item;
  if (key.is_string()) {
    TAPML_ASSIGN(auto attribute, attribute_of(value, key.text()));
    if (attribute) return *attribute;
    return no_attribute(value, key.text());
  }
  TAPML_ASSIGN(const std::string text, str(key));
  return no_attribute(value, text);
}

Result<Value> Renderer::loop_member(LoopState& loop, const std::string& name) {
  if (name == "index") return Value::integer(loop.index0 + 1);
  if (name == "index0") return Value::integer(loop.index0);
  if (name == "first") return Value::boolean(loop.index0 == 0);
  if (name == "depth") return Value::integer(loop.depth0 + 1);
  if (name == "depth0") return Value::integer(loop.depth0);
  if (name == "cycle" || name == "changed") {
    return Value::method(Value::object(Kind::kLoop, &loop), name);
  }
  if (name == "previtem") {
    return loop.index0 <= 0 ? Value::undefined("there is no previous item") : loop.before;
  }
  if (name == "last" || name == "nextitem") {
    TAPML_ASSIGN(const bool more, advance(loop));
    if (name == "last") return Value::boolean(!more);
    return more ? *loop.after : Value::undefined("there is no next item");
  }
  if (name == "length" || name == "revindex" || name == "revindex0") {
    TAPML_ASSIGN(const int64_t length, length_of_loop(loop));
    if (name == "length") return Value::integer(length);
    return Value::integer(length - loop.index0 - (name == "revindex0" ? 1 : 0));
  }
  return Value::undefined("a loop has no " + in_quotes(name));
}

}  // namespace tapml::jinja
