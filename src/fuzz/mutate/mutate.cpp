#include "fuzz/mutate/mutate.h"

#include "text/parser.h"
#include "text/printer.h"

namespace tapml::fuzz {

namespace {

constexpr Mutation kMutations[] = {
    {"closure", "a function becomes the local closure of a new one, which returns a call of it",
     make_closure},
    {"returned", "a function without parameters returns the function, and calls call its result",
     return_function},
    {"wrapper", "a new function returns the call of the function", wrap_call},
    {"outline", "a part of a block becomes a function", outline_part},
    {"identity", "an operator that changes nothing is applied to a value", add_identity},
    {"dead", "a value that nobody reads is computed", add_dead_code},
    {"split", "a dataflow block becomes two", split_block},
    {"if", "the rest of a function moves into a branch that is always taken", wrap_in_if},
};

// Printed and parsed: every function and branch then has variables of its own.
Module renamed(const Module& module) {
  text::SideTensors side;
  const std::string text = text::print(module, &side);
  return text::parse(text, "mutant", {.side = &side});
}

}  // namespace

std::span<const Mutation> mutations() { return kMutations; }

std::optional<Mutant> mutate(const Module& module, int depth, RandomStream& rng) {
  Mutant mutant{module, ""};
  for (int done = 0, attempt = 0; done < depth && attempt < 4 * depth; ++attempt) {
    const Mutation& mutation = kMutations[rng.below(std::size(kMutations))];
    std::optional<Module> next = mutation.rule(mutant.module, rng);
    if (!next) continue;
    mutant.module = renamed(*next);
    mutant.text += (mutant.text.empty() ? "" : ", ") + std::string(mutation.name);
    ++done;
  }
  if (mutant.text.empty()) return std::nullopt;
  return mutant;
}

}  // namespace tapml::fuzz
