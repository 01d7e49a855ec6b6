// Where --help shows an option, and what it calls the option's value.
#pragma once

#include <array>
#include <string_view>

namespace tapml::cli {

// The headings of --help, in order. Arguments without a dash stand before them.
inline constexpr std::array kOptionGroups = {"Input",  "Sampling", "Target",  "Compilation",
                                             "Output", "Limits",   "Advanced"};

struct OptionRow {
  std::string_view name;   // "--target"; "rpc serve --memory" where a command means another thing
  std::string_view group;  // of kOptionGroups
  std::string_view value;  // "TARGET"; empty: a flag, or a choice that the option itself lists
};

// The row of option `name` of `command` ("rpc serve"); null where the table has none.
const OptionRow* find_option_row(std::string_view command, std::string_view name);

}  // namespace tapml::cli
