// Blocks of the K-quants. Private to the quantizers.
#pragma once

#include <cstddef>

namespace tapml {

// Each writes a block of 256 finite elements.
void pack_q2_k(const float* x, std::byte* block);
void pack_q3_k(const float* x, std::byte* block);
void pack_q4_k(const float* x, std::byte* block);
void pack_q5_k(const float* x, std::byte* block);
void pack_q6_k(const float* x, std::byte* block);

}  // namespace tapml
