// How messages say what an integer was expected to be.
#pragma once

#include <cstdint>
#include <string>

namespace tapml {

// "n + 1 = 4" for the expression "n + 1" of value 4; "4" and "1 or 4" say it already.
inline std::string expected_text(const std::string& expression, int64_t value) {
  std::string number = std::to_string(value);
  if (expression.empty() || expression == number) return number;
  return expression.ends_with(" or " + number) ? expression : expression + " = " + number;
}

}  // namespace tapml
