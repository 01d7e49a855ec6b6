// Devices by name: what a program must keep to that is to run there.
#pragma once

#include <string>
#include <vector>

#include "target/target.h"

namespace tapml::target {

struct KnownDevice {
  std::string name;  // for the target option "for"
  std::string doc;
  int64_t workgroup_threads = 64;  // a good number
  int64_t subgroup_width = 1;
  Limits limits;     // of all but these nothing is known: `threads`
  bool f16 = false;  // arithmetic in f16
  bool f64 = false;
  bool cpu_like_subgroups = false;
};

const std::vector<KnownDevice>& known_devices();

// The platform's description as it is on device `name`. UserError where there is none.
void describe_device(Description& description, const std::string& name, const std::string& where);

}  // namespace tapml::target
