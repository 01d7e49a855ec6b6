#include "topdown/report/run_facts.h"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "base/units.h"
#include "base/version.h"
#include "topdown/migrate/migration_state.h"
#include "topdown/report/html.h"
#include "topdown/report/page_content.h"

namespace tapml::topdown {

namespace {

int64_t now() {
  if (const char* fixed = std::getenv("SOURCE_DATE_EPOCH")) {
    int64_t seconds = 0;
    const char* end = fixed + std::strlen(fixed);
    const auto read = std::from_chars(fixed, end, seconds);
    if (read.ec == std::errc() && read.ptr == end) return seconds;
  }
  return std::time(nullptr);
}

std::string machine_text(const MachineInfo& machine) {
  std::string text = machine.processor;
  if (machine.cores > 0) {
    text += ", " + std::to_string(machine.cores) + (machine.cores == 1 ? " core" : " cores");
  }
  if (machine.memory_bytes > 0) text += ", " + size_text(machine.memory_bytes);
  return machine.system.empty() ? text : text + ", " + machine.system;
}

RunFacts facts_here(const std::string& model, std::string hash, const char* hashed) {
  return {.date = iso_date(now()),
          .version = kVersion,
          .machine = machine_info(),
          .model = model,
          .hash = std::move(hash),
          .hashed = hashed};
}

}  // namespace

std::string iso_date(int64_t seconds) {
  const std::time_t time = seconds;
  std::tm parts{};
  gmtime_r(&time, &parts);
  char text[64];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

RunFacts run_facts(const std::string& model, const std::map<std::string, HostTensor>& weights) {
  return facts_here(model, weights_hash(weights), "weights");
}

RunFacts run_facts(const std::string& name, const Suite& suite) {
  return facts_here(name, suite_hash(suite), "suite");
}

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
  for (const PageDevice& device : devices) {
    fact(device.role, device.target + (device.info.name.empty() ? "" : ": " + device.info.name) +
                          (device.info.version.empty() ? "" : ", " + device.info.version));
  }
  return element("dl", {{"class", "run"}}, rows) + element("pre", escaped(command));
}

Json run_json(const RunFacts& facts, const std::string& command) {
  return Json::object(
      {{"date", Json::string(facts.date)},
       {"tapml", Json::string(facts.version)},
       {"machine", Json::object({{"processor", Json::string(facts.machine.processor)},
                                 {"cores", Json::integer(facts.machine.cores)},
                                 {"memory_bytes", Json::integer(facts.machine.memory_bytes)},
                                 {"system", Json::string(facts.machine.system)}})},
       {"model", Json::string(facts.model)},
       {"hash", Json::string(facts.hash)},
       {"hashed", Json::string(facts.hashed)},
       {"command", Json::string(command)}});
}

}  // namespace tapml::topdown
