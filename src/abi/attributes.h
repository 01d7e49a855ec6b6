// Attribute maps: the named, typed constants of operators, functions and modules.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "tensor/dtype.h"

namespace tapml {

using AttrValue = std::variant<bool, int64_t, double, std::string, DType, std::vector<int64_t>,
                               std::vector<double>, std::vector<std::string>>;
// Sorted by name, so that printing and hashing are deterministic.
using AttrMap = std::map<std::string, AttrValue>;

template <class T>
const T* find_attr(const AttrMap& attrs, const std::string& name) {
  auto it = attrs.find(name);
  return it == attrs.end() ? nullptr : std::get_if<T>(&it->second);
}

template <class T>
T attr_or(const AttrMap& attrs, const std::string& name, const T& fallback) {
  const T* value = find_attr<T>(attrs, name);
  return value ? *value : fallback;
}

}  // namespace tapml
