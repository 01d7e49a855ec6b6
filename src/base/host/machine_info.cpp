#include "base/host/machine_info.h"

#include <sys/utsname.h>

#include <fstream>
#include <string_view>
#include <thread>

#include "base/host/cpu_features.h"
#include "base/physical_memory.h"

namespace tapml {

namespace {

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  bool is_x86 = false;
  while (std::getline(file, line)) {
    const size_t colon = line.find(": ");
    is_x86 |= line.starts_with("vendor_id");
    if (line.starts_with("model name") && colon != std::string::npos) {
      const std::string name = line.substr(colon + 2);
      // Emulators of single programs show them the /proc of the host machine.
      return is_x86 && std::string_view(cpu_architecture()) != "x86-64" ? "emulated on " + name
                                                                        : name;
    }
  }
  return "unknown processor";
}

std::string system_name() {
  std::string name;
  std::ifstream file("/etc/os-release");
  std::string line;
  constexpr std::string_view kKey = "PRETTY_NAME=";
  while (std::getline(file, line)) {
    if (!line.starts_with(kKey)) continue;
    name = line.substr(kKey.size());
    if (name.size() >= 2 && name.front() == '"') name = name.substr(1, name.size() - 2);
  }
  utsname kernel{};
  if (uname(&kernel) != 0) return name;
  return (name.empty() ? "" : name + ", ") + kernel.sysname + " " + kernel.release + " " +
         kernel.machine;
}

}  // namespace

MachineInfo machine_info() {
  return {.processor = processor_name(),
          .cores = std::thread::hardware_concurrency(),
          .memory_bytes = physical_memory(),
          .system = system_name()};
}

}  // namespace tapml
