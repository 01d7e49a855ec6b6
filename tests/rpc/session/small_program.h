// An executable of two functions without kernels: main() returns an empty shape, spin() calls
// itself forever.
#pragma once

#include "exec/executable.h"

namespace tapml::test {

inline Executable small_program() {
  Executable program;
  VmFunction main;
  main.name = "main";
  main.registers = 1;
  main.code = {{Opcode::kMakeShape, 0, 0, 0, {}}, {Opcode::kReturn, 0}};
  program.functions.push_back(std::move(main));
  VmFunction spin;
  spin.name = "spin";
  spin.registers = 1;
  spin.code = {{Opcode::kCallFunction, 0, 1, kTailCall, {}, {}}, {Opcode::kReturn, 0}};
  program.functions.push_back(std::move(spin));
  return program;
}

}  // namespace tapml::test
