// Devices by name: the limits of programs that run on them.
#pragma once

#include <string>
#include <vector>

#include "target/target.h"

namespace tapml::target {

struct KnownDevice {
  std::string name;  // for the target option "for"
  std::string doc;
  int64_t workgroup_threads = 64;  // a good choice
  int64_t subgroup_width = 1;
  Limits limits;     // unknown, except for these: `threads`
  bool f16 = false;  // Features::compute_dtypes has it
  bool f64 = false;
  bool cpu_like_subgroups = false;
};

const std::vector<KnownDevice>& known_devices();

// Describes the platform on the device `name`. UserError for an unknown name.
void describe_device(Description& description, const std::string& name, const std::string& where);

}  // namespace tapml::target
