// Buffers and copies: the same on every platform.
#include <cstdint>
#include <limits>
#include <numeric>

#include "conformance/platforms.h"

namespace tapml::test {
namespace {

using runtime::BufferId;
using runtime::kDefaultStream;
using runtime::Session;

using MemoryConformance = Conformance;
TAPML_CONFORMANCE(MemoryConformance);

std::vector<uint8_t> pattern(size_t size, int seed) {
  std::vector<uint8_t> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(i * 7 + seed);
  return bytes;
}

TEST_P(MemoryConformance, WrittenBytesAreRead) {
  for (size_t size : {size_t{1}, size_t{3}, size_t{64}, size_t{1000}, size_t{1} << 20}) {
    BufferId id = buffer(static_cast<int64_t>(size));
    write(runtime::BufferRange{id, 0}, pattern(size, 1));
    EXPECT_EQ(read<uint8_t>({id, 0}, size), pattern(size, 1)) << size << " bytes";
  }
}

TEST_P(MemoryConformance, AWriteTakesItsBytesAtOnce) {
  for (size_t size : {size_t{100}, size_t{200000}}) {
    BufferId id = buffer(static_cast<int64_t>(size));
    std::vector<uint8_t> bytes = pattern(size, 5);
    write(runtime::BufferRange{id, 0}, bytes);
    std::fill(bytes.begin(), bytes.end(), uint8_t{0});
    EXPECT_EQ(read<uint8_t>({id, 0}, size), pattern(size, 5));
  }
}

TEST_P(MemoryConformance, RangesInsideABuffer) {
  BufferId id = buffer(100);
  write(runtime::BufferRange{id, 0}, std::vector<uint8_t>(100, 9));
  write(runtime::BufferRange{id, 37}, std::vector<uint8_t>{1, 2, 3});
  EXPECT_EQ(read<uint8_t>({id, 36}, 5), (std::vector<uint8_t>{9, 1, 2, 3, 9}));
  ASSERT_TRUE(session().fill_zero(kDefaultStream, {id, 38}, 1));
  EXPECT_EQ(read<uint8_t>({id, 36}, 5), (std::vector<uint8_t>{9, 1, 0, 3, 9}));
  ASSERT_TRUE(session().fill_zero(kDefaultStream, {id, 0}, 100));
  EXPECT_EQ(read<uint8_t>({id, 0}, 100), std::vector<uint8_t>(100, 0));
}

TEST_P(MemoryConformance, CopiesBetweenAndInsideBuffers) {
  BufferId a = buffer(256);
  BufferId b = buffer(300);
  write(runtime::BufferRange{a, 0}, pattern(256, 0));
  ASSERT_TRUE(session().fill_zero(kDefaultStream, {b, 0}, 300));
  ASSERT_TRUE(session().copy(kDefaultStream, {a, 5}, {b, 11}, 200));
  std::vector<uint8_t> expected(300, 0);
  std::vector<uint8_t> source = pattern(256, 0);
  std::copy_n(source.begin() + 5, 200, expected.begin() + 11);
  EXPECT_EQ(read<uint8_t>({b, 0}, 300), expected);

  // Disjoint, and overlapping in both directions.
  ASSERT_TRUE(session().copy(kDefaultStream, {a, 0}, {a, 128}, 64));
  std::copy_n(source.begin(), 64, source.begin() + 128);
  EXPECT_EQ(read<uint8_t>({a, 0}, 256), source);
  ASSERT_TRUE(session().copy(kDefaultStream, {a, 0}, {a, 16}, 200));
  std::copy_backward(source.begin(), source.begin() + 200, source.begin() + 216);
  EXPECT_EQ(read<uint8_t>({a, 0}, 256), source);
  ASSERT_TRUE(session().copy(kDefaultStream, {a, 16}, {a, 0}, 200));
  std::copy(source.begin() + 16, source.begin() + 216, source.begin());
  EXPECT_EQ(read<uint8_t>({a, 0}, 256), source);
}

TEST_P(MemoryConformance, ZeroBytes) {
  BufferId empty = buffer(0);
  BufferId some = buffer(16);
  EXPECT_TRUE(session().write(kDefaultStream, {empty, 0}, {}));
  EXPECT_TRUE(session().copy(kDefaultStream, {empty, 0}, {some, 16}, 0));
  EXPECT_TRUE(session().fill_zero(kDefaultStream, {empty, 0}, 0));
  EXPECT_TRUE(session().read(kDefaultStream, {empty, 0}, {}));
  std::byte one{};
  EXPECT_FALSE(session().read(kDefaultStream, {empty, 0}, std::span(&one, 1)));
}

TEST_P(MemoryConformance, HostAddressIsAlignedAndSeesTheBytes) {
  for (int64_t size : {int64_t{0}, int64_t{1}, int64_t{100}, int64_t{4096}, int64_t{1} << 21}) {
    BufferId id = buffer(size);
    std::byte* address = session().host_address(id);
    if (!address) continue;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(address) % 64, 0u) << size << " bytes";
    if (size == 0) continue;
    write(runtime::BufferRange{id, size - 1}, std::vector<uint8_t>{42});
    ASSERT_TRUE(session().synchronize(kDefaultStream));
    EXPECT_EQ(address[size - 1], std::byte{42});
  }
  EXPECT_EQ(session().host_address(BufferId{999999}), nullptr);
}

TEST_P(MemoryConformance, HugeAllocationsAreRefusedAndTheSessionStaysUsable) {
  for (int64_t size : {int64_t{1} << 45, int64_t{1} << 60, std::numeric_limits<int64_t>::max()}) {
    BufferId id{session().new_handle()};
    Status status = session().allocate(id, size);
    ASSERT_FALSE(status) << size;
    EXPECT_EQ(status.error().kind, ErrorKind::kPlatform);
    EXPECT_TRUE(status.error().fault == PlatformFault::kOutOfMemory ||
                status.error().fault == PlatformFault::kLimit)
        << status.error().to_string();
    EXPECT_NE(status.error().message.find(std::to_string(size)), std::string::npos);
  }
  BufferId id = buffer(8);
  write(runtime::BufferRange{id, 0}, std::vector<int64_t>{7});
  EXPECT_EQ(read<int64_t>({id, 0}, 1), std::vector<int64_t>{7});
}

TEST_P(MemoryConformance, InvalidRequestsAreRefused) {
  BufferId id = buffer(16);
  std::vector<std::byte> bytes(16);
  EXPECT_FALSE(session().allocate(BufferId{session().new_handle()}, -1));
  EXPECT_FALSE(session().allocate(id, 16)) << "the handle is taken";
  auto refused = [](const Status& status) {
    return !status && status.error().kind == ErrorKind::kInternal;
  };
  EXPECT_TRUE(refused(session().write(kDefaultStream, {BufferId{12345}, 0}, bytes)));
  EXPECT_TRUE(refused(session().write(kDefaultStream, {id, 1}, bytes)));
  EXPECT_TRUE(refused(session().write(kDefaultStream, {id, -1}, std::span(bytes).first(1))));
  EXPECT_TRUE(refused(session().write(runtime::StreamId{777}, {id, 0}, bytes)));
  EXPECT_TRUE(refused(session().copy(kDefaultStream, {id, 0}, {id, 8}, 9)));
  EXPECT_TRUE(refused(session().copy(kDefaultStream, {id, 0}, {id, 0}, -1)));
  EXPECT_TRUE(
      refused(session().fill_zero(kDefaultStream, {id, 8}, std::numeric_limits<int64_t>::max())));
  EXPECT_TRUE(refused(session().read(kDefaultStream, {id, 17}, {})));
  EXPECT_TRUE(session().synchronize(kDefaultStream)) << "refused requests leave no error";

  session().release(id);
  session().release(id);
  EXPECT_TRUE(refused(session().write(kDefaultStream, {id, 0}, bytes)));
  EXPECT_TRUE(session().allocate(id, 4)) << "a released handle is free again";
}

TEST_P(MemoryConformance, SnapshotAndRestore) {
  BufferId kept = buffer(1000);
  BufferId gone = buffer(10);
  write(runtime::BufferRange{kept, 0}, pattern(1000, 1));
  auto snapshot = session().snapshot();
  ASSERT_TRUE(snapshot) << snapshot.error().to_string();
  uint64_t generation = session().generation();

  write(runtime::BufferRange{kept, 0}, pattern(1000, 2));
  session().release(gone);
  BufferId later = buffer(4);
  write(runtime::BufferRange{later, 0}, std::vector<int32_t>{5});
  Status restored = session().restore(*snapshot);
  ASSERT_TRUE(restored) << restored.error().to_string();
  EXPECT_EQ(read<uint8_t>({kept, 0}, 1000), pattern(1000, 1));
  EXPECT_EQ(read<int32_t>({later, 0}, 1), std::vector<int32_t>{5});
  EXPECT_NE(session().generation(), generation);
  std::byte one{};
  EXPECT_FALSE(session().read(kDefaultStream, {gone, 0}, std::span(&one, 1)));
}

}  // namespace
}  // namespace tapml::test
