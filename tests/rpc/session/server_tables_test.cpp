// The accounting of a session's server: handles, blobs and code.
#include <gtest/gtest.h>

#include "rpc/session/blob_table.h"
#include "rpc/session/code_budget.h"
#include "rpc/session/handle_table.h"
#include "support/expect_error.h"

namespace tapml::rpc {
namespace {

using wire::HandleKind;

TEST(HandleTableTest, NamesAreUniqueByKindAndCountTogether) {
  HandleTable table(2);
  ASSERT_TRUE(table.check_new(HandleKind::Buffer, 1));
  table.add(HandleKind::Buffer, 1);
  testing::expect_parts(table.check_new(HandleKind::Buffer, 1).error(), {"buffer", "1"});
  ASSERT_TRUE(table.check_new(HandleKind::Module, 1));
  table.add(HandleKind::Module, 1);
  EXPECT_EQ(testing::fault_of(table.check_new(HandleKind::Kernel, 5)), PlatformFault::kLimit);
  EXPECT_TRUE(table.erase(HandleKind::Buffer, 1));
  EXPECT_FALSE(table.erase(HandleKind::Buffer, 1));
  EXPECT_TRUE(table.check_new(HandleKind::Kernel, 5));
}

TEST(HandleTableTest, ANameKeepsItsError) {
  HandleTable table(4);
  table.add(HandleKind::Kernel, 3, internal_error("no such entry"));
  EXPECT_TRUE(table.contains(HandleKind::Kernel, 3));
  EXPECT_TRUE(table.is_failed(HandleKind::Kernel, 3));
  testing::expect_parts(table.known(HandleKind::Kernel, 3).error(), {"no such entry"});
  testing::expect_parts(table.known(HandleKind::Kernel, 4).error(), {"kernel", "4"});
  EXPECT_FALSE(table.is_failed(HandleKind::Kernel, 4));
}

// The first stream belongs to the session; events of released names may still be needed.
TEST(HandleTableTest, SomeNamesCountDifferently) {
  HandleTable table(1);
  table.add_own(HandleKind::Stream, 0);
  EXPECT_TRUE(table.known(HandleKind::Stream, 0));
  ASSERT_TRUE(table.check_new(HandleKind::Event, 7));
  table.add(HandleKind::Event, 7);
  EXPECT_TRUE(table.erase(HandleKind::Event, 7, true));
  EXPECT_EQ(testing::fault_of(table.check_new(HandleKind::Event, 8)), PlatformFault::kLimit);
}

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

void append(BlobTable& table, uint64_t id, std::string_view text) {
  const auto bytes = bytes_of(text);
  ASSERT_TRUE(table.check_part(id, bytes.size()));
  std::ranges::copy(bytes, table.extend(id, bytes.size()).begin());
}

TEST(BlobTableTest, PartsBecomeTheBlob) {
  BlobTable table(100);
  ASSERT_TRUE(table.begin(1, 6, sha256(std::string_view("abcdef"))));
  append(table, 1, "abc");
  append(table, 1, "def");
  EXPECT_FALSE(table.check_part(1, 1));
  const auto taken = table.take(1);
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->data, bytes_of("abcdef"));
  EXPECT_EQ(taken->hash, sha256(std::string_view("abcdef")));
  EXPECT_FALSE(table.contains(1));
}

TEST(BlobTableTest, MissingOrAlteredPartsAreRefused) {
  BlobTable table(100);
  ASSERT_TRUE(table.begin(1, 4, std::nullopt));
  append(table, 1, "abc");
  testing::expect_parts(table.take(1).error(), {"a blob of 4 bytes has only 3"});
  ASSERT_TRUE(table.begin(2, 3, sha256(std::string_view("abc"))));
  append(table, 2, "abd");
  EXPECT_EQ(testing::fault_of(table.take(2)), PlatformFault::kProtocol);
}

TEST(BlobTableTest, SpaceIsCountedByTheDeclaredSize) {
  BlobTable table(10);
  EXPECT_EQ(testing::fault_of(table.begin(1, -1, std::nullopt)), PlatformFault::kLimit);
  ASSERT_TRUE(table.begin(1, 8, std::nullopt));
  EXPECT_EQ(testing::fault_of(table.begin(2, 3, std::nullopt)), PlatformFault::kLimit);
  EXPECT_FALSE(table.contains(2));
  EXPECT_FALSE(table.take(1));  // incomplete, and removed
  EXPECT_TRUE(table.begin(2, 10, std::nullopt));
}

TEST(CodeBudgetTest, ModulesAndVirtualMachinesCountAlike) {
  CodeBudget code(10);
  EXPECT_EQ(testing::fault_of(code.check(11)), PlatformFault::kLimit);
  code.hold_module(1, 6);
  code.hold_vm(1, 3);
  EXPECT_TRUE(code.check(1));
  EXPECT_EQ(testing::fault_of(code.check(2)), PlatformFault::kLimit);
  code.release_module(2);  // no such module
  code.release_module(1);
  EXPECT_TRUE(code.check(7));
  code.hold_vm(1, 9);  // replaces the name's previous object
  EXPECT_TRUE(code.check(1));
  EXPECT_FALSE(code.check(2));
}

}  // namespace
}  // namespace tapml::rpc
