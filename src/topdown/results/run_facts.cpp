#include "topdown/results/run_facts.h"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "base/version.h"
#include "topdown/suite/suite_hash.h"

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

RunFacts facts_of(const std::string& model, std::string hash, const char* hashed) {
  return {.date = iso_date(now()),
          .version = kVersion,
          .machine = machine_info(),
          .model = model,
          .hash = std::move(hash),
          .hashed = hashed,
          .import = {}};
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
  return facts_of(model, weights_hash(weights), "weights");
}

RunFacts run_facts(const std::string& name, const Suite& suite) {
  return facts_of(name, suite_hash(suite), "suite");
}

RunFacts run_facts(const std::string& model) { return facts_of(model, "", ""); }

}  // namespace tapml::topdown
