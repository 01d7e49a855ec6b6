// Arguments of a graph-level function as people write them (docs/cli.md, exec).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "app/host_value.h"
#include "relax/expr.h"

namespace tapml::app {

// The arguments of a call.
class ArgumentReader {
 public:
  // `sizes`: values of symbolic variables, for arguments whose shape follows from an annotation.
  // UserError for a name that no parameter's annotation has.
  ArgumentReader(const relax::Function& function, std::string name,
                 std::map<std::string, int64_t> sizes);

  // One value per parameter, in order. Each text is "NAME=VALUE", or a VALUE for the first
  // parameter that has none yet. UserError that names the argument, the annotation and the value
  // found.
  std::vector<HostValue> read(const std::vector<std::string>& texts) const;

 private:
  const relax::Function& function_;
  std::string name_;
  std::map<std::string, int64_t> sizes_;
};

}  // namespace tapml::app
