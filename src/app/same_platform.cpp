#include "app/same_platform.h"

#include "base/log.h"

namespace tapml::app {

namespace {

// The options that affect the generated code.
std::map<std::string, std::string> code_options(const target::Target& target) {
  static const std::map<std::string, std::string> kDefaults = {
      {"index", "64"}, {"libs", "auto"}, {"validation", "0"}};
  std::map<std::string, std::string> options = target.options;
  // The processor covers `arch` and `features`.
  for (const char* other :
       {"threads", "device", "arch", "features", "precision", "accumulation", "division"}) {
    options.erase(other);
  }
  std::erase_if(options, [](const auto& option) {
    const auto usual = kDefaults.find(option.first);
    return usual != kDefaults.end() && usual->second == option.second;
  });
  return options;
}

// Whether both name devices on the same endpoint, with different numbers.
bool other_numbers(const target::Target& a, const target::Target& b) {
  if (a.endpoint != b.endpoint) return false;
  const auto first = a.options.find("device"), second = b.options.find("device");
  return first != a.options.end() && second != b.options.end() && first->second != second->second;
}

}  // namespace

bool same_platform(const target::Target& a, const DeviceInfo& a_info, const target::Target& b,
                   const DeviceInfo& b_info) {
  const target::Description &one = a.description, &other = b.description;
  return one.platform == other.platform && code_options(a) == code_options(b) &&
         one.processor.architecture == other.processor.architecture &&
         one.processor.features == other.processor.features && a_info.name == b_info.name &&
         a_info.version == b_info.version && !other_numbers(a, b);
}

void warn_of_same_platform(const std::string& command, const target::Target& source,
                           const DeviceInfo& source_info, const target::Target& target,
                           const DeviceInfo& target_info) {
  if (!same_platform(source, source_info, target, target_info)) return;
  const std::string both =
      source.text == target.text ? source.text : source.text + " and " + target.text;
  log_warning("source and target are the same platform (" + both + " on " + source_info.name +
              "): " + command +
              " compares it with itself, which tests tapml but not another platform; "
              "`tapml devices` lists the available targets");
}

}  // namespace tapml::app
