// The group in which --help shows an option, and the name of its value.
#pragma once

#include <array>
#include <string_view>

namespace tapml::cli {

// The headings of --help, in order. Positional arguments come before them.
inline constexpr std::array kOptionGroups = {"Input",  "Sampling", "Programs",
                                             "Target", "Server",   "Compilation",
                                             "Output", "Limits",   "Advanced"};

struct OptionRow {
  std::string_view name;   // "--target"; "rpc serve --memory" if it differs for a command
  std::string_view group;  // one of kOptionGroups
  std::string_view value;  // "TARGET"; empty: a flag, or a choice that lists its values
};

// The row of option `name` of `command` ("rpc serve"); null if the table has none.
const OptionRow* find_option_row(std::string_view command, std::string_view name);

}  // namespace tapml::cli
