#include "rpc/session/host/zstd.h"

#include <zstd.h>

namespace tapml::rpc {

namespace {

// The fastest of the ordinary levels: slower ones hardly make weights smaller.
constexpr int kLevel = 1;

class Zstd final : public Compressor {
 public:
  bool pack(std::span<const std::byte> bytes, std::vector<std::byte>& packed) noexcept override {
    packed.resize(bytes.size());  // more would not be smaller, so it fails
    const size_t size =
        ZSTD_compress(packed.data(), packed.size(), bytes.data(), bytes.size(), kLevel);
    if (ZSTD_isError(size) != 0 || size >= bytes.size()) return false;
    packed.resize(size);
    return true;
  }
  // Never writes beyond `to`, whatever the frame claims.
  bool unpack(std::span<const std::byte> packed, std::span<std::byte> to) noexcept override {
    const size_t size = ZSTD_decompress(to.data(), to.size(), packed.data(), packed.size());
    return ZSTD_isError(size) == 0 && size == to.size();
  }
};

}  // namespace

std::shared_ptr<Compressor> make_zstd() { return std::make_shared<Zstd>(); }

}  // namespace tapml::rpc
