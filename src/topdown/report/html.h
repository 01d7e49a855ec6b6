// Elements of pages. What is made of them is well-formed, as XML too, whatever the texts are.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tapml::topdown {

// Text between tags or in an attribute's quotes. Control characters and bytes that are no UTF-8,
// which neither HTML nor XML has, become "?".
std::string escaped(const std::string& text);

// Values are escaped here; an attribute with an empty value is left out.
using Attributes = std::vector<std::pair<std::string_view, std::string>>;
// `inner` is markup. Elements without content are for void ones: see void_element().
std::string element(std::string_view name, const Attributes& attributes, const std::string& inner);
std::string element(std::string_view name, const std::string& inner);
// <meta>, <br>.
std::string void_element(std::string_view name, const Attributes& attributes = {});

// A row of cells, which are markup. `head`: the first cell heads the row.
std::string table_row(const std::vector<std::string>& cells, bool head = false);
// A table that scrolls in its own box where it is too wide. `rows` are markup.
std::string table(const std::vector<std::string>& heads, const std::string& rows,
                  const std::string& css_class = "");

}  // namespace tapml::topdown
