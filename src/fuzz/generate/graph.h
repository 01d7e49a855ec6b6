// Random computational graphs over the operator table, guided by coverage (HirGen, Algorithm 1).
#pragma once

#include <cstdint>
#include <vector>

#include "fuzz/generate/coverage.h"
#include "fuzz/generate/policy.h"
#include "ir/module.h"
#include "op/generate.h"

namespace tapml::fuzz {

struct GraphOptions {
  int operators = 10;
  Policy policy = Policy::kPublished;
};

struct Graph {
  Module module;                            // one function, "main", with one dataflow block
  std::vector<op::GeneratedTensor> inputs;  // of main's parameters
  Coverage added;                           // what the snapshot did not have
  int operators = 0;
  int refused = 0;  // candidates that added nothing, or lost by the policy's odds
};

// A graph that the compiler must accept: a pure function of its arguments, the same on every
// machine. Each operator's first argument is an earlier value, the others are earlier values, fresh
// parameters or small constants. Sizes lie around those of vectors and tiles, and equal ones of at
// least 2 are one symbolic variable in half of the graphs. Unused values are the outputs.
Graph generate_graph(uint64_t seed, const Coverage& snapshot, const GraphOptions& options);

// Elements for the inputs: a function of the seed.
std::vector<HostTensor> draw_inputs(const std::vector<op::GeneratedTensor>& inputs, uint64_t seed);

}  // namespace tapml::fuzz
