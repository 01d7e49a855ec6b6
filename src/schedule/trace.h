// What was done to a program, as text that is read back and done again.
//
//   %sum = block("sum")
//   %i, %r = loops(%sum)
//   %r_0, %r_1 = split(%r, factors=[?, 8])
//   reorder(%r_1, %i)
//   parallel(%i)
//
// One instruction a line; `#` starts a comment. docs/schedules.md lists the instructions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tir/prim_func.h"

namespace tapml::schedule {

using Factors = std::vector<std::optional<int64_t>>;  // absent: "?"
using TraceValue = std::variant<int64_t, std::string, Factors>;

struct Instruction {
  std::vector<std::string> results;  // names of blocks and loops, without the %
  std::string op;
  std::vector<std::string> operands;                           // names that earlier lines define
  std::vector<TraceValue> values;                              // positional, behind the operands
  std::vector<std::pair<std::string, TraceValue>> attributes;  // name=value
  int64_t line = 0;  // of the text that it was read from; 0 where it was recorded

  bool operator==(const Instruction& other) const;  // lines aside
};

struct Trace {
  std::vector<Instruction> instructions;

  std::string print() const;
  // UserError with file:line:column for text that is none.
  static Trace parse(std::string_view text, const std::string& file_name = "trace");
  bool operator==(const Trace&) const = default;
};

// Does the trace to a program: the one it was recorded on, or another with blocks of those names.
// UserError of the primitive that refuses, with the instruction's text and line.
class Schedule;
Schedule replay(const Trace& trace, tir::PrimFuncRef func);

}  // namespace tapml::schedule
