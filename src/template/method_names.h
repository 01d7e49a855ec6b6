// The methods that values have.
#pragma once

#include <string_view>

#include "template/value.h"

namespace tapml::jinja {

// The view_name() of what groupby gives: a pair with the members `grouper` and `list`.
inline constexpr const char* kGroupName = "group";

bool has_method(const Value& value, std::string_view name);
// A method of Python that changes the value.
bool is_changing_method(const Value& value, std::string_view name);

}  // namespace tapml::jinja
