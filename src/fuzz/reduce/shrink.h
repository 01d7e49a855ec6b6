// Smaller variants of programs, which may be invalid. Private to reduce/.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "fuzz/program.h"

namespace tapml::fuzz {

// Without bindings, parameters and functions that nothing reads.
Program without_unused(const Program& program);

// Main returns field `index` of its result alone; none if it has no such field, or only one.
std::optional<Program> with_output(const Program& program, size_t index);
size_t output_count(const Program& program);

// Bindings of main's blocks, by number.
size_t binding_count(const Program& program);
// Binding `index` becomes a parameter with the value that it has on the reference evaluator; none
// if that is no tensor.
std::optional<Program> with_parameter(const Program& program, size_t index);

// Bindings of all functions, in branches and lambdas too, by number.
size_t all_binding_count(const Program& program);
// Without parameter `index` of main; it may be read.
Program without_parameter(const Program& program, size_t index);
// Without the bindings in [begin, end) that nothing reads; none if all are read.
std::optional<Program> without_unused_bindings(const Program& program, size_t begin, size_t end);
// The values of bindings in [begin, end) become literals of the same annotation, where there are
// some; none if nothing changes.
std::optional<Program> with_literals(const Program& program, size_t begin, size_t end);
// The variable of the binding is replaced by operand number `operand` of its call.
std::optional<Program> with_operand(const Program& program, size_t index, size_t operand);
// An if becomes one of its branches.
std::optional<Program> with_branch(const Program& program, size_t index, bool then);
// Calls of functions of the module become their bodies, as far as the pass inline_functions can.
std::optional<Program> with_inlined(const Program& program);

// The extents of main's parameters that are at least 2.
std::vector<int64_t> extents(const Program& program);
// Every dimension with this extent has another one; arguments keep their leading parts.
std::optional<Program> with_extent(const Program& program, int64_t extent, int64_t instead);
// All elements of argument `index` become `value`.
std::optional<Program> with_elements(const Program& program, size_t index, double value);

}  // namespace tapml::fuzz
