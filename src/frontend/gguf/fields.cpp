#include "frontend/gguf/fields.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/strings.h"
#include "ir/exceptions.h"

namespace tapml::frontend {

double shortest_f32(double value) {
  const auto narrow = static_cast<float>(value);
  if (!std::isfinite(value) || static_cast<double>(narrow) != value) return value;
  std::array<char, 64> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), narrow).ptr;
  double shortest = value;
  std::from_chars(text.data(), end, shortest);
  return shortest;
}

GgufFields::GgufFields(const GgufFile& file, std::string source)
    : file_(&file), source_(std::move(source)) {
  const auto name = text("general.architecture");
  if (!name) {
    refuse("general.architecture", "is missing", "the name of an architecture", "no such key");
  }
  architecture_ = *name;
}

std::string GgufFields::key(std::string_view name) const {
  return name.starts_with('.') ? architecture_ + std::string(name) : std::string(name);
}

void GgufFields::refuse(std::string_view name, const std::string& problem,
                        const std::string& expected, const std::string& found,
                        const std::string& hint) const {
  throw_user(source_ + ": " + in_quotes(key(name)) + " " + problem, source_, expected, found, hint);
}

const GgufValue* GgufFields::find(std::string_view name) const { return file_->find(key(name)); }

bool GgufFields::has(std::string_view name) const { return find(name) != nullptr; }

template <class T>
const T* GgufFields::as(std::string_view name, const char* expected) const {
  const GgufValue* value = find(name);
  if (!value) return nullptr;
  const T* typed = std::get_if<T>(value);
  if (!typed) refuse(name, "has another type", expected, gguf_kind_name(*value));
  return typed;
}

std::optional<bool> GgufFields::boolean(std::string_view name) const {
  const bool* value = as<bool>(name, "a truth value");
  return value ? std::optional(*value) : std::nullopt;
}

std::optional<int64_t> GgufFields::integer(std::string_view name) const {
  const GgufValue* value = find(name);
  const auto* all = value ? std::get_if<std::vector<int64_t>>(value) : nullptr;
  if (all && !all->empty()) {
    if (std::ranges::adjacent_find(*all, std::not_equal_to()) != all->end()) {
      refuse(name, "differs from layer to layer", "the same value for all layers",
             "several values");
    }
    return all->front();
  }
  const auto* single = as<int64_t>(name, "an integer");
  return single ? std::optional(*single) : std::nullopt;
}

int64_t GgufFields::required_integer(std::string_view name) const {
  const auto value = integer(name);
  if (!value) refuse(name, "is missing", "an integer", "no such key");
  return *value;
}

std::optional<double> GgufFields::number(std::string_view name) const {
  const GgufValue* value = find(name);
  if (value && std::holds_alternative<int64_t>(*value)) {
    return static_cast<double>(std::get<int64_t>(*value));
  }
  const auto* real = as<double>(name, "a number");
  return real ? std::optional(shortest_f32(*real)) : std::nullopt;
}

std::optional<std::string> GgufFields::text(std::string_view name) const {
  const auto* value = as<std::string_view>(name, "a text");
  return value ? std::optional(std::string(*value)) : std::nullopt;
}

std::vector<int64_t> GgufFields::integers(std::string_view name) const {
  const auto* values = as<std::vector<int64_t>>(name, "an array of integers");
  return values ? *values : std::vector<int64_t>();
}

std::vector<double> GgufFields::numbers(std::string_view name) const {
  const GgufValue* value = find(name);
  if (value && std::holds_alternative<std::vector<int64_t>>(*value)) {
    const auto& integers = std::get<std::vector<int64_t>>(*value);
    return {integers.begin(), integers.end()};
  }
  const auto* values = as<std::vector<double>>(name, "an array of numbers");
  return values ? *values : std::vector<double>();
}

std::vector<std::string_view> GgufFields::texts(std::string_view name) const {
  const auto* values = as<std::vector<std::string_view>>(name, "an array of texts");
  return values ? *values : std::vector<std::string_view>();
}

std::vector<bool> GgufFields::booleans(std::string_view name) const {
  const auto* values = as<std::vector<bool>>(name, "an array of truth values");
  return values ? *values : std::vector<bool>();
}

const GgufTensor* GgufFields::tensor(std::string_view name) const {
  const auto it = std::ranges::find(file_->tensors, name, &GgufTensor::name);
  return it == file_->tensors.end() ? nullptr : &*it;
}

}  // namespace tapml::frontend
