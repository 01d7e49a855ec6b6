// Names that memory planning and later passes share.
#pragma once

namespace tapml::relax {

// Attribute of memory.alloc_storage: index of a storage that exists from load time on.
inline constexpr const char* kStaticAttr = "static";
// Attribute of a planned call: index of the function's parameter that holds data prepared from its
// weights.
inline constexpr const char* kPreparedAttr = "prepared";

}  // namespace tapml::relax
