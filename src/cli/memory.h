// tapml compile --memory, --memory-limit and --bound: the memory that a module needs.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "cli/command.h"
#include "cli/sizes.h"
#include "io/json.h"
#include "passes/memory/report.h"

namespace tapml::cli {

// Prints, for every function, its peak over its symbolic variables and its storages, and in bytes
// if `values` has all of its variables.
Json print_memory(const passes::MemoryReport& report, const std::map<std::string, int64_t>& values,
                  const Output& output);

// UserError if values are so large that byte counts overflow.
void check_amounts(const passes::MemoryReport& report,
                   const std::map<std::string, int64_t>& values);

// Bytes that the most demanding function needs; nothing if a peak is unknown for these values.
std::optional<int64_t> most_needed(const passes::MemoryReport& report,
                                   const std::map<std::string, int64_t>& values);

// PlatformError (kLimit) with the peak by tensor if a function needs more than `limit` bytes;
// UserError if that is unknown: a variable has neither a bound nor a value, or a function is
// recursive.
void check_memory_limit(const passes::MemoryReport& report,
                        const std::map<std::string, int64_t>& values, int64_t limit);

}  // namespace tapml::cli
