#include "topdown/report/html.h"

#include <algorithm>

#include "base/strings.h"

namespace tapml::topdown {

namespace {

// A piece of text that is one character.
std::string character(const std::string& piece) {
  if (piece == "&") return "&amp;";
  if (piece == "<") return "&lt;";
  if (piece == ">") return "&gt;";
  if (piece == "\"") return "&quot;";
  const auto byte = static_cast<unsigned char>(piece[0]);
  // XML 1.0 allows neither most control characters nor U+FFFE and U+FFFF, escaped or not.
  const bool control = byte < 0x20 && byte != '\n' && byte != '\t';
  const bool none = piece.starts_with("\xef\xbf") && static_cast<unsigned char>(piece[2]) >= 0xbe;
  return control || none ? "?" : piece;
}

std::string opening(std::string_view name, const Attributes& attributes) {
  std::string text = "<" + std::string(name);
  for (const auto& [key, value] : attributes) {
    if (!value.empty()) text += " " + std::string(key) + "=\"" + escaped(value) + "\"";
  }
  return text;
}

}  // namespace

std::string escaped(const std::string& text) {
  std::string result;
  for (size_t i = 0; i < text.size();) {
    const size_t length = utf8_sequence_length(text, i);
    result += length == 0 ? "?" : character(text.substr(i, length));
    i += std::max<size_t>(length, 1);
  }
  return result;
}

std::string element(std::string_view name, const Attributes& attributes, const std::string& inner) {
  return opening(name, attributes) + ">" + inner + "</" + std::string(name) + ">";
}

std::string element(std::string_view name, const std::string& inner) {
  return element(name, {}, inner);
}

std::string void_element(std::string_view name, const Attributes& attributes) {
  return opening(name, attributes) + "/>";
}

std::string table_row(const std::vector<std::string>& cells, bool head) {
  std::string row;
  for (size_t i = 0; i < cells.size(); ++i) {
    row += head && i == 0 ? element("th", {{"scope", "row"}}, cells[i]) : element("td", cells[i]);
  }
  return element("tr", row) + "\n";
}

std::string table(const std::vector<std::string>& heads, const std::string& rows,
                  const std::string& css_class) {
  std::string head;
  for (const std::string& name : heads) head += element("th", {{"scope", "col"}}, name);
  return element("div", {{"class", "scroll"}},
                 element("table", {{"class", css_class}},
                         (heads.empty() ? "" : element("thead", element("tr", head))) +
                             element("tbody", rows)));
}

}  // namespace tapml::topdown
