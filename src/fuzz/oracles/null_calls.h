// Checks on the platform that computes nothing.
#pragma once

#include <memory>
#include <string>

#include "fuzz/program.h"
#include "runtime/session.h"
#include "target/target.h"

namespace tapml::fuzz {

target::Target null_target();

// Where the memory that a call of main allocates differs from what the compiler predicts; empty: it
// does not. `session` is a local one of null_target().
std::string memory_difference(const Module& formed, const Program& program,
                              std::shared_ptr<runtime::Session> session);

// What is wrong with the answer to a call whose variable `name` is above its bound by one; empty:
// it is refused, as it must be, or the signature has no such variable.
std::string bound_difference(const Module& formed, const Program& program, const std::string& name,
                             runtime::Session& session);

}  // namespace tapml::fuzz
