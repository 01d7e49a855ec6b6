// Compressed payloads: when compression pays, and that both ends agree.
#include "rpc/session/compression.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/rng.h"
#include "device/null/null_device.h"
#include "rpc/session/host/zstd.h"
#include "rpc/session/remote_session.h"
#include "support/memory_channel.h"

namespace tapml::test {
namespace {

using namespace std::chrono_literals;
using rpc::Compression;
using rpc::Packer;
using runtime::BufferId;
using runtime::kDefaultStream;
using testing::MemoryServer;

std::vector<std::byte> even_bytes(size_t size) {
  std::vector<std::byte> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i / 64);
  return bytes;
}
std::vector<std::byte> random_bytes(size_t size) {
  std::vector<std::byte> bytes(size);
  RandomStream random(3, "bytes");
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.next() & 0xff);
  return bytes;
}

TEST(Zstd, RoundTrips) {
  const auto zstd = rpc::make_zstd();
  std::vector<std::byte> packed;
  const std::vector<std::byte> bytes = even_bytes(100000);
  ASSERT_TRUE(zstd->pack(bytes, packed));
  EXPECT_LT(packed.size(), bytes.size() / 10);
  std::vector<std::byte> back(bytes.size());
  ASSERT_TRUE(zstd->unpack(packed, back));
  EXPECT_EQ(back, bytes);
  EXPECT_FALSE(zstd->pack(random_bytes(100000), packed)) << "no smaller";
}

TEST(Zstd, NeverWritesPastItsOutput) {
  const auto zstd = rpc::make_zstd();
  std::vector<std::byte> packed;
  ASSERT_TRUE(zstd->pack(even_bytes(100000), packed));
  for (const size_t size : {size_t{0}, size_t{1}, size_t{99999}, size_t{100001}}) {
    std::vector<std::byte> back(size + 64, std::byte{0x5a});
    EXPECT_FALSE(zstd->unpack(packed, std::span(back).first(size))) << size;
    EXPECT_TRUE(
        std::all_of(back.end() - 64, back.end(), [](std::byte b) { return b == std::byte{0x5a}; }));
  }
  std::vector<std::byte> back(100000);
  EXPECT_FALSE(zstd->unpack(std::span(packed).first(packed.size() / 2), back));
  EXPECT_FALSE(zstd->unpack(random_bytes(1000), back));
}

TEST(Packer, PacksOnSlowConnections) {
  const std::vector<std::byte> bytes = even_bytes(1 << 20);
  std::vector<std::byte> buffer;
  Packer packer(rpc::make_zstd(), Compression::kMeasured);
  packer.enable();
  EXPECT_TRUE(packer.pack(bytes, buffer).empty()) << "the connection speed is unknown";
  for (int i = 0; i < 20; ++i) packer.sent(bytes.size(), 200us);
  EXPECT_TRUE(packer.pack(bytes, buffer).empty()) << "5 GB/s";
  for (int i = 0; i < 20; ++i) packer.sent(bytes.size(), 100s);
  EXPECT_FALSE(packer.pack(bytes, buffer).empty()) << "10 KB/s";
  EXPECT_FALSE(packer.pack(bytes, buffer).empty());
  EXPECT_TRUE(packer.pack(std::span(bytes).first(1000), buffer).empty()) << "small";
  EXPECT_TRUE(packer.pack(random_bytes(1 << 20), buffer).empty());
  EXPECT_TRUE(packer.pack(bytes, buffer).empty()) << "it pauses after incompressible data";
  for (int i = 0; i < 20; ++i) packer.pack(bytes, buffer);
  EXPECT_FALSE(packer.pack(bytes, buffer).empty()) << "and tries again";
}

TEST(Packer, ObeysItsMode) {
  const std::vector<std::byte> bytes = even_bytes(1 << 20);
  std::vector<std::byte> buffer;
  Packer always(rpc::make_zstd(), Compression::kAlways);
  EXPECT_TRUE(always.pack(bytes, buffer).empty()) << "the other side may not support it";
  always.enable();
  EXPECT_FALSE(always.pack(bytes, buffer).empty());
  Packer never(rpc::make_zstd(), Compression::kNever);
  never.enable();
  for (int i = 0; i < 20; ++i) never.sent(bytes.size(), 100s);
  EXPECT_TRUE(never.pack(bytes, buffer).empty());
}

// Writes and reads back; returns the traffic of the channel.
rpc::RemoteSession::Traffic traffic_of(const std::vector<std::byte>& bytes, bool here, bool there,
                                       Compression mode = Compression::kAlways) {
  rpc::ServerOptions options;
  options.compression = mode;
  if (there) options.compressor = rpc::make_zstd();
  options.open_device = [](const std::string&) { return std::make_shared<device::NullDevice>(); };
  MemoryServer server(options);
  rpc::ConnectOptions connect;
  connect.compression = mode;
  if (here) connect.compressor = rpc::make_zstd();
  auto session = server.connect(connect);
  const BufferId id{session->new_handle()};
  EXPECT_TRUE(session->allocate(id, static_cast<int64_t>(bytes.size()) + 8));
  EXPECT_TRUE(session->write(kDefaultStream, {id, 8}, bytes));
  std::vector<std::byte> back(bytes.size());
  Status read = session->read(kDefaultStream, {id, 8}, back);
  EXPECT_TRUE(read) << read.error().to_string();
  EXPECT_TRUE(back == bytes);
  return session->traffic();
}

TEST(Compression, SavesBytesInBothDirections) {
  const std::vector<std::byte> bytes = even_bytes((9 << 20) + 12345);
  const auto packed = traffic_of(bytes, true, true);
  EXPECT_LT(packed.bytes_sent, 1 << 20);
  EXPECT_LT(packed.bytes_received, 1 << 20);
  for (const bool here : {false, true}) {
    const auto plain = traffic_of(bytes, here, !here);
    EXPECT_GT(plain.bytes_sent, 9 << 20);
    EXPECT_GT(plain.bytes_received, 9 << 20);
  }
  EXPECT_GT(traffic_of(bytes, true, true, Compression::kNever).bytes_sent, 9 << 20);
}

TEST(Compression, IncompressibleDataIsSentUnchanged) {
  const auto traffic = traffic_of(random_bytes(5 << 20), true, true);
  EXPECT_GE(traffic.bytes_sent, 5 << 20);
  EXPECT_LE(traffic.bytes_sent, (5 << 20) + 5000);
}

}  // namespace
}  // namespace tapml::test
