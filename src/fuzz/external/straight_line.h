// Programs that other compilers can take: a straight line of operator calls, as a document.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "fuzz/program.h"
#include "io/json.h"

namespace tapml::fuzz {

// A program whose `main` is a straight line of operator calls on tensors of known extents.
struct StraightLine {
  Program program;
  // {"inputs": [{"name", TENSOR}], "steps": [STEP], "outputs": [name]}
  //   STEP: {"name", "op", "args": [ARG], "attrs": {...}, "results": [{"dtype", "shape"}], TENSOR},
  //         or field k of an earlier step's results: {"name", "of", "field": k, TENSOR}
  //   ARG: {"name"}, {"ints": [...]}, {"fields": [ARG]}, or a constant {"tensor": {TENSOR}}
  //   TENSOR: "dtype", "shape" and "hex", little endian. That of a step is the reference's value;
  //           a step of several results has none.
  Json document;
  std::vector<op::RefTensor> expected;  // of the outputs
};

// Evaluates the program and lists its calls, with all symbolic variables replaced by their values.
// `cut` has names of steps: their results become parameters, which have the reference's values.
// Results that are no computed tensors are dropped. UserError for a program that is no straight
// line, and one that has no results left.
StraightLine straight_line(const Program& program, const std::set<std::string>& cut = {});

// A tensor as "dtype", "shape" and "hex".
Json tensor_json(const HostTensor& tensor);
// UserError for a document that is no such tensor.
HostTensor tensor_from_json(const Json& json);

}  // namespace tapml::fuzz
