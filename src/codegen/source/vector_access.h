// Which buffers of a launch are read and written four elements at once.
#pragma once

#include <map>
#include <optional>

#include "codegen/lower/device_func.h"

namespace tapml::codegen {

inline constexpr int64_t kVectorLanes = 4;

// A loop over four lanes around one store.
bool is_vector_loop(const tir::ForNode& loop);

// Where the four elements that lanes access begin, in elements: a multiple of four, as the index's
// terms show. None where the lanes do not stand side by side there.
std::optional<PrimExpr> first_of_lanes(const PrimExpr& index, const Var& lane);

// Which four of eight elements begin at a place that is a multiple of eight, as its terms show, or
// four behind one.
struct Half {
  PrimExpr first;  // of the eight
  bool second = false;
};
std::optional<Half> half_of_eight(const PrimExpr& first);

// Parameters of elements of 32 bits whose every access stands in a vector loop, as four elements
// side by side, and unconditionally or at the place of the loop's store. `narrow`: also those of
// floats of 16 bits that are only read. How many elements are one of the buffer's: four, or eight
// where every access to narrow ones is a half of these.
std::map<const tir::BufferNode*, int> vector_buffers(const DeviceFunc& function,
                                                     bool narrow = false);

}  // namespace tapml::codegen
