#include "ir/facts.h"

#include <type_traits>

namespace tapml {

namespace {

constexpr std::string_view kBound = "bound.";

// Whether the field says more than nothing.
bool is_set(bool field) { return field; }
bool is_set(int64_t field) { return field != 0; }
template <class T>
  requires requires(const T& field) { field.empty(); }
bool is_set(const T& field) {
  return !field.empty();
}
template <class T>
bool is_set(const std::optional<T>& field) {
  return field.has_value();
}

template <class T>
const T& value_of(const T& field) {
  return field;
}
template <class T>
const T& value_of(const std::optional<T>& field) {
  return *field;
}

template <class Field>
struct Type {
  using type = Field;
};
template <class Field>
struct Type<std::optional<Field>> {
  using type = Field;
};

const char* type_text(bool) { return "true or false"; }
const char* type_text(int64_t) { return "an integer"; }
const char* type_text(const std::string&) { return "a string"; }
const char* type_text(const std::vector<int64_t>&) { return "a list of integers"; }
const char* type_text(const std::vector<std::string>&) { return "a list of strings"; }

template <class Facts>
void take(AttrMap& attrs, Facts& facts) {
  each_fact(facts, [&](const char* name, auto& field) {
    using T = typename Type<std::remove_cvref_t<decltype(field)>>::type;
    const auto found = attrs.find(name);
    if (found == attrs.end()) return;
    auto* value = std::get_if<T>(&found->second);
    if (!value) return;
    field = std::move(*value);
    attrs.erase(found);
  });
  for (auto it = attrs.lower_bound(std::string(kBound));
       it != attrs.end() && it->first.starts_with(kBound);) {
    const auto* bound = std::get_if<int64_t>(&it->second);
    if (!bound) {
      ++it;
      continue;
    }
    facts.bounds[it->first.substr(kBound.size())] = *bound;
    it = attrs.erase(it);
  }
}

template <class Facts>
AttrMap with(const AttrMap& attrs, const Facts& facts) {
  AttrMap all = attrs;
  each_fact(facts, [&](const char* name, const auto& field) {
    if (is_set(field)) all[name] = value_of(field);
  });
  for (const auto& [name, bound] : facts.bounds) all[std::string(kBound) + name] = bound;
  return all;
}

template <class Facts>
std::string expected(const std::string& name) {
  if (name.starts_with(kBound)) return "an integer";
  std::string text;
  Facts facts;
  each_fact(facts, [&](const char* known, const auto& field) {
    using T = typename Type<std::remove_cvref_t<decltype(field)>>::type;
    if (name == known) text = type_text(T());
  });
  return text;
}

}  // namespace

void take_facts(AttrMap& attrs, FunctionFacts& facts) { take(attrs, facts); }
void take_facts(AttrMap& attrs, ModuleFacts& facts) { take(attrs, facts); }

AttrMap with_facts(const AttrMap& attrs, const FunctionFacts& facts) { return with(attrs, facts); }
AttrMap with_facts(const AttrMap& attrs, const ModuleFacts& facts) { return with(attrs, facts); }

std::string expected_fact(const std::string& name, bool of_module) {
  return of_module ? expected<ModuleFacts>(name) : expected<FunctionFacts>(name);
}

}  // namespace tapml
