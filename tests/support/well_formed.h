// Whether markup is well-formed XML: such a page does not rely on a browser's error recovery.
#pragma once

#include <cctype>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tapml::testing {

// The fault and the text at its position; empty if there is none. Supports elements, attributes in
// double quotes, the five named entities and a leading doctype.
inline std::string markup_fault(const std::string& page) {
  auto fault = [&](const std::string& what, size_t at) {
    return what + " at \"" + page.substr(at, 60) + "\"";
  };
  auto is_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '-'; };
  auto entity_fault = [&](size_t& i) {
    for (const char* name : {"&amp;", "&lt;", "&gt;", "&quot;", "&apos;"}) {
      if (page.compare(i, std::string(name).size(), name) != 0) continue;
      i += std::string(name).size();
      return false;
    }
    return true;
  };
  std::vector<std::string> open;
  size_t i = page.starts_with("<!doctype html>") ? 15 : 0;
  bool root = false;
  while (i < page.size()) {
    if (page[i] == '&') {
      if (entity_fault(i)) return fault("no entity", i);
    } else if (page[i] == '>') {
      // XML allows it; style sheets and scripts use it.
      const bool raw = !open.empty() && (open.back() == "style" || open.back() == "script");
      if (!raw) return fault("a bare >", i);
      ++i;
    } else if (page[i] != '<') {
      if (open.empty() && page[i] != '\n') return fault("text outside of the root", i);
      ++i;
    } else if (page.compare(i, 2, "</") == 0) {
      const size_t end = page.find('>', i);
      if (end == std::string::npos) return fault("no end of the tag", i);
      const std::string name = page.substr(i + 2, end - i - 2);
      if (open.empty() || open.back() != name) return fault("closes what is not open", i);
      open.pop_back();
      i = end + 1;
    } else {
      const size_t start = i++;
      size_t end = i;
      while (end < page.size() && is_name(page[end])) ++end;
      if (end == i) return fault("no name of a tag", start);
      const std::string name = page.substr(i, end - i);
      if (open.empty() && std::exchange(root, true)) return fault("a second root", start);
      i = end;
      std::set<std::string> attributes;
      while (i < page.size() && page[i] == ' ') {
        end = page.find('=', i);
        if (end == std::string::npos || page.compare(end, 2, "=\"") != 0) {
          return fault("no attribute", i);
        }
        const std::string key = page.substr(i + 1, end - i - 1);
        for (char c : key) {
          if (!is_name(c) && c != ':') return fault("no name of an attribute", i);
        }
        if (!attributes.insert(key).second) return fault("an attribute twice", i);
        i = end + 2;
        while (i < page.size() && page[i] != '"') {
          if (page[i] == '<') return fault("< in an attribute", i);
          if (page[i] != '&') {
            ++i;
          } else if (entity_fault(i)) {
            return fault("no entity", i);
          }
        }
        ++i;
      }
      if (page.compare(i, 2, "/>") == 0) {
        i += 2;
      } else if (i < page.size() && page[i] == '>') {
        open.push_back(name);
        ++i;
      } else {
        return fault("no end of the tag", start);
      }
    }
  }
  if (!open.empty()) return "not closed: " + open.back();
  return root ? "" : "no element";
}

}  // namespace tapml::testing
