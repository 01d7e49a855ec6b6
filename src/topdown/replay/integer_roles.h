// What a kernel's integer inputs mean, by the operators of its specification that read them.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "ir/expr.h"
#include "relax/expr.h"
#include "topdown/suite/suite.h"

namespace tapml::topdown {

enum class IntegerRole : uint8_t {
  kNone,       // no integers, or a parameter that is only written
  kUnknown,    // read by an operator that gives them another meaning, or by several meanings
  kIndices,    // element i indexes dimension `extents[i % size]`
  kPlaces,     // the same, of elements that are written: equal ones may not arise
  kLengths,    // tokens of each text in the cache before the call
  kPageTable,  // pages of each text in order
};

struct IntegerInput {
  IntegerRole role = IntegerRole::kNone;
  // Of each operator that it indexes for, all of equal size.
  std::vector<Dims> extents;
};

// The paged cache that a kernel reads or writes.
struct CacheInputs {
  std::optional<size_t> lengths, page_table;
  std::set<size_t> pools;
  PrimExpr new_tokens;  // of each text
  // False if two operators use different tables, or a pool in a way of its own.
  bool known = true;
};

// Parameters are those of the suite's kernel, by index; expressions are over the symbolic
// variables of the specification.
struct KernelIntegers {
  std::vector<IntegerInput> inputs;
  CacheInputs cache;
  // Specification's parameter of each of the kernel's; null for one that is only written.
  std::vector<relax::Variable> variables;

  bool any() const;
};

KernelIntegers integers_of(const relax::Function& spec, const SuiteKernel& kernel);

}  // namespace tapml::topdown
