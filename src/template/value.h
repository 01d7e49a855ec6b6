// Values of templates, with the meaning that Python gives them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/json.h"

namespace tapml::jinja {

enum class Kind : uint8_t {
  kUndefined,
  kNone,
  kBool,
  kInteger,
  kFloat,
  kString,
  kList,
  kTuple,
  kDict,
  kMethod,    // of a value: text.strip
  kFunction,  // of every template: range
  // These belong to the renderer, so that values may refer to each other in circles.
  kIterator,  // what filters such as map give: it can be read once
  kNamespace,
  kLoop,
  kMacro,
  kCycler,
  kJoiner,
};

class Value;
using Items = std::vector<Value>;
using Members = std::vector<std::pair<Value, Value>>;

// Immutable, but for objects of the renderer.
class Value {
 public:
  Value() = default;  // undefined, without a reason
  static Value undefined(std::string reason);
  static Value none();
  static Value boolean(bool value);
  static Value integer(int64_t value);
  static Value real(double value);
  static Value string(std::string text);
  // A text that `safe` or `escape` has marked: what is added to it is escaped.
  static Value marked(std::string text);
  static Value list(Items items);
  // A list with another name in its text: "dict_items".
  static Value view(Items items, const char* name);
  static Value tuple(Items items);
  // Keys are different; see Value::is_hashable().
  static Value dict(Members members);
  static Value method(Value self, std::string name);
  static Value function(std::string name);
  static Value object(Kind kind, void* object);
  static Value of_json(const Json& json);

  Kind kind() const { return kind_; }
  bool is(Kind kind) const { return kind_ == kind; }
  bool is_undefined() const { return kind_ == Kind::kUndefined; }
  bool is_none() const { return kind_ == Kind::kNone; }
  bool is_string() const { return kind_ == Kind::kString; }
  bool is_marked() const { return is_string() && number_ != 0; }
  bool is_dict() const { return kind_ == Kind::kDict; }
  bool is_sequence() const { return kind_ == Kind::kList || kind_ == Kind::kTuple; }
  // An integer as Python sees it: True is 1.
  bool is_integral() const { return kind_ == Kind::kInteger || kind_ == Kind::kBool; }
  bool is_number() const { return is_integral() || kind_ == Kind::kFloat; }
  bool is_callable() const;

  bool as_bool() const { return number_ != 0; }
  int64_t as_integer() const { return number_; }
  double as_real() const { return kind_ == Kind::kFloat ? real_ : static_cast<double>(number_); }
  // Of a string, the name of a method or function, and the reason of an undefined value.
  const std::string& text() const;
  const Items& items() const;      // of lists and tuples
  const Members& members() const;  // of dicts
  const char* view_name() const;   // null: a list or tuple
  const Value& self() const;       // of methods
  template <class Object>
  Object& object() const {
    return *static_cast<Object*>(object_);
  }
  const void* identity() const;

  // Nesting of lists, dicts and methods: 0 for other values.
  int depth() const;
  // The work of a comparison with it: values in one another, each as often as it occurs.
  uint64_t weight() const;
  // Whether it can be a key: no list or dict in it.
  bool is_hashable() const;
  const Value* find(const Value& key) const;  // in a dict
  const Value* find(std::string_view key) const;

  bool truth() const;
  const char* type_name() const;  // as in Python's messages: "str", "dict"
  // Appends Python's str() or repr(). Returns whether the result has at most `most` bytes; beyond,
  // it is cut.
  bool append_str(std::string& out, size_t most) const;
  bool append_repr(std::string& out, size_t most) const;

 private:
  struct Text;
  struct Sequence;
  struct Dict;
  struct Method;

  Kind kind_ = Kind::kUndefined;
  union {
    int64_t number_ = 0;
    double real_;
    void* object_;
  };
  std::shared_ptr<const void> held_;
};

// Python's ==.
bool equal(const Value& a, const Value& b);
// Python's < and so on; kUnordered for NaN, kRefused for values that have no order.
enum class Order : uint8_t { kLess, kEqual, kGreater, kUnordered, kRefused };
Order compare(const Value& a, const Value& b);

// Python's repr() of a float.
std::string float_text(double value);

}  // namespace tapml::jinja
