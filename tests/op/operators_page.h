// docs/operators.md as generated from the table.
#pragma once

#include <sstream>
#include <string>

#include "op/operator.h"

namespace tapml::op {

// Lines of at most 100 columns; continuation lines start with `indent`.
inline std::string wrapped(const std::string& text, const std::string& indent = "") {
  std::string result, word;
  std::istringstream words(text);
  size_t column = 0;
  while (words >> word) {
    if (column > 0 && column + 1 + word.size() > 100) {
      result += "\n" + indent;
      column = indent.size();
    } else if (column > 0) {
      result += " ";
      ++column;
    }
    result += word;
    column += word.size();
  }
  return result + "\n";
}

inline std::string attribute_default(const AttributeSpec& spec) {
  if (spec.required) return "required";
  std::ostringstream text;
  text << "default ";
  if (const auto* flag = std::get_if<bool>(&spec.fallback)) {
    if (spec.kind != AttributeKind::kBool) return "optional";
    text << (*flag ? "true" : "false");
  } else if (const auto* integer = std::get_if<int64_t>(&spec.fallback)) {
    text << *integer;
  } else if (const auto* number = std::get_if<double>(&spec.fallback)) {
    text << *number;
  } else if (const auto* name = std::get_if<std::string>(&spec.fallback)) {
    text << '"' << *name << '"';
  } else if (const auto* dtype = std::get_if<DType>(&spec.fallback)) {
    text << dtype_name(*dtype);
  } else if (const auto* ints = std::get_if<std::vector<int64_t>>(&spec.fallback)) {
    text << shape_to_string(*ints);
  } else {
    return "optional";
  }
  return text.str();
}

inline std::string operators_page() {
  constexpr const char* kArguments[] = {"tensor", "shape", "host integer", "tuple of tensors"};
  constexpr const char* kAttributes[] = {"bool",  "integer",  "number", "string",
                                         "dtype", "integers", "numbers"};
  std::string page =
      "# Operators\n\n" +
      wrapped(
          "The operators of the graph level, in the order of the table in src/op/. Each entry of "
          "the table holds deduction of the result's annotation, legalization to a tensor program, "
          "a reference in f64 with an error bound (docs/verdicts.md) and what a generator of "
          "random programs must know; this page says what they compute. It is printed from the "
          "table: a test holds it to that, and rewrites it where TAPML_UPDATE_DOCS=1 is set.") +
      "\n" +
      wrapped(
          "Common rules: shapes are symbolic; float arithmetic narrower than f32 is done in f32 "
          "and rounded once at the end; operands of two different float dtypes give f32 (f64 where "
          "one is f64); functions of real numbers take integers and bool as f32; integers wrap in "
          "their dtype's width; axes may be negative, counted from the end; index-valued results "
          "are i32. Unless an entry says otherwise an operator returns one tensor with storage of "
          "its own. What corner cases mean (NaN, division by zero, casts out of range) is the same "
          "on every platform.");
  for (const OperatorInfo* info : operator_table()) {
    page += "\n## " + std::string(info->name) + "\n\n" + wrapped(info->doc) + "\n";
    for (const ArgumentSpec& arg : info->args) {
      page += wrapped("- " + std::string(kArguments[static_cast<size_t>(arg.kind)]) + " `" +
                          arg.name + "`: " + arg.doc,
                      "  ");
    }
    for (const AttributeSpec& attr : info->attrs) {
      page += wrapped("- attribute `" + std::string(attr.name) + "` (" +
                          kAttributes[static_cast<size_t>(attr.kind)] + ", " +
                          attribute_default(attr) + "): " + attr.doc,
                      "  ");
    }
    for (int64_t source : info->inout) {
      if (source < 0) continue;
      page += wrapped("- the result takes over the storage of `" +
                          std::string(info->args[static_cast<size_t>(source)].name) + "`",
                      "  ");
    }
  }
  return page;
}

}  // namespace tapml::op
