// What the compiler knows of functions and modules beside their code. Passes set and read typed
// fields; the text form has them among the attributes of the function or module.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "abi/attributes.h"

namespace tapml {

// The most that symbolic variables can be, by name: attributes "bound.NAME".
using SymbolBounds = std::map<std::string, int64_t>;

// A field's attribute has the field's name, where nothing else is said.
struct FunctionFacts {
  // Of a kernel's specification, a graph-level function (contract 2).
  bool kernel = false;
  std::string implementation;  // its tensor program
  // Output j takes over the storage of tensor inout_indices[j] where that is not negative.
  std::vector<int64_t> inout_indices;

  // Of a kernel's implementation, a tensor program.
  std::string spec;  // its specification
  std::string pattern_kind;
  bool written = false;  // with loops that a person wrote: bounds of accesses need a proof
  int64_t workgroup_threads = 0;

  // Of both: parameters that hold weights at every call, so that what is made of them alone can be
  // made once.
  std::optional<std::vector<int64_t>> weights;
  // Of an implementation: the library routine that replaces it. Of a pattern: the routine that
  // computes what matches, with its integers.
  std::string library;
  std::vector<int64_t> parameters;

  // Of other graph-level functions.
  bool pattern = false;
  bool fused = false;       // a group that becomes one kernel
  bool is_private = false;  // "private": only the module calls it
  bool is_inline = false;   // "inline"
  bool optional = false;    // omitted where the target lacks a dtype
  SymbolBounds bounds;
};

struct ModuleFacts {
  std::string phase;          // the last phase that is done; empty: none
  std::string fusion_policy;  // by which the kernels were formed
  SymbolBounds bounds;
  // Parameters that hold weights, "model.weights", and those that hold what the function `prepare`
  // returns, "model.prepared".
  std::vector<std::string> weights, prepared;
};

// Calls f(attribute, field) for every field but the bounds.
template <class Facts, class F>
  requires std::is_same_v<std::remove_const_t<Facts>, FunctionFacts>
void each_fact(Facts& facts, F&& f) {
  f("kernel", facts.kernel);
  f("implementation", facts.implementation);
  f("inout_indices", facts.inout_indices);
  f("spec", facts.spec);
  f("pattern_kind", facts.pattern_kind);
  f("written", facts.written);
  f("workgroup_threads", facts.workgroup_threads);
  f("weights", facts.weights);
  f("library", facts.library);
  f("parameters", facts.parameters);
  f("pattern", facts.pattern);
  f("fused", facts.fused);
  f("private", facts.is_private);
  f("inline", facts.is_inline);
  f("optional", facts.optional);
}
template <class Facts, class F>
  requires std::is_same_v<std::remove_const_t<Facts>, ModuleFacts>
void each_fact(Facts& facts, F&& f) {
  f("phase", facts.phase);
  f("fusion_policy", facts.fusion_policy);
  f("model.weights", facts.weights);
  f("model.prepared", facts.prepared);
}

// Takes the facts out of `attrs` into the fields. An attribute of another type stays where it is:
// check_input() refuses it.
void take_facts(AttrMap& attrs, FunctionFacts& facts);
void take_facts(AttrMap& attrs, ModuleFacts& facts);

// `attrs` with the facts: what the text, equality and hashes have. Fields that are not set are
// absent.
AttrMap with_facts(const AttrMap& attrs, const FunctionFacts& facts);
AttrMap with_facts(const AttrMap& attrs, const ModuleFacts& facts);

// The type that a fact's attribute must have, for messages; empty where `name` names no fact.
std::string expected_fact(const std::string& name, bool of_module);

}  // namespace tapml
