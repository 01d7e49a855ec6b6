// Texts of tensor programs, whose sizes of local buffers must be constants.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace tapml::models {

// The text with numbers in the place of the words that stand for them ("HEADS"), in this order: a
// word that is part of another one comes after it.
std::string with_numbers(std::string text,
                         std::span<const std::pair<std::string_view, int64_t>> numbers);

}  // namespace tapml::models
