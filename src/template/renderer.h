// Evaluates a template. Internal to the component.
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "template/syntax.h"
#include "template/template.h"
#include "template/value.h"

namespace tapml::jinja {

// The values of a call.
struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
};

// Each parameter's value; null where it is left out.
using Bound = std::vector<const Value*>;

struct Scope {
  Scope* parent = nullptr;
  std::vector<std::pair<std::string, Value>> variables;
  bool kept = false;  // a macro refers to it

  Value* find(std::string_view name);
  void set(std::string_view name, Value value);
};

struct Macro {
  const MacroSyntax* syntax = nullptr;
  Scope* scope = nullptr;
};

struct Iterator {
  Items items;
  size_t next = 0;
};

struct Namespace {
  std::vector<std::pair<std::string, Value>> members;
};

struct Cycler {
  Items items;
  size_t at = 0;
};

struct Joiner {
  Value separator;
  bool used = false;
};

struct LoopState {
  const Node* node = nullptr;
  Scope* scope = nullptr;  // around the loop
  Items items;
  size_t next = 0;             // of `items`
  std::optional<Value> after;  // the next item, if it is known
  Value before, current;
  std::optional<Value> changed;
  int64_t index0 = -1;
  int depth0 = 0;
  bool filtered = false;  // `items` have passed the loop's condition
  bool ended = false;
};

class Renderer {
 public:
  Renderer(std::string_view text, std::string_view source, const RenderOptions& options)
      : text_(text), source_(source), options_(options) {}

  Result<Rendered> run(const Body& body, const Json& variables);

 private:
  enum class Flow : uint8_t { kNext, kBreak, kContinue };
  using Filter = Result<Value> (Renderer::*)(const Value&, const Arguments&);
  struct NamedFilter {
    std::string_view name;
    Filter filter;
  };

  // A scope within the current one, for as long as this object exists.
  class Inner {
   public:
    explicit Inner(Renderer& renderer, Scope* parent);
    ~Inner();
    Inner(const Inner&) = delete;
    Inner& operator=(const Inner&) = delete;

   private:
    Renderer& renderer_;
    Scope* outer_;
    std::unique_ptr<Scope> scope_;
  };
  class Depth;

  // Limits and errors.
  Status charge(size_t steps);
  Status charge_bytes(size_t bytes);
  // Before two values are compared.
  Status charge_comparison(const Value& a, const Value& b);
  std::unexpected<Error> error(std::string message, std::string expected = "",
                               std::string found = "", std::string hint = "") const;
  std::unexpected<Error> undefined_error(const Value& value) const;
  std::unexpected<Error> type_error(const std::string& what, const std::string& expected,
                                    const Value& found) const;
  Result<Value> make_text(std::string text);
  Result<Value> make_list(Items items);
  Result<Value> make_iterator(Items items);
  Result<Value> make_dict(Members members);
  Status set_member(Members& members, Value key, Value value);

  // Statements.
  Result<Flow> run_body(const Body& body);
  Result<Flow> run_node(const Node& node);
  Result<Flow> run_if(const Node& node);
  Result<Flow> run_with(const Node& node);
  Status run_for(const Node& node, const Value& items, int depth0);
  Status run_set(const Node& node);
  Status run_set_block(const Node& node);
  Status run_filter_block(const Node& node);
  Status run_call_block(const Node& node);
  Status run_generation(const Node& node);
  Status output(const Value& value);
  Status append(std::string_view text);
  Status assign(const Expr& target, Value value);
  // The output of a body in its own scope.
  Result<std::string> captured(const Body& body);
  Result<bool> advance(LoopState& loop);  // whether `after` is an item
  Result<int64_t> length_of_loop(LoopState& loop);
  Value make_macro(const MacroSyntax& syntax);

  // Expressions.
  Result<Value> eval(const Expr& expr);
  Result<Value> eval_any(const Expr& expr);
  Result<Value> eval_name(const Expr& expr);
  Result<Value> eval_items(const Expr& expr);
  Result<Value> eval_dict(const Expr& expr);
  Result<Value> eval_subscript(const Expr& expr);
  Result<Value> eval_slice(const Value& value, const Expr& slice);
  Result<Value> eval_call(const Expr& expr);
  Result<Value> eval_filter(const Expr& expr, const Value* input);
  Result<Value> eval_test(const Expr& expr);
  Result<Value> eval_compare(const Expr& expr);
  Result<Value> eval_logic(const Expr& expr);
  Result<Value> eval_condition(const Expr& expr);
  Result<Value> eval_unary(const Expr& expr);
  Result<Value> eval_binary(const Expr& expr);
  Result<Value> eval_concat(const Expr& expr);
  Result<Arguments> eval_arguments(const ArgumentList& list);
  Result<bool> compare_values(std::string_view op, const Value& a, const Value& b);
  Result<bool> contains(const Value& container, const Value& item);
  Result<Value> binary(std::string_view op, const Value& a, const Value& b);
  Result<Value> integer_binary(std::string_view op, int64_t a, int64_t b);
  Result<Value> real_binary(std::string_view op, double a, double b);
  Result<Value> repeated(const Value& value, int64_t times);
  Result<Value> member(const Value& value, const std::string& name);
  Result<Value> subscript(const Value& value, const Value& key);
  Result<std::optional<Value>> item_of(const Value& value, const Value& key);
  Result<std::optional<Value>> attribute_of(const Value& value, const std::string& name);
  Result<Value> loop_member(LoopState& loop, const std::string& name);

  // Values.
  Result<std::string> str(const Value& value);
  Result<Items> items_of(const Value& value);  // reads an iterator
  Result<int64_t> length_of(const Value& value);
  Result<std::string> to_json(const Value& value, const Arguments& arguments);

  // Calls.
  Result<Value> call(const Value& callee, const Arguments& arguments);
  Result<Value> call_macro(const Macro& macro, const Arguments& arguments);
  Result<Value> call_function(const std::string& name, const Arguments& arguments);
  Result<Value> call_method(const Value& self, const std::string& name, const Arguments& arguments);
  Result<Value> call_text_method(const std::string& text, const std::string& name,
                                 const Arguments& arguments);
  Result<Value> call_list_method(const Value& self, const std::string& name,
                                 const Arguments& arguments);
  Result<Value> call_dict_method(const Value& self, const std::string& name,
                                 const Arguments& arguments);
  Result<Value> call_loop(LoopState& loop, const Arguments& arguments);
  Result<Value> call_loop_method(LoopState& loop, const std::string& name,
                                 const Arguments& arguments);
  Result<Value> call_range(const Arguments& arguments);
  Result<Value> call_dict(const Arguments& arguments);
  Result<Value> call_namespace(const Arguments& arguments);
  Result<Value> call_strftime(const Arguments& arguments);
  Result<Bound> bind(const Arguments& arguments, const std::string& what,
                     std::initializer_list<const char*> names, size_t required = 0);
  Result<int64_t> integer(const Value* value, const std::string& what, int64_t fallback);
  Result<std::string> string(const Value* value, const std::string& what, std::string fallback);
  bool boolean(const Value* value, bool fallback) const {
    return value ? value->truth() : fallback;
  }

  // Text formatting: `format % values`, and str.format().
  Result<Value> format_percent(const std::string& format, const Value& values);
  Result<Value> format_braces(const std::string& format, const Arguments& arguments);
  Result<std::string> format_value(const Value& value, const std::string& spec);

  // Filters by name; null if there is none.
  static Filter find_filter(std::string_view name);
  static bool has_test(std::string_view name);
  Result<Value> apply_filter(std::string_view name, const Value& value, const Arguments& arguments);
  Result<bool> apply_test(std::string_view name, const Value& value, const Arguments& arguments);
  // A part of an item that a filter names: "a.b.0"; null: the item itself. `fallback`, which may be
  // null, takes the place of undefined ones.
  Result<Value> attribute_path(const Value& item, const Value* path,
                               const Value* fallback = nullptr);
  Result<Value> selected(const Value& value, const Arguments& arguments, bool by_attribute,
                         bool keeps);
  Result<Items> sorted(Items items, const std::vector<Items>& keys, bool reverse);
  Result<Value> extreme(const Value& value, const Arguments& arguments, Order wanted);
  Result<Value> changed_text(const Value& value, std::string (*change)(std::string_view));

  Result<Value> filter_abs(const Value& value, const Arguments& arguments);
  Result<Value> filter_attr(const Value& value, const Arguments& arguments);
  Result<Value> filter_batch(const Value& value, const Arguments& arguments);
  Result<Value> filter_capitalize(const Value& value, const Arguments& arguments);
  Result<Value> filter_center(const Value& value, const Arguments& arguments);
  Result<Value> filter_default(const Value& value, const Arguments& arguments);
  Result<Value> filter_dictsort(const Value& value, const Arguments& arguments);
  Result<Value> filter_escape(const Value& value, const Arguments& arguments);
  Result<Value> filter_first(const Value& value, const Arguments& arguments);
  Result<Value> filter_float(const Value& value, const Arguments& arguments);
  Result<Value> filter_format(const Value& value, const Arguments& arguments);
  Result<Value> filter_groupby(const Value& value, const Arguments& arguments);
  Result<Value> filter_indent(const Value& value, const Arguments& arguments);
  Result<Value> filter_int(const Value& value, const Arguments& arguments);
  Result<Value> filter_items(const Value& value, const Arguments& arguments);
  Result<Value> filter_join(const Value& value, const Arguments& arguments);
  Result<Value> filter_last(const Value& value, const Arguments& arguments);
  Result<Value> filter_length(const Value& value, const Arguments& arguments);
  Result<Value> filter_list(const Value& value, const Arguments& arguments);
  Result<Value> filter_lower(const Value& value, const Arguments& arguments);
  Result<Value> filter_map(const Value& value, const Arguments& arguments);
  Result<Value> filter_max(const Value& value, const Arguments& arguments);
  Result<Value> filter_min(const Value& value, const Arguments& arguments);
  Result<Value> filter_reject(const Value& value, const Arguments& arguments);
  Result<Value> filter_rejectattr(const Value& value, const Arguments& arguments);
  Result<Value> filter_replace(const Value& value, const Arguments& arguments);
  Result<Value> filter_reverse(const Value& value, const Arguments& arguments);
  Result<Value> filter_round(const Value& value, const Arguments& arguments);
  Result<Value> filter_safe(const Value& value, const Arguments& arguments);
  Result<Value> filter_select(const Value& value, const Arguments& arguments);
  Result<Value> filter_selectattr(const Value& value, const Arguments& arguments);
  Result<Value> filter_slice(const Value& value, const Arguments& arguments);
  Result<Value> filter_sort(const Value& value, const Arguments& arguments);
  Result<Value> filter_string(const Value& value, const Arguments& arguments);
  Result<Value> filter_sum(const Value& value, const Arguments& arguments);
  Result<Value> filter_title(const Value& value, const Arguments& arguments);
  Result<Value> filter_tojson(const Value& value, const Arguments& arguments);
  Result<Value> filter_trim(const Value& value, const Arguments& arguments);
  Result<Value> filter_truncate(const Value& value, const Arguments& arguments);
  Result<Value> filter_unique(const Value& value, const Arguments& arguments);
  Result<Value> filter_upper(const Value& value, const Arguments& arguments);
  Result<Value> filter_urlencode(const Value& value, const Arguments& arguments);
  Result<Value> filter_wordcount(const Value& value, const Arguments& arguments);

  std::string_view text_, source_;
  const RenderOptions& options_;
  std::unordered_map<std::string, Value> variables_;
  Scope* scope_ = nullptr;
  std::string* out_ = nullptr;
  std::vector<std::pair<size_t, size_t>> generated_;
  bool in_capture_ = false;
  uint32_t at_ = 0;  // of what runs, for errors
  int depth_ = 0;
  int64_t steps_ = 0;
  size_t bytes_ = 0;
  // What values refer to without owning it.
  std::vector<std::unique_ptr<Scope>> scopes_;
  std::vector<std::unique_ptr<Macro>> macros_;
  std::vector<std::unique_ptr<Iterator>> iterators_;
  std::vector<std::unique_ptr<Namespace>> namespaces_;
  std::vector<std::unique_ptr<Cycler>> cyclers_;
  std::vector<std::unique_ptr<Joiner>> joiners_;
  std::vector<std::unique_ptr<LoopState>> loops_;
};

}  // namespace tapml::jinja
