// The primitives applied to a program, as text that can be parsed and replayed.
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
  std::vector<std::string> operands;                           // names defined by earlier lines
  std::vector<TraceValue> values;                              // positional, after the operands
  std::vector<std::pair<std::string, TraceValue>> attributes;  // name=value
  int64_t line = 0;  // line in the parsed text; 0 if recorded

  bool operator==(const Instruction& other) const;  // ignores lines
};

struct Trace {
  std::vector<Instruction> instructions;

  std::string print() const;
  // Throws a UserError with file:line:column if the text is not a trace.
  static Trace parse(std::string_view text, const std::string& file_name = "trace");
  bool operator==(const Trace&) const = default;
};

// Applies the trace to a program: the one it was recorded on, or another with the same block names.
// A primitive that refuses throws a UserError with the instruction's text and line.
class Schedule;
Schedule replay(const Trace& trace, tir::PrimFuncRef func);

}  // namespace tapml::schedule
