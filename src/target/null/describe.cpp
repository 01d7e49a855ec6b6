#include "target/features.h"
#include "target/target.h"

namespace tapml::target {

Description describe_null() {
  Description d;
  d.doc = "checks and counts calls, computes nothing";
  d.code = "none";
  d.compiles_to = "nothing";
  d.computes = false;
  d.features.storage_dtypes = all_dtypes();
  d.features.compute_dtypes = all_dtypes();
  return d;
}

}  // namespace tapml::target
