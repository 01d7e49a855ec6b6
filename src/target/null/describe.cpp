#include "target/features.h"
#include "target/target.h"

namespace tapml::target {

Description describe_null() {
  Description d;
  d.doc = "checks and counts calls, computes nothing";
  d.features.storage_dtypes = all_dtypes();
  d.features.compute_dtypes = all_dtypes();
  return d;
}

}  // namespace tapml::target
