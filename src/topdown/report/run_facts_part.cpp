#include "topdown/report/run_facts_part.h"

#include "base/units.h"
#include "topdown/report/html.h"

namespace tapml::topdown {

namespace {

std::string machine_text(const MachineInfo& machine) {
  std::string text = machine.processor;
  if (machine.cores > 0) {
    text += ", " + std::to_string(machine.cores) + (machine.cores == 1 ? " core" : " cores");
  }
  if (machine.memory_bytes > 0) text += ", " + size_text(machine.memory_bytes);
  return machine.system.empty() ? text : text + ", " + machine.system;
}

}  // namespace

std::string run_facts_part(const RunFacts& facts, const std::vector<PageDevice>& devices,
                           const std::string& command) {
  std::string rows;
  auto fact = [&](const std::string& name, const std::string& text) {
    if (!text.empty()) rows += element("dt", escaped(name)) + element("dd", escaped(text));
  };
  fact("made", facts.date.empty() ? "" : facts.date + " by tapml " + facts.version);
  fact("machine", facts.date.empty() ? "" : machine_text(facts.machine));
  fact("model", facts.model);
  fact("hash", facts.hash.empty() ? "" : facts.hash + " (" + facts.hashed + ", SHA-256)");
  if (facts.hashed == "weights") fact("import", import_text(facts.import));
  for (const PageDevice& device : devices) {
    fact(device.role, device.target + (device.info.name.empty() ? "" : ": " + device.info.name) +
                          (device.info.version.empty() ? "" : ", " + device.info.version));
  }
  return element("dl", {{"class", "run"}}, rows) + element("pre", escaped(command));
}

}  // namespace tapml::topdown
