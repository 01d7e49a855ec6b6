// Which buffers of a launch are read and written four elements at once.
#pragma once

#include <optional>
#include <set>

#include "codegen/lower/device_func.h"

namespace tapml::codegen {

inline constexpr int64_t kVectorLanes = 4;

// A loop over four lanes around one store.
bool is_vector_loop(const tir::ForNode& loop);

// Where the four elements that lanes access begin, in elements: a multiple of four, as the index's
// terms show. None where the lanes do not stand side by side there.
std::optional<PrimExpr> first_of_lanes(const PrimExpr& index, const Var& lane);

// Parameters of elements of 32 bits whose every access stands in a vector loop, as four elements
// side by side, and unconditionally or at the place of the loop's store. `narrow`: also those of
// floats of 16 bits that are only read.
std::set<const tir::BufferNode*> vector_buffers(const DeviceFunc& function, bool narrow = false);

}  // namespace tapml::codegen
