#include "cli/memory.h"

#include <unistd.h>

#include <algorithm>

#include "arith/evaluate.h"
#include "base/host/table.h"
#include "base/units.h"
#include "ir/exceptions.h"

namespace tapml::cli {

namespace {

using Assignments = std::map<std::string, int64_t>;

// Nothing if a variable has no value. UserError if the values do not give a valid number of bytes.
std::optional<int64_t> value_of(const PrimExpr& expr, const Assignments& values) {
  if (!expr) return std::nullopt;
  arith::Values by_variable;
  std::string used;
  for (const Var& var : free_vars(expr)) {
    auto found = values.find(var->name);
    if (found == values.end()) return std::nullopt;
    by_variable[var.get()] = found->second;
    used += (used.empty() ? "" : ", ") + var->name + "=" + std::to_string(found->second);
  }
  const std::optional<int64_t> value = arith::evaluate(expr, by_variable);
  if (!value) {
    throw_user("memory of " + to_string(expr) + " bytes cannot be counted", "--memory and --bound",
               "values for which this is below 2^63", used);
  }
  return value;
}

// "n*768 bytes", "n*768 = 1.50 KiB".
std::string with_value(const PrimExpr& expr, const Assignments& values) {
  const std::optional<int64_t> value = value_of(expr, values);
  if (!value) return to_string(expr) + " bytes";
  return (expr.is_int() ? "" : to_string(expr) + " = ") + size_text(*value);
}

std::string tensor_text(const passes::PlannedTensor& tensor, const Assignments& values) {
  std::string text = tensor.name + " (" + with_value(tensor.bytes, values);
  if (!tensor.offset.is_int(0)) text += " at " + with_value(tensor.offset, values);
  return text + ")";
}

std::string storage_line(const passes::PlannedStorage& storage, const Assignments& values) {
  std::string line = storage.name + "  " + with_value(storage.bytes, values) +
                     (storage.is_static ? "  allocated at load" : "") + ":";
  for (const passes::PlannedTensor& tensor : storage.tensors) {
    line += (&tensor == storage.tensors.data() ? " " : ", ") + tensor_text(tensor, values);
  }
  return line;
}

Json amount(const PrimExpr& expr, const Assignments& values) {
  auto value = value_of(expr, values);
  return value ? Json::integer(*value) : Json::null();
}

}  // namespace

Json print_memory(const passes::MemoryReport& report, const Assignments& values,
                  const Output& output) {
  std::vector<Json> functions;
  auto say = [&](const std::string& line) {
    output.line(wrapped(line, text_width(STDOUT_FILENO), 6));
  };
  say("memory allocated at load: " + size_text(report.constant_bytes) + " of constants, " +
      size_text(report.static_bytes) + " of static storage");
  for (const passes::FunctionMemory& function : report.functions) {
    say(function.name + ": peak " +
        (function.peak ? (function.exact ? "" : "at most ") + with_value(function.peak, values)
                       : "not known: " + function.why) +
        (function.arguments && !function.arguments.is_int(0)
             ? "; arguments " + with_value(function.arguments, values)
             : ""));
    std::vector<Json> storages;
    for (const passes::PlannedStorage& storage : function.storages) {
      say("  " + storage_line(storage, values));
      std::vector<Json> tensors;
      for (const passes::PlannedTensor& tensor : storage.tensors) {
        tensors.push_back(Json::object({{"name", Json::string(tensor.name)},
                                        {"expression", Json::string(to_string(tensor.bytes))},
                                        {"bytes", amount(tensor.bytes, values)},
                                        {"offset", Json::string(to_string(tensor.offset))}}));
      }
      storages.push_back(Json::object({{"name", Json::string(storage.name)},
                                       {"expression", Json::string(to_string(storage.bytes))},
                                       {"bytes", amount(storage.bytes, values)},
                                       {"static", Json::boolean(storage.is_static)},
                                       {"tensors", Json::array(std::move(tensors))}}));
    }
    functions.push_back(Json::object(
        {{"name", Json::string(function.name)},
         {"peak", function.peak ? Json::string(to_string(function.peak)) : Json::null()},
         {"peak_bytes", amount(function.peak, values)},
         {"exact", Json::boolean(function.exact)},
         {"arguments",
          function.arguments ? Json::string(to_string(function.arguments)) : Json::null()},
         {"argument_bytes", amount(function.arguments, values)},
         {"storages", Json::array(std::move(storages))}}));
  }
  return Json::object({{"constant_bytes", Json::integer(report.constant_bytes)},
                       {"static_bytes", Json::integer(report.static_bytes)},
                       {"functions", Json::array(std::move(functions))}});
}

namespace {

const passes::FunctionMemory* find(const passes::MemoryReport& report, const std::string& name) {
  for (const passes::FunctionMemory& function : report.functions) {
    if (function.name == name) return &function;
  }
  return nullptr;
}

// The moment at which the function holds the most for these values; null if it never holds
// anything.
const passes::Moment* worst_moment(const passes::FunctionMemory& function,
                                   const Assignments& values) {
  const passes::Moment* worst = nullptr;
  int64_t most = -1;
  for (const passes::Moment& moment : function.moments) {
    int64_t bytes = value_of(moment.bytes, values).value_or(0);
    if (bytes > most) {
      worst = &moment;
      most = bytes;
    }
  }
  return worst;
}

// Memory in use when the function holds the most: the largest storages first, then its callee's.
// Values are those of the outermost function: a callee's variables share its names only by
// convention.
std::string peak_text(const passes::MemoryReport& report, const passes::FunctionMemory& function,
                      const Assignments& values, const std::string& indent) {
  constexpr size_t kDeepest = 8;
  const passes::Moment* moment = worst_moment(function, values);
  std::vector<const passes::PlannedStorage*> there;
  for (const passes::PlannedStorage& storage : function.storages) {
    if (storage.is_static || (moment && std::find(moment->storages.begin(), moment->storages.end(),
                                                  storage.name) != moment->storages.end())) {
      there.push_back(&storage);
    }
  }
  std::stable_sort(there.begin(), there.end(), [&](const auto* a, const auto* b) {
    return value_of(a->bytes, values).value_or(0) > value_of(b->bytes, values).value_or(0);
  });
  std::string text;
  for (const passes::PlannedStorage* storage : there) {
    text += "\n" + indent + storage_line(*storage, values);
  }
  if (!moment) return text;
  if (!moment->result_bytes.is_int(0)) {
    text += "\n" + indent + "results of calls  " + with_value(moment->result_bytes, values);
  }
  if (moment->callee.empty()) return text;
  text += "\n" + indent + "in @" + moment->callee + "  " + with_value(moment->callee_bytes, values);
  const passes::FunctionMemory* callee = find(report, moment->callee);
  if (callee && indent.size() < 2 * kDeepest) {
    text += peak_text(report, *callee, values, indent + "  ");
  }
  return text;
}

}  // namespace

void check_amounts(const passes::MemoryReport& report, const Assignments& values) {
  for (const passes::FunctionMemory& function : report.functions) {
    value_of(function.peak, values);
    for (const passes::PlannedStorage& storage : function.storages) {
      value_of(storage.bytes, values);
    }
  }
}

std::optional<int64_t> most_needed(const passes::MemoryReport& report, const Assignments& values) {
  int64_t most = 0;
  for (const passes::FunctionMemory& function : report.functions) {
    auto peak = function.peak ? value_of(function.peak, values) : std::nullopt;
    if (!peak) return std::nullopt;
    most = std::max(most, *peak);
  }
  return most;
}

void check_memory_limit(const passes::MemoryReport& report, const Assignments& values,
                        int64_t limit) {
  for (const passes::FunctionMemory& function : report.functions) {
    std::string where = "function " + function.name + ", --memory-limit";
    if (!function.peak) {
      throw_user("the peak of a function is not known: " + function.why, where);
    }
    auto peak = value_of(function.peak, values);
    if (!peak) {
      throw_user("the peak depends on variables without a bound", where,
                 "bounds or values for all of them, as in --bound n=512,b=1",
                 to_string(function.peak) + " bytes");
    }
    if (*peak <= limit) continue;
    std::string text = "a call needs " + std::to_string(*peak) + " bytes, the limit is " +
                       std::to_string(limit) +
                       "; constants: " + std::to_string(report.constant_bytes) +
                       ", static storage: " + std::to_string(report.static_bytes) + "; at its peak";
    throw_platform(PlatformFault::kLimit, text + peak_text(report, function, values, "  "), where);
  }
}

}  // namespace tapml::cli
