// The program that the sessions of the soak test run.
#pragma once

#include "conformance/programs.h"

namespace tapml::soak {

inline constexpr const char* kStatus = "{\"soak\": true}";

// main(x, y) of chain_program, and spin(), which calls itself forever.
inline std::shared_ptr<const Executable> soak_program() {
  Executable program = test::chain_program(test::native_blob());
  VmFunction spin;
  spin.name = "spin";
  spin.registers = 1;
  spin.code = {{Opcode::kCallFunction, 0, 1, kTailCall, {}, {}}, {Opcode::kReturn, 0}};
  program.functions.push_back(std::move(spin));
  return std::make_shared<const Executable>(std::move(program));
}

}  // namespace tapml::soak
