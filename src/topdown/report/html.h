// Elements of pages. The markup is well-formed, also as XML, whatever the texts contain.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tapml::topdown {

// Text for use between tags or in a quoted attribute. Control characters and invalid UTF-8, which
// neither HTML nor XML allows, become "?".
std::string escaped(const std::string& text);

// Values are escaped here; an attribute with an empty value is omitted.
using Attributes = std::vector<std::pair<std::string_view, std::string>>;
// `inner` is markup. For void elements, use void_element().
std::string element(std::string_view name, const Attributes& attributes, const std::string& inner);
std::string element(std::string_view name, const std::string& inner);
// <meta>, <br>.
std::string void_element(std::string_view name, const Attributes& attributes = {});

// A row of cells, which are markup. `head`: the first cell is a heading.
std::string table_row(const std::vector<std::string>& cells, bool head = false);
// A table that scrolls in a box of its own if it is too wide. `rows` are markup.
std::string table(const std::vector<std::string>& heads, const std::string& rows,
                  const std::string& css_class = "");

}  // namespace tapml::topdown
