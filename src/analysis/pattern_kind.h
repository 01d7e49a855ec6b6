// Classifies what a tensor program computes, from its loops alone (Relax paper, sections 3.4 and
// 4.2: analysis feedback); this determines what fusion may put before and after it. Hand-written
// programs are classified like generated ones.
#pragma once

#include <cstdint>

#include "tir/prim_func.h"

namespace tapml::analysis {

// From most to least freely fusable; a program is as free as its least free part.
enum class PatternKind : uint8_t {
  kElementWise,      // every input is read at the output's own index
  kBroadcast,        // ... or along some of the output's dimensions
  kInjective,        // every output element is a function of single elements of the inputs
  kCommReduce,       // a reduction over elements that no other output element reads: sum, max
  kOutEWiseFusable,  // a multiply-accumulate that reuses its inputs: matmul, convolution
  kOpaque,           // anything else
};

const char* pattern_kind_name(PatternKind kind);  // "ElementWise", ...

// The kind of a program with one output, from its stores in order, each at plain iterators:
// - all without reduction: the least free of them;
// - one reduction, stores without reduction before it, and after it stores that read its result at
//   their own index: the reduction's kind;
// - more reductions (softmax), reads of a reduction's result at other indices (a normalization),
//   in-place updates, conditional stores, more outputs: kOpaque.
PatternKind pattern_kind(const tir::PrimFunc& func);

}  // namespace tapml::analysis
