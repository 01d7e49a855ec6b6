// Other ways to compile a program, with the same results. A sample of the programs takes one.
#pragma once

#include <optional>
#include <string>

#include "base/rng.h"
#include "fuzz/oracles/compare.h"
#include "fuzz/oracles/problem.h"
#include "fuzz/program.h"
#include "pipeline/instruments.h"
#include "runtime/session.h"
#include "target/target.h"

namespace tapml::fuzz {

// A variant is a text:
//   "static shapes"        all symbolic variables of main's signature are replaced by their values
//   "without PASS"         an optimization is left out
//   "order PASS,PASS,..."  passes by name, in an order that meets their requirements
//   "memory"               the memory that a call allocates is the one that is predicted
inline constexpr const char* kMemoryVariant = "memory";

// A random variant; empty if the drawn kind does not fit the program.
std::string draw_variant(const Program& program, RandomStream& rng);

// What problems of the variant have in common, the beginning of their stage: "static shapes",
// "without fuse_ops", "shuffled", "memory".
std::string variant_kind(const std::string& variant);

// The module with its kernels formed in the way of the variant; empty: as usual. With an order, the
// module after these passes. Throws what passes throw.
Module formed_as(const std::string& variant, const Program& program,
                 const pipeline::Instruments& instruments);

// The platform that computes nothing, on which memory is counted.
target::Target counting_target();
// Where the memory that a call of main allocates differs from what the compiler predicts; empty: it
// does not. `session` is a local one of counting_target().
std::string memory_difference(const Module& formed, const Program& program,
                              std::shared_ptr<runtime::Session> session);

}  // namespace tapml::fuzz
