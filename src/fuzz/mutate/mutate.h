// Rewrites that keep what a program computes: the compiler must give the same results for both.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "base/rng.h"
#include "ir/module.h"

namespace tapml::fuzz {

// Returns the rewritten module; nothing if the draw finds no place for it.
using MutateRule = std::optional<Module> (*)(const Module& module, RandomStream& rng);

struct Mutation {
  const char* name;
  const char* doc;
  MutateRule rule;
};
// All mutations: functions (mutate/functions.cpp, HirGen's three first), values
// (mutate/values.cpp).
std::span<const Mutation> mutations();

struct Mutant {
  Module module;
  std::string text;  // the mutations in order: "wrapper, identity"
};
// Applies `depth` mutations, or fewer if the draws find no place.
std::optional<Mutant> mutate(const Module& module, int depth, RandomStream& rng);

// The rules.
std::optional<Module> make_closure(const Module& module, RandomStream& rng);
std::optional<Module> return_function(const Module& module, RandomStream& rng);
std::optional<Module> wrap_call(const Module& module, RandomStream& rng);
std::optional<Module> outline_part(const Module& module, RandomStream& rng);
std::optional<Module> add_identity(const Module& module, RandomStream& rng);
std::optional<Module> add_dead_code(const Module& module, RandomStream& rng);
std::optional<Module> split_block(const Module& module, RandomStream& rng);
std::optional<Module> wrap_in_if(const Module& module, RandomStream& rng);

}  // namespace tapml::fuzz
