#include "template/value.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <unordered_map>

#include "template/text.h"

namespace tapml::jinja {

struct Value::Text {
  std::string text;
};

struct Value::Sequence {
  Items items;
  const char* view = nullptr;
  int depth = 1;
  uint64_t weight = 1;
};

struct Value::Dict {
  Members members;
  int depth = 1;
  uint64_t weight = 1;
};

namespace {

// Shared parts count each time, so that sums may become huge.
constexpr uint64_t kMostWeight = uint64_t{1} << 60;

uint64_t added(uint64_t a, uint64_t b) { return std::min(a + b, kMostWeight); }

}  // namespace

struct Value::Method {
  Value self;
  std::string name;
};

Value Value::undefined(std::string reason) {
  Value value;
  value.held_ = std::make_shared<const Text>(Text{std::move(reason)});
  return value;
}

Value Value::none() {
  Value value;
  value.kind_ = Kind::kNone;
  return value;
}

Value Value::boolean(bool boolean) {
  Value value;
  value.kind_ = Kind::kBool;
  value.number_ = boolean ? 1 : 0;
  return value;
}

Value Value::integer(int64_t integer) {
  Value value;
  value.kind_ = Kind::kInteger;
  value.number_ = integer;
  return value;
}

Value Value::real(double real) {
  Value value;
  value.kind_ = Kind::kFloat;
  value.real_ = real;
  return value;
}

Value Value::string(std::string text) {
  Value value;
  value.kind_ = Kind::kString;
  value.held_ = std::make_shared<const Text>(Text{std::move(text)});
  return value;
}

Value Value::marked(std::string text) {
  Value value = string(std::move(text));
  value.number_ = 1;
  return value;
}

Value Value::view(Items items, const char* name) {
  Value value;
  value.kind_ = Kind::kList;
  int depth = 0;
  uint64_t weight = 1;
  for (const Value& item : items) {
    depth = std::max(depth, item.depth());
    weight = added(weight, item.weight());
  }
  value.held_ =
      std::make_shared<const Sequence>(Sequence{std::move(items), name, depth + 1, weight});
  return value;
}

Value Value::list(Items items) { return view(std::move(items), nullptr); }

Value Value::tuple(Items items) {
  Value value = list(std::move(items));
  value.kind_ = Kind::kTuple;
  return value;
}

Value Value::dict(Members members) {
  Value value;
  value.kind_ = Kind::kDict;
  int depth = 0;
  // A comparison looks for each key.
  uint64_t weight = 1 + members.size() * members.size() / 16;
  for (const auto& [key, item] : members) {
    depth = std::max({depth, key.depth(), item.depth()});
    weight = added(weight, added(key.weight(), item.weight()));
  }
  value.held_ = std::make_shared<const Dict>(Dict{std::move(members), depth + 1, weight});
  return value;
}

Value Value::method(Value self, std::string name) {
  Value value;
  value.kind_ = Kind::kMethod;
  value.held_ = std::make_shared<const Method>(Method{std::move(self), std::move(name)});
  return value;
}

Value Value::function(std::string name) {
  Value value = string(std::move(name));
  value.kind_ = Kind::kFunction;
  return value;
}

Value Value::object(Kind kind, void* object) {
  Value value;
  value.kind_ = kind;
  value.object_ = object;
  return value;
}

Value Value::of_json(const Json& json) {
  switch (json.kind()) {
    case JsonKind::kNull:
      return none();
    case JsonKind::kBool:
      return boolean(json.as_bool());
    case JsonKind::kInteger:
      return integer(json.as_integer());
    case JsonKind::kFloat:
      return real(json.as_double());
    case JsonKind::kString:
      return string(json.as_string());
    case JsonKind::kArray: {
      Items items;
      items.reserve(json.items().size());
      for (const Json& item : json.items()) items.push_back(of_json(item));
      return list(std::move(items));
    }
    case JsonKind::kObject: {
      Members members;
      members.reserve(json.members().size());
      for (const auto& [key, item] : json.members()) {
        members.emplace_back(string(key), of_json(item));
      }
      return dict(std::move(members));
    }
  }
  return none();
}

bool Value::is_callable() const {
  return kind_ == Kind::kMethod || kind_ == Kind::kFunction || kind_ == Kind::kMacro ||
         kind_ == Kind::kJoiner || kind_ == Kind::kLoop;
}

const std::string& Value::text() const {
  static const std::string kEmpty;
  if (!held_) return kEmpty;
  if (kind_ == Kind::kMethod) return static_cast<const Method*>(held_.get())->name;
  if (kind_ == Kind::kString || kind_ == Kind::kUndefined || kind_ == Kind::kFunction) {
    return static_cast<const Text*>(held_.get())->text;
  }
  return kEmpty;
}

const Items& Value::items() const {
  static const Items kNone;
  return is_sequence() ? static_cast<const Sequence*>(held_.get())->items : kNone;
}

const Members& Value::members() const {
  static const Members kNone;
  return is_dict() ? static_cast<const Dict*>(held_.get())->members : kNone;
}

const char* Value::view_name() const {
  return is_sequence() ? static_cast<const Sequence*>(held_.get())->view : nullptr;
}

const Value& Value::self() const { return static_cast<const Method*>(held_.get())->self; }

const void* Value::identity() const { return held_ ? held_.get() : object_; }

int Value::depth() const {
  if (is_sequence()) return static_cast<const Sequence*>(held_.get())->depth;
  if (is_dict()) return static_cast<const Dict*>(held_.get())->depth;
  if (kind_ == Kind::kMethod) return self().depth() + 1;
  return 0;
}

uint64_t Value::weight() const {
  if (is_sequence()) return static_cast<const Sequence*>(held_.get())->weight;
  if (is_dict()) return static_cast<const Dict*>(held_.get())->weight;
  if (kind_ == Kind::kMethod) return added(self().weight(), 1);
  return is_string() ? 1 + text().size() / 64 : 1;
}

bool Value::is_hashable() const {
  if (kind_ == Kind::kList || kind_ == Kind::kDict) return false;
  if (kind_ != Kind::kTuple) return true;
  return std::ranges::all_of(items(), [](const Value& item) { return item.is_hashable(); });
}

const Value* Value::find(std::string_view key) const {
  for (const auto& [name, item] : members()) {
    if (name.is_string() && name.text() == key) return &item;
  }
  return nullptr;
}

const Value* Value::find(const Value& key) const {
  if (key.is_string()) return find(key.text());
  for (const auto& [name, item] : members()) {
    if (equal(name, key)) return &item;
  }
  return nullptr;
}

bool Value::truth() const {
  switch (kind_) {
    case Kind::kUndefined:
    case Kind::kNone:
      return false;
    case Kind::kBool:
    case Kind::kInteger:
      return number_ != 0;
    case Kind::kFloat:
      return real_ != 0;
    case Kind::kString:
      return !text().empty();
    case Kind::kList:
    case Kind::kTuple:
      return !items().empty();
    case Kind::kDict:
      return !members().empty();
    default:
      return true;
  }
}

const char* Value::type_name() const {
  switch (kind_) {
    case Kind::kUndefined:
      return "Undefined";
    case Kind::kNone:
      return "NoneType";
    case Kind::kBool:
      return "bool";
    case Kind::kInteger:
      return "int";
    case Kind::kFloat:
      return "float";
    case Kind::kString:
      return "str";
    case Kind::kList:
      return view_name() ? view_name() : "list";
    case Kind::kTuple:
      return "tuple";
    case Kind::kDict:
      return "dict";
    case Kind::kMethod:
      return "method";
    case Kind::kFunction:
      return "function";
    case Kind::kIterator:
      return "generator";
    case Kind::kNamespace:
      return "Namespace";
    case Kind::kLoop:
      return "LoopContext";
    case Kind::kMacro:
      return "Macro";
    case Kind::kCycler:
      return "Cycler";
    case Kind::kJoiner:
      return "Joiner";
  }
  return "object";
}

std::string float_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::array<char, 64> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                 std::chars_format::scientific)
                       .ptr;
  const std::string_view written(buffer.data(), static_cast<size_t>(end - buffer.data()));
  const size_t e = written.find('e');
  int exponent = 0;
  const char* digits = written.data() + e + 1;
  std::from_chars(*digits == '+' ? digits + 1 : digits, end, exponent);
  if (exponent < -4 || exponent >= 16) return std::string(written);
  const auto fixed =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed)
          .ptr;
  std::string text(buffer.data(), fixed);
  if (text.find('.') == std::string::npos) text += ".0";
  return text;
}

namespace {

bool append_items(const Items& items, std::string& out, size_t most) {
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += ", ";
    if (!items[i].append_repr(out, most)) return false;
  }
  return true;
}

std::string object_name(const Value& value) {
  return std::string("<") + value.type_name() + " object>";
}

}  // namespace

bool Value::append_str(std::string& out, size_t most) const {
  if (kind_ == Kind::kString) {
    out += text();
  } else if (kind_ != Kind::kUndefined) {
    return append_repr(out, most);
  }
  return out.size() <= most;
}

bool Value::append_repr(std::string& out, size_t most) const {
  switch (kind_) {
    case Kind::kUndefined:
      out += "Undefined";
      break;
    case Kind::kNone:
      out += "None";
      break;
    case Kind::kBool:
      out += number_ != 0 ? "True" : "False";
      break;
    case Kind::kInteger:
      out += std::to_string(number_);
      break;
    case Kind::kFloat:
      out += float_text(real_);
      break;
    case Kind::kString:
      append_quoted(out, text());
      break;
    case Kind::kList: {
      const char* view = view_name();
      if (view) out += std::string(view) + "(";
      out += '[';
      if (!append_items(items(), out, most)) return false;
      out += ']';
      if (view) out += ')';
      break;
    }
    case Kind::kTuple:
      out += '(';
      if (!append_items(items(), out, most)) return false;
      out += items().size() == 1 ? ",)" : ")";
      break;
    case Kind::kDict: {
      out += '{';
      bool first = true;
      for (const auto& [key, item] : members()) {
        if (!first) out += ", ";
        first = false;
        if (!key.append_repr(out, most)) return false;
        out += ": ";
        if (!item.append_repr(out, most)) return false;
      }
      out += '}';
      break;
    }
    default:
      out += object_name(*this);
      break;
  }
  return out.size() <= most;
}

bool equal(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) {
    if (a.is(Kind::kFloat) || b.is(Kind::kFloat)) return a.as_real() == b.as_real();
    return a.as_integer() == b.as_integer();
  }
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::kUndefined:
    case Kind::kNone:
      return true;
    case Kind::kString:
    case Kind::kFunction:
      return a.text() == b.text();
    case Kind::kList:
    case Kind::kTuple:
      return a.identity() == b.identity() ||
             std::ranges::equal(a.items(), b.items(),
                                [](const Value& x, const Value& y) { return equal(x, y); });
    case Kind::kDict:
      if (a.identity() == b.identity()) return true;
      if (a.members().size() != b.members().size()) return false;
      return std::ranges::all_of(a.members(), [&](const auto& member) {
        const Value* other = b.find(member.first);
        return other && equal(member.second, *other);
      });
    case Kind::kMethod:
      return a.text() == b.text() && equal(a.self(), b.self());
    default:
      return a.identity() == b.identity();
  }
}

Order compare(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) {
    if (!a.is(Kind::kFloat) && !b.is(Kind::kFloat)) {
      return a.as_integer() < b.as_integer()    ? Order::kLess
             : a.as_integer() == b.as_integer() ? Order::kEqual
                                                : Order::kGreater;
    }
    const double x = a.as_real(), y = b.as_real();
    return x < y    ? Order::kLess
           : x > y  ? Order::kGreater
           : x == y ? Order::kEqual
                    : Order::kUnordered;
  }
  if (a.is_string() && b.is_string()) {
    // The order of UTF-8 bytes is that of code points.
    const int order = a.text().compare(b.text());
    return order < 0 ? Order::kLess : order == 0 ? Order::kEqual : Order::kGreater;
  }
  if (a.is_sequence() && a.kind() == b.kind()) {
    const size_t common = std::min(a.items().size(), b.items().size());
    for (size_t i = 0; i < common; ++i) {
      if (!equal(a.items()[i], b.items()[i])) return compare(a.items()[i], b.items()[i]);
    }
    return compare(Value::integer(std::ssize(a.items())), Value::integer(std::ssize(b.items())));
  }
  return Order::kRefused;
}

}  // namespace tapml::jinja
