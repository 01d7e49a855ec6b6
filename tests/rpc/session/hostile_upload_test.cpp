// Invalid uploads from a client: contents under a wrong hash, malformed packed payloads.
#include <gtest/gtest.h>

#include <map>

#include "raw_client.h"
#include "rpc/session/host/zstd.h"
#include "rpc/session/wire.h"

namespace tapml::test {
namespace {

namespace wire = rpc::wire;
using flatbuffers::FlatBufferBuilder;

// Keeps everything.
struct KeepingStore final : rpc::ContentStore {
  explicit KeepingStore(std::map<std::string, std::vector<std::byte>>& kept) : contents(kept) {}
  std::optional<std::vector<std::byte>> get(const std::string& key) noexcept override {
    auto found = contents.find(key);
    if (found == contents.end()) return {};
    return found->second;
  }
  void put(const std::string& key, std::span<const std::byte> bytes) noexcept override {
    contents[key].assign(bytes.begin(), bytes.end());
  }
  std::map<std::string, std::vector<std::byte>>& contents;
};

TEST(HostileUpload, AlteredContentIsRefusedAndNotKept) {
  std::map<std::string, std::vector<std::byte>> kept;
  rpc::ServerOptions options;
  options.open_contents = [&] { return std::make_unique<KeepingStore>(kept); };
  RawClient client(options);
  client.send([&](FlatBufferBuilder& builder) {
    return wire::CreateHelloDirect(builder, "", 1, 1, rpc::kCapabilityContent, "cpu");
  });
  ASSERT_EQ(client.next(), wire::Answer::Welcome);
  EXPECT_EQ(client.reply().answer_as_Welcome()->capabilities(), rpc::kCapabilityContent);
  const std::vector<std::byte> good(64, std::byte{7});
  std::vector<std::byte> altered = good;
  altered[63] = std::byte{6};
  const Sha256Digest digest = sha256(good);
  const std::vector<uint8_t> hash(digest.begin(), digest.end());
  client.send(allocate(5, 64));
  auto send_blob = [&](const std::vector<std::byte>& bytes) {
    client.send([&](FlatBufferBuilder& b) { return wire::CreateBeginBlobDirect(b, 1, 64, &hash); });
    client.send([](FlatBufferBuilder& b) { return wire::CreateBlobPart(b, 1); }, bytes);
    client.send([](FlatBufferBuilder& b) { return wire::CreateWriteBlob(b, 0, 5, 0, 1); });
  };
  auto ask = [&](int64_t bytes) {
    client.send([&](FlatBufferBuilder& b) {
      return wire::CreateWriteContentDirect(b, 0, 5, 0, &hash, bytes);
    });
    return client.next();
  };
  send_blob(altered);
  client.expect_refused("does not match its hash");
  EXPECT_TRUE(kept.empty());
  EXPECT_EQ(ask(64), wire::Answer::Missing);
  send_blob(good);
  client.synchronize();
  ASSERT_EQ(client.next(), wire::Answer::Done);
  EXPECT_EQ(kept.size(), 1u);
  EXPECT_EQ(ask(64), wire::Answer::Done);
  EXPECT_EQ(ask(63), wire::Answer::Missing) << "another size";
  EXPECT_EQ(ask(65), wire::Answer::Failure) << "outside of the buffer";
  EXPECT_EQ(ask(-1), wire::Answer::Failure);
  auto find = [&](uint64_t id, const std::vector<uint8_t>& what, int64_t bytes) {
    client.send(
        [&](FlatBufferBuilder& b) { return wire::CreateFindBlobDirect(b, id, &what, bytes); });
    return client.next();
  };
  EXPECT_EQ(find(1, hash, INT64_MAX), wire::Answer::Missing);
  EXPECT_EQ(find(1, hash, -64), wire::Answer::Missing);
  EXPECT_EQ(find(1, {1, 2, 3}, 64), wire::Answer::Failure) << "no hash";
  EXPECT_EQ(find(uint64_t{1} << 63, hash, 64), wire::Answer::Failure);
  EXPECT_EQ(find(1, hash, 64), wire::Answer::Done);
  EXPECT_EQ(find(1, hash, 64), wire::Answer::Failure) << "the name is in use";
  client.send([](FlatBufferBuilder& b) { return wire::CreateWriteBlob(b, 0, 5, 1, 1); });
  client.expect_refused("outside of its buffer");
  client.send([](FlatBufferBuilder& b) { return wire::CreateWriteBlob(b, 0, 5, 0, 1); });
  client.expect_refused("no blob 1");
  const std::vector<uint8_t> short_hash(31);
  client.send(
      [&](FlatBufferBuilder& b) { return wire::CreateBeginBlobDirect(b, 9, 64, &short_hash); });
  client.expect_refused("not a SHA-256");
}

TEST(HostileUpload, InvalidPackedPayloads) {
  rpc::ServerOptions options;
  options.compressor = rpc::make_zstd();
  options.limits.payload_bytes = 1 << 20;
  RawClient client(options);
  client.send([&](FlatBufferBuilder& builder) {
    return wire::CreateHelloDirect(builder, "", 1, 1, rpc::kCapabilityZstd, "cpu");
  });
  ASSERT_EQ(client.next(), wire::Answer::Welcome);
  const std::vector<std::byte> bytes(size_t{4} << 20);
  std::vector<std::byte> packed;
  ASSERT_TRUE(rpc::make_zstd()->pack(bytes, packed));
  client.send(allocate(5, 8 << 20));
  client.send(allocate(6, 1000));
  auto write = [&](uint64_t buffer, uint64_t unpacked, const std::vector<std::byte>& payload) {
    client.send(
        [&](FlatBufferBuilder& b) { return wire::CreateWrite(b, 0, buffer, 0, 0, unpacked); },
        payload);
  };
  write(6, 1000, packed);  // the content is much larger
  client.expect_refused("does not unpack to the 1000 bytes");
  write(6, 4 << 20, packed);
  client.expect_refused("outside of its buffer");
  write(5, 4 << 20, packed);
  client.expect_refused("is invalid");
  write(5, ~uint64_t{0}, packed);
  client.expect_refused("outside of its buffer");
  write(5, 1 << 20, packed);  // the content is four times that size
  client.expect_refused("does not unpack to the 1048576 bytes");
  write(6, 900, std::vector<std::byte>(64, std::byte{7}));
  client.expect_refused("does not unpack");
  client.send([](FlatBufferBuilder& b) { return wire::CreateBeginBlob(b, 1, 1000); });
  client.send([](FlatBufferBuilder& b) { return wire::CreateBlobPart(b, 1, 4 << 20); }, packed);
  client.expect_refused("more bytes");
  client.send([](FlatBufferBuilder& b) { return wire::CreateBlobPart(b, 1, 900); },
              std::vector<std::byte>(64, std::byte{7}));
  client.expect_refused("does not unpack");
}

TEST(HostileUpload, PackedPayloadsWithoutACommonCompression) {
  RawClient client;
  client.open();
  client.send(allocate(5, 1000));
  client.send([](FlatBufferBuilder& b) { return wire::CreateWrite(b, 0, 5, 0, 0, 900); },
              std::vector<std::byte>(64));
  client.expect_refused("no compression in common");
}

TEST(HostileUpload, VanishesWhileUploading) {
  RawClient client;
  client.open();
  client.send(allocate(1, 1 << 20));
  client.send([](FlatBufferBuilder& b) { return wire::CreateBeginBlob(b, 1, 1 << 20); });
  client.close();
  EXPECT_TRUE(client.join());
}

}  // namespace
}  // namespace tapml::test
