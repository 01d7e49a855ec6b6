// Parses sizes and times in command-line options.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace tapml::cli {

// "n=512,b=1": symbolic variables by name. UserError for anything else.
std::map<std::string, int64_t> parse_assignments(const std::string& text, const char* option);

// "512M", "2GiB", "1000000": bytes; K, M, G and T, in either case, count 1024 each. UserError for
// anything else.
int64_t parse_size(const std::string& text, const char* option);

// "90s", "10m", "6h", "90": seconds. UserError for anything else.
double parse_seconds(const std::string& text, const char* option);

}  // namespace tapml::cli
