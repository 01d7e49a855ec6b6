#include "template/method_names.h"

#include <algorithm>

namespace tapml::jinja {

namespace {

constexpr std::string_view kOfTexts[] = {
    "strip",      "lstrip",     "rstrip",       "split",        "rsplit",    "splitlines",
    "startswith", "endswith",   "upper",        "lower",        "title",     "capitalize",
    "swapcase",   "casefold",   "replace",      "find",         "rfind",     "index",
    "rindex",     "count",      "join",         "format",       "isdigit",   "isalpha",
    "isalnum",    "isspace",    "isupper",      "islower",      "istitle",   "isnumeric",
    "isdecimal",  "isascii",    "zfill",        "center",       "ljust",     "rjust",
    "partition",  "rpartition", "removeprefix", "removesuffix", "expandtabs"};
constexpr std::string_view kOfLists[] = {"index", "count"};
constexpr std::string_view kOfDicts[] = {"get", "keys", "values", "items", "copy"};
constexpr std::string_view kChangeLists[] = {"append", "clear", "pop",    "reverse",
                                             "insert", "sort",  "extend", "remove"};
constexpr std::string_view kChangeDicts[] = {"clear", "pop", "popitem", "setdefault", "update"};

template <size_t kCount>
bool has(const std::string_view (&names)[kCount], std::string_view name) {
  return std::ranges::find(names, name) != std::end(names);
}

}  // namespace

bool has_method(const Value& value, std::string_view name) {
  if (value.is_string()) return has(kOfTexts, name);
  if (value.is_sequence() && !value.view_name()) {
    return has(kOfLists, name) || (name == "copy" && value.is(Kind::kList));
  }
  return value.is_dict() && has(kOfDicts, name);
}

bool is_changing_method(const Value& value, std::string_view name) {
  if (value.is(Kind::kList) && !value.view_name()) return has(kChangeLists, name);
  return value.is_dict() && has(kChangeDicts, name);
}

}  // namespace tapml::jinja
