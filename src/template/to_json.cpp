#include "template/to_json.h"

#include <algorithm>
#include <cmath>

#include "template/text.h"

namespace tapml::jinja {

namespace {

class Writer {
 public:
  Writer(std::string& out, const JsonStyle& style, size_t most, Value& wrong)
      : out_(out), style_(style), most_(most), wrong_(wrong) {}

  JsonResult write(const Value& value) {
    if (out_.size() > most_) return JsonResult::kTooLong;
    switch (value.kind()) {
      case Kind::kNone:
      case Kind::kBool:
      case Kind::kInteger:
      case Kind::kFloat:
        out_ += scalar(value);
        return JsonResult::kDone;
      case Kind::kString:
        write_text(value.text());
        return JsonResult::kDone;
      case Kind::kList:
      case Kind::kTuple:
        if (!value.view_name()) return write_items(value.items());
        break;
      case Kind::kDict:
        return write_members(value.members());
      default:
        break;
    }
    wrong_ = value;
    return JsonResult::kNoJson;
  }

 private:
  static std::string scalar(const Value& value) {
    if (value.is_none()) return "null";
    if (value.is(Kind::kBool)) return value.as_bool() ? "true" : "false";
    if (value.is(Kind::kInteger)) return std::to_string(value.as_integer());
    if (std::isnan(value.as_real())) return "NaN";
    if (std::isinf(value.as_real())) return value.as_real() < 0 ? "-Infinity" : "Infinity";
    return float_text(value.as_real());
  }

  void write_escape(char32_t c) {
    out_ += "\\u";
    for (int shift = 12; shift >= 0; shift -= 4) out_ += "0123456789abcdef"[(c >> shift) & 15];
  }

  void write_text(const std::string& text) {
    static constexpr std::string_view kSpecial = "\"\\\n\r\t\b\f", kNames = "\"\\nrtbf";
    out_ += '"';
    for (size_t at = 0; at < text.size();) {
      const CodePoint c = code_point_at(text, at);
      const size_t special = c.length == 1 ? kSpecial.find(text[at]) : std::string_view::npos;
      if (special != std::string_view::npos) {
        out_ += '\\';
        out_ += kNames[special];
      } else if (c.value < 0x20 || (style_.ascii && c.value >= 0x7F)) {
        if (c.value == 0x7F) {
          out_ += '\x7F';
        } else if (c.value < 0x10000) {
          write_escape(c.value);
        } else {
          write_escape(0xD800 + ((c.value - 0x10000) >> 10));
          write_escape(0xDC00 + ((c.value - 0x10000) & 0x3FF));
        }
      } else {
        out_.append(text, at, c.length);
      }
      at += c.length;
    }
    out_ += '"';
  }

  void begin_line() {
    if (!style_.indented) return;
    out_ += '\n';
    for (int i = 0; i < level_; ++i) out_ += style_.indent;
  }

  JsonResult write_items(const Items& items) {
    if (items.empty()) {
      out_ += "[]";
      return JsonResult::kDone;
    }
    out_ += '[';
    ++level_;
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out_ += style_.item_separator;
      begin_line();
      const JsonResult result = write(items[i]);
      if (result != JsonResult::kDone) return result;
    }
    --level_;
    begin_line();
    out_ += ']';
    return JsonResult::kDone;
  }

  JsonResult write_members(const Members& members) {
    if (members.empty()) {
      out_ += "{}";
      return JsonResult::kDone;
    }
    std::vector<const std::pair<Value, Value>*> order;
    for (const auto& member : members) order.push_back(&member);
    if (style_.sorted) {
      std::ranges::stable_sort(order, [](const auto* a, const auto* b) {
        return compare(a->first, b->first) == Order::kLess;
      });
    }
    out_ += '{';
    ++level_;
    bool first = true;
    for (const auto* member : order) {
      if (!first) out_ += style_.item_separator;
      first = false;
      begin_line();
      const Value& key = member->first;
      if (!key.is_string() && !key.is_number() && !key.is_none()) {
        wrong_ = key;
        return JsonResult::kNoJson;
      }
      write_text(key.is_string() ? key.text() : scalar(key));
      out_ += style_.key_separator;
      const JsonResult result = write(member->second);
      if (result != JsonResult::kDone) return result;
    }
    --level_;
    begin_line();
    out_ += '}';
    return JsonResult::kDone;
  }

  std::string& out_;
  const JsonStyle& style_;
  size_t most_;
  Value& wrong_;
  int level_ = 0;
};

}  // namespace

JsonResult append_json(std::string& out, const Value& value, const JsonStyle& style, size_t most,
                       Value& wrong) {
  const JsonResult result = Writer(out, style, most, wrong).write(value);
  return result == JsonResult::kDone && out.size() > most ? JsonResult::kTooLong : result;
}

}  // namespace tapml::jinja
