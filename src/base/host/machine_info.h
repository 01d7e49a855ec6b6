// A description of the host machine for people.
#pragma once

#include <cstdint>
#include <string>

namespace tapml {

struct MachineInfo {
  std::string processor;     // as the system reports it, or "unknown processor"
  int64_t cores = 0;         // threads that can run at once
  int64_t memory_bytes = 0;  // 0: unknown
  std::string system;        // "Debian GNU/Linux 12 (bookworm), Linux 6.1.0 x86_64"
};

MachineInfo machine_info();

}  // namespace tapml
