// Finds the buffers of a launch that can be read and written four elements at a time.
#pragma once

#include <map>
#include <optional>

#include "codegen/lower/device_func.h"

namespace tapml::codegen {

inline constexpr int64_t kVectorLanes = 4;

// A loop over four lanes around one store.
bool is_vector_loop(const tir::ForNode& loop);

// Index of the first of the four elements that the lanes access: a multiple of four, according to
// the index's terms. nullopt if the lanes are not adjacent.
std::optional<PrimExpr> first_of_lanes(const PrimExpr& index, const Var& lane);

// Which half of eight aligned elements an access covers: starting at a multiple of eight, according
// to its terms, or four after one.
struct Half {
  PrimExpr first;  // of the eight
  bool second = false;
};
std::optional<Half> half_of_eight(const PrimExpr& first);

// Parameters with 32-bit elements whose every access is in a vector loop, as four adjacent
// elements, and unconditional or at the index of the loop's store. `narrow`: also parameters of
// 16-bit floats. The result is the number of elements in one element of the buffer: four, or eight
// if a narrow buffer is only read, every time as half of these.
std::map<const tir::BufferNode*, int> vector_buffers(const DeviceFunc& function,
                                                     bool narrow = false);

}  // namespace tapml::codegen
