// tapml compile --memory, --memory-limit and --bound: what a module needs in memory.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "cli/command.h"
#include "io/json.h"
#include "passes/memory/report.h"

namespace tapml::cli {

// "n=512,b=1": symbolic variables by name. UserError for anything else.
std::map<std::string, int64_t> parse_assignments(const std::string& text, const char* option);

// "512M", "2GiB", "1000000": bytes; K, M, G and T count 1024 each. UserError for anything else.
int64_t parse_size(const std::string& text, const char* option);

// Prints, for every function, its peak over its symbolic variables and its storages, and in bytes
// where `values` has all of its variables.
Json print_memory(const passes::MemoryReport& report, const std::map<std::string, int64_t>& values,
                  const Output& output);

// PlatformError (kLimit) with the peak by tensor where a function needs more than `limit` bytes;
// UserError where that is not known: a variable has neither a bound nor a value, or a function
// calls itself.
void check_memory_limit(const passes::MemoryReport& report,
                        const std::map<std::string, int64_t>& values, int64_t limit);

}  // namespace tapml::cli
