// Names that memory planning and what comes after it share.
#pragma once

namespace tapml::relax {

// Attribute of memory.alloc_storage: index of a storage that is there from load on.
inline constexpr const char* kStaticAttr = "static";
// Attribute of a planned call: number of the function's parameter that has what was prepared of its
// weights.
inline constexpr const char* kPreparedAttr = "prepared";

}  // namespace tapml::relax
