#include <algorithm>
#include <ctime>

#include "base/strings.h"
#include "template/render_depth.h"
#include "template/renderer.h"

namespace tapml::jinja {

Result<Bound> Renderer::bind(const Arguments& arguments, const std::string& what,
                             std::initializer_list<const char*> names, size_t required) {
  Bound bound(names.size(), nullptr);
  if (arguments.positional.size() > names.size()) {
    return error(what + " has too many arguments", std::to_string(names.size()) + " at most",
                 std::to_string(arguments.positional.size()));
  }
  for (size_t i = 0; i < arguments.positional.size(); ++i) bound[i] = &arguments.positional[i];
  for (const auto& [name, value] : arguments.named) {
    const auto* known = std::ranges::find_if(names, [&](const char* one) { return name == one; });
    const auto index = static_cast<size_t>(known - names.begin());
    if (known == names.end() || bound[index]) {
      return error(what + (known == names.end() ? " has no argument " : " has two arguments ") +
                       in_quotes(name),
                   names.size() == 0 ? "no arguments" : join(names), in_quotes(name));
    }
    bound[index] = &value;
  }
  for (size_t i = 0; i < required; ++i) {
    if (!bound[i]) {
      return error(what + " lacks an argument", in_quotes(names.begin()[i]), "nothing");
    }
  }
  return bound;
}

Result<int64_t> Renderer::integer(const Value* value, const std::string& what, int64_t fallback) {
  if (!value) return fallback;
  if (!value->is_integral()) return type_error(what, "an integer", *value);
  return value->as_integer();
}

Result<std::string> Renderer::string(const Value* value, const std::string& what,
                                     std::string fallback) {
  if (!value) return fallback;
  if (!value->is_string()) return type_error(what, "a text", *value);
  return value->text();
}

Result<Value> Renderer::call(const Value& callee, const Arguments& arguments) {
  TAPML_TRY(charge(1));
  switch (callee.kind()) {
    case Kind::kUndefined:
      return undefined_error(callee);
    case Kind::kMacro:
      return call_macro(callee.object<Macro>(), arguments);
    case Kind::kFunction:
      return call_function(callee.text(), arguments);
    case Kind::kMethod:
      return call_method(callee.self(), callee.text(), arguments);
    case Kind::kLoop:
      return call_loop(callee.object<LoopState>(), arguments);
    case Kind::kJoiner: {
      auto& joiner = callee.object<Joiner>();
      if (std::exchange(joiner.used, true)) return joiner.separator;
      return Value::string("");
    }
    default:
      return type_error("what is called", "a macro, a function or a method", callee);
  }
}

Result<Value> Renderer::call_macro(const Macro& macro, const Arguments& arguments) {
  const Depth depth(*this);
  TAPML_TRY(depth.check());
  const MacroSyntax& syntax = *macro.syntax;
  const std::string what = "the macro " + in_quotes(syntax.name);
  const Inner inner(*this, macro.scope);
  const size_t count = syntax.parameters.size();
  std::vector<bool> given(count, false);
  for (size_t i = 0; i < std::min(count, arguments.positional.size()); ++i) {
    scope_->set(syntax.parameters[i], arguments.positional[i]);
    given[i] = true;
  }
  Members named_rest;
  bool has_caller = false;
  for (const auto& [name, value] : arguments.named) {
    const auto known = std::ranges::find(syntax.parameters, name);
    const auto index = static_cast<size_t>(known - syntax.parameters.begin());
    if (known != syntax.parameters.end() && !given[index]) {
      scope_->set(name, value);
      given[index] = true;
    } else if (name == "caller" && syntax.takes_caller) {
      has_caller = true;
      scope_->set("caller", value);
    } else if (syntax.takes_named_rest) {
      named_rest.emplace_back(Value::string(name), value);
    } else {
      return error(what + " has no argument " + in_quotes(name),
                   count == 0 ? "no arguments" : join(syntax.parameters), in_quotes(name));
    }
  }
  if (syntax.takes_caller && !has_caller && !scope_->find("caller")) {
    scope_->set("caller", Value::undefined("no call block has called " + what));
  }
  if (syntax.takes_named_rest) scope_->set("kwargs", Value::dict(std::move(named_rest)));
  Items rest;
  for (size_t i = count; i < arguments.positional.size(); ++i) {
    rest.push_back(arguments.positional[i]);
  }
  if (syntax.takes_rest) {
    scope_->set("varargs", Value::tuple(std::move(rest)));
  } else if (!rest.empty()) {
    return error(what + " has too many arguments", std::to_string(count) + " at most",
                 std::to_string(arguments.positional.size()));
  }
  const size_t first_default = count - syntax.defaults.size();
  for (size_t i = 0; i < count; ++i) {
    if (given[i]) continue;
    if (i < first_default) {
      scope_->set(syntax.parameters[i],
                  Value::undefined("the argument " + in_quotes(syntax.parameters[i]) + " of " +
                                   what + " was not given"));
    } else {
      TAPML_ASSIGN(Value value, eval(*syntax.defaults[i - first_default]));
      scope_->set(syntax.parameters[i], std::move(value));
    }
  }
  TAPML_ASSIGN(std::string text, captured(syntax.body));
  return Value::string(std::move(text));
}

Result<Value> Renderer::call_function(const std::string& name, const Arguments& arguments) {
  if (name == "range") return call_range(arguments);
  if (name == "dict") return call_dict(arguments);
  if (name == "namespace") return call_namespace(arguments);
  if (name == "strftime_now") return call_strftime(arguments);
  if (name == "raise_exception") {
    TAPML_ASSIGN(const Bound bound, bind(arguments, name, {"message"}, 1));
    TAPML_ASSIGN(const std::string message, str(*bound[0]));
    return error("the template refuses the conversation: " + in_quotes(message, 1000));
  }
  if (name == "joiner") {
    TAPML_ASSIGN(const Bound bound, bind(arguments, name, {"sep"}));
    TAPML_TRY(charge_bytes(sizeof(Joiner)));
    joiners_.push_back(
        std::make_unique<Joiner>(Joiner{bound[0] ? *bound[0] : Value::string(", ")}));
    return Value::object(Kind::kJoiner, joiners_.back().get());
  }
  if (arguments.positional.empty() || !arguments.named.empty()) {
    return error("cycler needs values", "values to cycle through", "none");
  }
  TAPML_TRY(charge_bytes(sizeof(Cycler)));
  cyclers_.push_back(std::make_unique<Cycler>(Cycler{arguments.positional}));
  return Value::object(Kind::kCycler, cyclers_.back().get());
}

Result<Value> Renderer::call_range(const Arguments& arguments) {
  TAPML_ASSIGN(const Bound bound, bind(arguments, "range", {"start", "stop", "step"}, 1));
  TAPML_ASSIGN(int64_t start, integer(bound[0], "range", 0));
  int64_t stop = start;
  if (bound[1]) {
    TAPML_ASSIGN(stop, integer(bound[1], "range", 0));
  } else {
    start = 0;
  }
  TAPML_ASSIGN(const int64_t step, integer(bound[2], "range", 1));
  if (step == 0) return error("the step of range is 0", "another integer", "0");
  const auto distance = step > 0 ? static_cast<uint64_t>(stop) - static_cast<uint64_t>(start)
                                 : static_cast<uint64_t>(start) - static_cast<uint64_t>(stop);
  const uint64_t stride =
      step > 0 ? static_cast<uint64_t>(step) : uint64_t{0} - static_cast<uint64_t>(step);
  const bool is_empty = step > 0 ? stop <= start : stop >= start;
  const uint64_t count = is_empty ? 0 : (distance - 1) / stride + 1;
  if (count > static_cast<uint64_t>(options_.range)) {
    return error("range is too long", std::to_string(options_.range) + " items",
                 std::to_string(count));
  }
  Items items;
  for (uint64_t i = 0; i < count; ++i) {
    items.push_back(Value::integer(start + static_cast<int64_t>(i) * step));
  }
  return make_list(std::move(items));
}

Result<Value> Renderer::call_dict(const Arguments& arguments) {
  Members members;
  if (arguments.positional.size() > 1) {
    return error("dict has too many arguments", "1 at most, and named ones",
                 std::to_string(arguments.positional.size()));
  }
  for (const Value& from : arguments.positional) {
    if (from.is_dict()) {
      members = from.members();
      continue;
    }
    TAPML_ASSIGN(const Items pairs, items_of(from));
    for (const Value& pair : pairs) {
      TAPML_ASSIGN(const Items both, items_of(pair));
      if (both.size() != 2) {
        return error("dict is made of pairs", "2 values", std::to_string(both.size()));
      }
      TAPML_TRY(set_member(members, both[0], both[1]));
    }
  }
  for (const auto& [name, value] : arguments.named) {
    TAPML_TRY(set_member(members, Value::string(name), value));
  }
  return make_dict(std::move(members));
}

Result<Value> Renderer::call_namespace(const Arguments& arguments) {
  TAPML_ASSIGN(const Value dict, call_dict(arguments));
  auto space = std::make_unique<Namespace>();
  for (const auto& [key, value] : dict.members()) {
    if (!key.is_string()) return type_error("the name of a member", "a text", key);
    if (key.text().starts_with('_')) {
      return error("a member of a namespace begins with \"_\"", "another name",
                   in_quotes(key.text()));
    }
    space->members.emplace_back(key.text(), value);
  }
  TAPML_TRY(charge_bytes(sizeof(Namespace)));
  namespaces_.push_back(std::move(space));
  return Value::object(Kind::kNamespace, namespaces_.back().get());
}

Result<Value> Renderer::call_strftime(const Arguments& arguments) {
  TAPML_ASSIGN(const Bound bound, bind(arguments, "strftime_now", {"format"}, 1));
  TAPML_ASSIGN(const std::string format, string(bound[0], "strftime_now", ""));
  if (format.empty()) return Value::string("");
  if (format.size() > 1000) {
    return error("the format of a time is too long", "1000 bytes", std::to_string(format.size()));
  }
  const std::time_t now =
      options_.now ? static_cast<std::time_t>(*options_.now) : std::time(nullptr);
  std::tm local = {};
  if (!localtime_r(&now, &local)) return error("the time of the clock has no date", "a date");
  std::string text(200 * format.size() + 1, '\0');
  // A bit-for-bit copy: a result may be empty, as that of "%p" in some locales.
  text.resize(std::strftime(text.data(), text.size(), format.c_str(), &local));
  return make_text(std::move(text));
}

Result<Value> Renderer::call_loop(LoopState& loop, const Arguments& arguments) {
  TAPML_ASSIGN(const Bound bound, bind(arguments, "loop", {"iterable"}, 1));
  if (!loop.node->recursive || loop.ended) {
    return error("a loop is called that is not recursive", "{% for ... recursive %}",
                 loop.ended ? "a loop that has ended" : "a loop without it");
  }
  std::string text;
  std::string* outer = std::exchange(out_, &text);
  const bool outer_capture = std::exchange(in_capture_, true);
  Scope* scope = std::exchange(scope_, loop.scope);
  const Status status = run_for(*loop.node, *bound[0], loop.depth0 + 1);
  scope_ = scope;
  out_ = outer;
  in_capture_ = outer_capture;
  TAPML_TRY(status);
  return Value::string(std::move(text));
}

Result<Value> Renderer::call_loop_method(LoopState& loop, const std::string& name,
                                         const Arguments& arguments) {
  if (name == "changed") {
    Value now = Value::tuple(arguments.positional);
    if (loop.changed) TAPML_TRY(charge_comparison(*loop.changed, now));
    const bool changed = !loop.changed || !equal(*loop.changed, now);
    loop.changed = std::move(now);
    return Value::boolean(changed);
  }
  if (arguments.positional.empty() || loop.index0 < 0) {
    return error("loop.cycle needs values", "values to cycle through", "none");
  }
  return arguments.positional[static_cast<size_t>(loop.index0) % arguments.positional.size()];
}

}  // namespace tapml::jinja
