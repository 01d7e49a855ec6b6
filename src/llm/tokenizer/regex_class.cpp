#include "llm/tokenizer/regex_class.h"

#include <algorithm>
#include <array>
#include <utility>

#include "llm/tokenizer/unicode_properties.h"

namespace tapml::tokenizer {
namespace {

// Names without a table; every other unknown name may be the short name of a script.
constexpr std::array<std::string_view, 4> kOnlyInLibrary = {"ID_Continue", "ID_Start",
                                                            "XID_Continue", "XID_Start"};

// Limit on nested classes in a pattern.
constexpr int kMaxDepth = 64;

struct ParsedClass {
  ClassItems items;
  bool negated = false;
};

class ClassParser {
 public:
  explicit ClassParser(RegexCursor& cursor) : cursor_(cursor) {}

  // The cursor is at a '['.
  Result<ParsedClass> parse(int depth = 0) {
    const size_t start = cursor_.at();
    if (depth > kMaxDepth) return cursor_.refuse("classes that are nested too deeply", start);
    cursor_.skip(1);
    ParsedClass result;
    result.negated = cursor_.take("^");
    std::optional<ClassItems> before;  // items before the last &&
    ClassItems items;
    if (cursor_.peek() == ']') {
      items.add(ClassItems(CodeSet({{']', ']'}})));
      cursor_.skip(1);
    }
    while (cursor_.peek() != ']') {
      if (cursor_.done()) return cursor_.refuse("a class without its ]", start);
      if (cursor_.take("&&")) {
        TAPML_ASSIGN(before, intersection(before, items, start));
        items = ClassItems();
        continue;
      }
      TAPML_TRY(item(items, depth));
    }
    cursor_.skip(1);
    TAPML_ASSIGN(result.items, intersection(before, items, start));
    return result;
  }

 private:
  Result<ClassItems> intersection(const std::optional<ClassItems>& before, const ClassItems& items,
                                  size_t start) const {
    if (!before) return items;
    if (!before->set() || !items.set()) return no_set(start);
    return ClassItems(before->set()->intersected(*items.set()));
  }

  std::unexpected<Error> no_set(size_t start) const {
    return cursor_.refuse("a property without a table in a nested class", start);
  }

  Status item(ClassItems& items, int depth) {
    const size_t start = cursor_.at();
    if (cursor_.peek() == '[') {
      if (cursor_.peek(1) == ':' && cursor_.rest().find(":]") != std::string_view::npos) {
        return posix_bracket(items);
      }
      TAPML_ASSIGN(const ParsedClass inner, parse(depth + 1));
      if (!inner.negated) {
        items.add(inner.items);
        return {};
      }
      if (!inner.items.set()) return no_set(start);
      items.add(ClassItems(inner.items.set()->complement()));
      return {};
    }
    TAPML_ASSIGN(const auto first, character(items));
    if (!first) return {};
    CodeRange range{*first, *first};
    if (cursor_.peek() == '-' && cursor_.peek(1) != ']' && !cursor_.rest().starts_with("-&&")) {
      cursor_.skip(1);
      if (cursor_.peek() == '[') return cursor_.refuse("a range that ends in a class", start);
      ClassItems end;
      TAPML_ASSIGN(const auto last, character(end));
      if (!last) return cursor_.refuse("a range that ends in a class", start);
      if (*last < *first) return cursor_.refuse("a range that runs backwards", start);
      range.last = *last;
    }
    items.add(ClassItems(CodeSet({range})));
    return {};
  }

  // One character, or nothing if the item is a set, which is added to `items`.
  Result<std::optional<char32_t>> character(ClassItems& items) {
    const size_t start = cursor_.at();
    if (cursor_.done()) return cursor_.refuse("a class without its ]", start);
    if (cursor_.peek() != '\\') return cursor_.take_character();
    const char letter = cursor_.peek(1);
    switch (letter) {
      case '\0':
        return cursor_.refuse("a backslash at its end", start);
      case 's':
      case 'w':
      case 'd':
      case 'h':
        cursor_.skip(2);
        items.add(class_of_letter(letter));
        return std::nullopt;
      case 'S':
      case 'W':
      case 'D':
      case 'H':
        cursor_.skip(2);
        items.add(
            ClassItems(class_of_letter(static_cast<char>(letter - 'A' + 'a')).set()->complement()));
        return std::nullopt;
      case 'p':
      case 'P':
        if (const auto property = cursor_.take_property()) {
          items.add(ClassItems::property(property->name, property->negated));
          return std::nullopt;
        }
        break;
      default:
        break;
    }
    TAPML_ASSIGN(const auto escaped, cursor_.take_escaped(true));
    if (escaped) return escaped;
    cursor_.skip(1);
    return cursor_.take_character();
  }

  // "[:alpha:]" or "[:^alpha:]".
  Status posix_bracket(ClassItems& items) {
    static constexpr std::array<std::string_view, 13> kNames = {
        "alnum", "alpha", "blank", "cntrl", "digit", "graph", "lower",
        "print", "punct", "space", "upper", "word",  "xdigit"};
    const size_t start = cursor_.at();
    const std::string_view whole = cursor_.rest().substr(0, cursor_.rest().find(":]") + 2);
    std::string_view name = whole.substr(2, whole.size() - 4);
    const bool negated = name.starts_with('^');
    if (negated) name.remove_prefix(1);
    if (std::ranges::find(kNames, name) == kNames.end()) {
      return cursor_.refuse("the class " + std::string(whole), start);
    }
    cursor_.skip(whole.size());
    items.add(ClassItems::property(name, negated));
    return {};
  }

  RegexCursor& cursor_;
};

ClassItems union_of(std::initializer_list<std::string_view> names) {
  ClassItems items;
  for (const std::string_view name : names) items.add(ClassItems::property(name, false));
  return items;
}

}  // namespace

ClassItems::ClassItems(CodeSet set) : text_(set.as_class_items()) { set_ = std::move(set); }

ClassItems ClassItems::property(std::string_view name, bool negated) {
  const auto found = unicode_property(name);
  ClassItems items;
  if (!found) {
    const bool is_script = std::ranges::find(kOnlyInLibrary, name) == kOnlyInLibrary.end();
    items.set_.reset();
    items.text_ = (negated ? "\\P{" : "\\p{") + std::string(is_script ? "sc:" : "");
    items.text_.append(name).append("}");
    return items;
  }
  if (negated) return ClassItems(found->members.complement());
  if (found->library_name.empty()) return ClassItems(found->members);
  items.set_ = found->members;
  items.text_ = "\\p{" + found->library_name + "}" + found->newer.as_class_items();
  return items;
}

void ClassItems::add(const ClassItems& other) {
  text_ += other.text_;
  if (set_ && other.set_) {
    set_ = set_->united(*other.set_);
  } else {
    set_.reset();
  }
}

std::string ClassItems::in_brackets(bool negated) const {
  if (text_.empty()) return negated ? ClassItems(CodeSet::all()).in_brackets() : "(?!)";
  return (negated ? "[^" : "[") + text_ + "]";
}

const ClassItems& class_of_letter(char letter) {
  // In PCRE2, \s also includes U+180E, and \w lacks marks and connectors.
  static const ClassItems kSpace(unicode_property("White_Space")->members);
  static const ClassItems kWord = union_of({"Alphabetic", "M", "Nd", "Pc"});
  static const ClassItems kDigit = union_of({"Nd"});
  static const ClassItems kHexadecimal = union_of({"xdigit"});
  return letter == 's' ? kSpace : letter == 'w' ? kWord : letter == 'd' ? kDigit : kHexadecimal;
}

const ClassItems& word_alone() {
  static const ClassItems kWord = [] {
    ClassItems items = class_of_letter('w');
    items.add(ClassItems(CodeSet({{0xB2, 0xB3}, {0xB9, 0xB9}, {0xBC, 0xBE}})));
    return items;
  }();
  return kWord;
}

Result<std::string> translate_class(RegexCursor& cursor) {
  TAPML_ASSIGN(const ParsedClass parsed, ClassParser(cursor).parse());
  return parsed.items.in_brackets(parsed.negated);
}

}  // namespace tapml::tokenizer
