// The methods of texts, lists and dicts.
#include <algorithm>

#include "base/strings.h"
#include "template/renderer.h"
#include "template/text.h"

namespace tapml::jinja {

Result<Value> Renderer::call_method(const Value& self, const std::string& name,
                                    const Arguments& arguments) {
  switch (self.kind()) {
    case Kind::kString:
      TAPML_TRY(charge(self.text().size() / 64));
      return call_text_method(self.text(), name, arguments);
    case Kind::kDict:
      return call_dict_method(self, name, arguments);
    case Kind::kLoop:
      return call_loop_method(self.object<LoopState>(), name, arguments);
    case Kind::kCycler: {
      auto& cycler = self.object<Cycler>();
      TAPML_TRY(bind(arguments, name, {}));
      if (name == "reset") {
        cycler.at = 0;
        return Value::none();
      }
      const Value now = cycler.items[cycler.at];
      cycler.at = (cycler.at + 1) % cycler.items.size();
      return now;
    }
    default:
      return call_list_method(self, name, arguments);
  }
}

Result<Value> Renderer::call_dict_method(const Value& self, const std::string& name,
                                         const Arguments& arguments) {
  if (name == "get") {
    TAPML_ASSIGN(const Bound bound, bind(arguments, "get", {"key", "default"}, 1));
    if (!bound[0]->is_hashable()) return type_error("a key", "a text or a number", *bound[0]);
    const Value* found = self.find(*bound[0]);
    if (found) return *found;
    return bound[1] ? *bound[1] : Value::none();
  }
  TAPML_TRY(bind(arguments, name, {}));
  if (name == "copy") return self;
  Items items;
  for (const auto& [key, value] : self.members()) {
    items.push_back(name == "keys" ? key : name == "values" ? value : Value::tuple({key, value}));
  }
  TAPML_TRY(charge_bytes(3 * items.size() * sizeof(Value)));
  return Value::view(std::move(items), name == "keys"     ? "dict_keys"
                                       : name == "values" ? "dict_values"
                                                          : "dict_items");
}

Result<Value> Renderer::call_list_method(const Value& self, const std::string& name,
                                         const Arguments& arguments) {
  if (name == "copy") {
    TAPML_TRY(bind(arguments, name, {}));
    return self;
  }
  TAPML_ASSIGN(const Bound bound, bind(arguments, name, {"value"}, 1));
  for (const Value& item : self.items()) TAPML_TRY(charge_comparison(item, *bound[0]));
  const auto is_it = [&](const Value& item) { return equal(item, *bound[0]); };
  if (name == "count") return Value::integer(std::ranges::count_if(self.items(), is_it));
  const auto found = std::ranges::find_if(self.items(), is_it);
  if (found == self.items().end()) return error("the value is not in the list", "a value of it");
  return Value::integer(found - self.items().begin());
}

namespace {

struct Named {
  std::string_view name;
  std::string (*change)(std::string_view);
};
constexpr Named kChanges[] = {{"lower", lower},    {"upper", upper},
                              {"title", titled},   {"capitalize", capitalized},
                              {"casefold", lower}, {"swapcase", swapped_case}};

struct NamedTest {
  std::string_view name;
  CharacterTest test;
};
constexpr NamedTest kTests[] = {
    {"isalpha", CharacterTest::kAlpha},     {"isdigit", CharacterTest::kDigit},
    {"isdecimal", CharacterTest::kDecimal}, {"isnumeric", CharacterTest::kNumeric},
    {"isalnum", CharacterTest::kAlnum},     {"isspace", CharacterTest::kSpace},
    {"islower", CharacterTest::kLower},     {"isupper", CharacterTest::kUpper},
    {"istitle", CharacterTest::kTitle},     {"isascii", CharacterTest::kAscii}};

std::string padded(std::string_view text, int64_t left, int64_t right, std::string_view fill) {
  std::string out;
  for (int64_t i = 0; i < left; ++i) out += fill;
  out += text;
  for (int64_t i = 0; i < right; ++i) out += fill;
  return out;
}

std::string expanded_tabs(std::string_view text, int64_t size) {
  std::string out;
  int64_t column = 0;
  for (const std::string_view one : split_code_points(text)) {
    if (one == "\t") {
      const int64_t count = size > 0 ? size - column % size : 0;
      out.append(static_cast<size_t>(count), ' ');
      column += count;
    } else {
      out += one;
      column = one == "\n" || one == "\r" ? 0 : column + 1;
    }
  }
  return out;
}

}  // namespace

Result<Value> Renderer::call_text_method(const std::string& text, const std::string& name,
                                         const Arguments& arguments) {
  for (const Named& change : kChanges) {
    if (name != change.name) continue;
    TAPML_TRY(bind(arguments, name, {}));
    return make_text(change.change(text));
  }
  for (const NamedTest& test : kTests) {
    if (name != test.name) continue;
    TAPML_TRY(bind(arguments, name, {}));
    return Value::boolean(test_characters(text, test.test));
  }
  if (name == "strip" || name == "lstrip" || name == "rstrip") {
    TAPML_ASSIGN(const Bound bound, bind(arguments, name, {"chars"}));
    std::string characters;
    const bool given = bound[0] && !bound[0]->is_none();
    if (given) {
      TAPML_ASSIGN(characters, string(bound[0], name, ""));
    }
    return make_text(std::string(
        strip(text, name != "rstrip", name != "lstrip", given ? &characters : nullptr)));
  }
  if (name == "format") return format_braces(text, arguments);
  if (name == "split" || name == "rsplit") {
    TAPML_ASSIGN(const Bound bound, bind(arguments, name, {"sep", "maxsplit"}));
    TAPML_ASSIGN(const int64_t most, integer(bound[1], name, -1));
    std::vector<std::string_view> parts;
    if (!bound[0] || bound[0]->is_none()) {
      parts = split_words(text, most, name == "rsplit");
    } else {
      TAPML_ASSIGN(const std::string separator, string(bound[0], name, ""));
      if (separator.empty()) return error("the separator of split is empty", "some text");
      parts = split_by(text, separator, most, name == "rsplit");
    }
    TAPML_TRY(charge_bytes(text.size() + parts.size() * sizeof(Value)));
    Items items;
    for (const std::string_view part : parts) items.push_back(Value::string(std::string(part)));
    return make_list(std::move(items));
  }
  if (name == "splitlines") {
    TAPML_ASSIGN(const Bound bound, bind(arguments, name, {"keepends"}));
    Items items;
    TAPML_TRY(charge_bytes(text.size()));
    for (const std::string_view line : split_lines(text, boolean(bound[0], false))) {
      items.push_back(Value::string(std::string(line)));
    }
    return make_list(std::move(items));
  }
  if (name == "replace") {
    TAPML_ASSIGN(const Bound bound, bind(arguments, name, {"old", "new", "count"}, 2));
    TAPML_ASSIGN(const std::string old, string(bound[0], name, ""));
    TAPML_ASSIGN(const std::string by, string(bound[1], name, ""));
    TAPML_ASSIGN(const int64_t most, integer(bound[2], name, -1));
    return make_text(replaced(text, old, by, most, options_.memory));
  }
  if (name == "join") {
    TAPML_ASSIGN(const Bound bound, bind(arguments, name, {"iterable"}, 1));
    TAPML_ASSIGN(const Items items, items_of(*bound[0]));
    std::string joined;
    for (size_t i = 0; i < items.size(); ++i) {
      if (!items[i].is_string()) return type_error("what is joined", "a text", items[i]);
      TAPML_TRY(charge_bytes(text.size() + items[i].text().size()));
      if (i > 0) joined += text;
      joined += items[i].text();
    }
    return Value::string(std::move(joined));
  }
  if (name == "zfill" || name == "center" || name == "ljust" || name == "rjust") {
    TAPML_ASSIGN(const Bound bound, bind(arguments, name, {"width", "fillchar"}, 1));
    TAPML_ASSIGN(const int64_t width, integer(bound[0], name, 0));
    TAPML_ASSIGN(std::string fill, string(bound[1], name, name == "zfill" ? "0" : " "));
    if (count_code_points(fill) != 1) return error("what fills a text is one character", "one");
    const int64_t room = std::max<int64_t>(0, width - count_code_points(text));
    TAPML_TRY(charge_bytes(static_cast<size_t>(std::min(room, int64_t{1} << 40)) * fill.size()));
    if (name == "ljust") return make_text(padded(text, 0, room, fill));
    if (name == "rjust") return make_text(padded(text, room, 0, fill));
    if (name == "zfill") {
      const bool sign = text.starts_with('-') || text.starts_with('+');
      return make_text((sign ? text.substr(0, 1) : "") +
                       padded(text.substr(sign ? 1 : 0), room, 0, fill));
    }
    const int64_t left = room / 2 + (room & std::max<int64_t>(width, 0) & 1);
    return make_text(padded(text, left, room - left, fill));
  }
  if (name == "expandtabs") {
    TAPML_ASSIGN(const Bound bound, bind(arguments, name, {"tabsize"}));
    TAPML_ASSIGN(const int64_t size, integer(bound[0], name, 8));
    if (size > 1000) return error("a tabulator is too wide", "1000 columns", std::to_string(size));
    TAPML_TRY(charge_bytes(text.size() * static_cast<size_t>(std::max<int64_t>(size, 1))));
    return make_text(expanded_tabs(text, size));
  }
  if (name == "removeprefix" || name == "removesuffix") {
    TAPML_ASSIGN(const Bound bound, bind(arguments, name, {"affix"}, 1));
    TAPML_ASSIGN(const std::string affix, string(bound[0], name, ""));
    const bool front = name == "removeprefix";
    if (front ? !text.starts_with(affix) : !text.ends_with(affix)) return Value::string(text);
    return make_text(text.substr(front ? affix.size() : 0, text.size() - affix.size()));
  }
  if (name == "partition" || name == "rpartition") {
    TAPML_ASSIGN(const Bound bound, bind(arguments, name, {"sep"}, 1));
    TAPML_ASSIGN(const std::string separator, string(bound[0], name, ""));
    if (separator.empty()) return error("the separator of partition is empty", "some text");
    const bool front = name == "partition";
    const size_t at = front ? text.find(separator) : text.rfind(separator);
    const Value whole = Value::string(text), none = Value::string("");
    TAPML_TRY(charge_bytes(text.size()));
    if (at == std::string::npos) {
      return Value::tuple(front ? Items{whole, none, none} : Items{none, none, whole});
    }
    return Value::tuple({Value::string(text.substr(0, at)), Value::string(separator),
                         Value::string(text.substr(at + separator.size()))});
  }
  // The rest searches a part of the text: startswith, endswith, find, rfind, index, rindex, count.
  TAPML_ASSIGN(const Bound bound, bind(arguments, name, {"sub", "start", "end"}, 1));
  const int64_t length = count_code_points(text);
  TAPML_ASSIGN(int64_t start, integer(bound[1], name, 0));
  TAPML_ASSIGN(int64_t end, integer(bound[2], name, length));
  start = std::clamp<int64_t>(start < 0 ? start + length : start, 0, length + 1);
  end = std::clamp<int64_t>(end < 0 ? end + length : end, 0, length);
  const size_t begin = byte_of(text, start), stop = byte_of(text, end);
  const bool is_range = start <= end;
  const std::string_view part =
      is_range ? std::string_view(text).substr(begin, stop - begin) : std::string_view();
  if (name == "startswith" || name == "endswith") {
    const Items choices = bound[0]->is(Kind::kTuple) ? bound[0]->items() : Items{*bound[0]};
    for (const Value& choice : choices) {
      if (!choice.is_string()) return type_error(name, "a text", choice);
      const std::string& affix = choice.text();
      if (is_range && (name == "startswith" ? part.starts_with(affix) : part.ends_with(affix))) {
        return Value::boolean(true);
      }
    }
    return Value::boolean(false);
  }
  TAPML_ASSIGN(const std::string sub, string(bound[0], name, ""));
  if (name == "count") {
    if (!is_range) return Value::integer(0);
    if (sub.empty()) return Value::integer(count_code_points(part) + 1);
    return Value::integer(std::ssize(split_by(part, sub, -1, false)) - 1);
  }
  const bool from_right = name.starts_with('r');
  const size_t at = !is_range ? std::string::npos : from_right ? part.rfind(sub) : part.find(sub);
  if (at != std::string::npos) return Value::integer(start + count_code_points(part.substr(0, at)));
  if (name == "find" || name == "rfind") return Value::integer(-1);
  return error("the text does not contain " + in_quotes(sub), "a part of the text");
}

}  // namespace tapml::jinja
