// Weights and modules are sent only once to a server that caches them.
#include <gtest/gtest.h>

#include "base/rng.h"
#include "conformance/programs.h"
#include "native_device.h"
#include "rpc/session/client_session.h"
#include "rpc/session/host/content_folder.h"
#include "support/memory_channel.h"
#include "support/temp_folder.h"

namespace tapml::test {
namespace {

using runtime::BufferId;
using runtime::ContentWrite;
using runtime::kDefaultStream;
using testing::MemoryServer;
using testing::TempFolder;

// Different bytes for each seed.
std::vector<std::byte> content(uint64_t seed, size_t size) {
  std::vector<std::byte> bytes(size);
  RandomStream random(seed, "content");
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.next() & 0xff);
  return bytes;
}

// A server whose sessions share a folder, like the processes of a real server.
class Contents : public ::testing::Test {
 protected:
  struct Client {
    std::unique_ptr<MemoryServer> server;
    std::unique_ptr<rpc::RemoteSession> session;
    rpc::RemoteSession& operator*() const { return *session; }
    rpc::RemoteSession* operator->() const { return session.get(); }
    // Ends the session and its use of the store.
    void end() {
      session.reset();
      EXPECT_TRUE(server->join());
    }
  };
  Client connect(const std::string& token = "", rpc::ServerLimits limits = {}) {
    rpc::ServerOptions options;
    options.limits = limits;
    options.open_device = [](const std::string&) -> Result<std::shared_ptr<runtime::Device>> {
      return native_device();
    };
    if (max_bytes_ > 0) {
      options.open_contents = [this] { return rpc::open_content_folder(folder(), max_bytes_); };
    }
    Client client;
    client.server = std::make_unique<MemoryServer>(options);
    rpc::ConnectOptions connect;
    connect.token = token;
    client.session = client.server->connect(connect);
    return client;
  }
  // Writes `parts` into separate buffers and reads them back.
  static void write_and_check(rpc::RemoteSession& session,
                              const std::vector<std::vector<std::byte>>& parts) {
    std::vector<ContentWrite> writes;
    for (const auto& part : parts) {
      const BufferId id{session.new_handle()};
      ASSERT_TRUE(session.allocate(id, static_cast<int64_t>(part.size()) + 16));
      writes.push_back({{id, 16}, part});
    }
    Status written = session.write_contents(kDefaultStream, writes);
    ASSERT_TRUE(written) << written.error().to_string();
    for (size_t i = 0; i < parts.size(); ++i) {
      std::vector<std::byte> back(parts[i].size());
      ASSERT_TRUE(session.read(kDefaultStream, writes[i].to, back));
      EXPECT_TRUE(back == parts[i]) << "part " << i;
    }
  }
  std::string folder() const { return folder_ / "contents"; }
  std::vector<std::string> entries() const {
    std::vector<std::string> files;
    if (!std::filesystem::exists(folder())) return files;
    for (const std::string& name : testing::names_under(folder())) {
      const std::string path = folder() + "/" + name;
      if (std::filesystem::is_regular_file(path) && name.find('/') != std::string::npos &&
          name.find("tmp") == std::string::npos) {
        files.push_back(path);
      }
    }
    return files;
  }

  TempFolder folder_;
  int64_t max_bytes_ = 64 << 20;
};

TEST_F(Contents, ASecondSessionSendsNone) {
  const std::vector<std::vector<std::byte>> parts = {
      content(1, 300000), content(2, 5000), content(3, 100), {}};
  Client first = connect();
  write_and_check(*first, parts);
  EXPECT_GE(first->traffic().bytes_sent, 305000);
  EXPECT_EQ(first->traffic().bytes_found, 0);
  first.end();
  Client second = connect();
  const int64_t waits = second->traffic().waits;
  write_and_check(*second, parts);
  EXPECT_LE(second->traffic().bytes_sent, 3000);
  EXPECT_EQ(second->traffic().bytes_found, 305000);
  EXPECT_GT(second->traffic().waits, waits);
}

TEST_F(Contents, TheSameTwiceInASessionIsSentOnce) {
  Client client = connect();
  write_and_check(*client, {content(1, 300000)});
  write_and_check(*client, {content(1, 300000)});
  EXPECT_LE(client->traffic().bytes_sent, 303000);
  EXPECT_EQ(client->traffic().bytes_found, 300000);
}

TEST_F(Contents, PlainWritesAreNotLookedUp) {
  Client client = connect();
  const std::vector<std::byte> bytes = content(1, 300000);
  const BufferId id{client->new_handle()};
  ASSERT_TRUE(client->allocate(id, 300000));
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(client->write(kDefaultStream, {id, 0}, bytes));
  ASSERT_TRUE(client->synchronize(kDefaultStream));
  EXPECT_GE(client->traffic().bytes_sent, 600000);
  client.end();
  EXPECT_TRUE(entries().empty());
}

TEST_F(Contents, AServerWithoutAStoreIsSentAll) {
  max_bytes_ = 0;
  for (int i = 0; i < 2; ++i) {
    Client client = connect();
    write_and_check(*client, {content(1, 300000)});
    EXPECT_GE(client->traffic().bytes_sent, 300000);
  }
}

TEST_F(Contents, LargeOnesAreAddressedInPieces) {
  rpc::ServerLimits limits;
  limits.module_bytes = 100000;
  {
    Client client = connect("", limits);
    write_and_check(*client, {content(1, 350000)});
  }
  EXPECT_EQ(entries().size(), 4u);
  Client client = connect("", limits);
  write_and_check(*client, {content(1, 350000)});
  EXPECT_EQ(client->traffic().bytes_found, 350000);
}

TEST_F(Contents, AnotherTokenDoesNotLearnOfThem) {
  {
    Client client = connect("one");
    write_and_check(*client, {content(1, 300000)});
  }
  Client other = connect("two");
  write_and_check(*other, {content(1, 300000)});
  EXPECT_EQ(other->traffic().bytes_found, 0);
  EXPECT_GE(other->traffic().bytes_sent, 300000);
  Client same = connect("one");
  write_and_check(*same, {content(1, 300000)});
  EXPECT_EQ(same->traffic().bytes_found, 300000);
}

TEST_F(Contents, TheLeastRecentlyUsedGoFirst) {
  max_bytes_ = 1 << 20;
  {
    Client client = connect();
    for (uint64_t seed = 1; seed <= 20; ++seed) write_and_check(*client, {content(seed, 200000)});
    // Not only at its end: a session cannot fill the disk.
    int64_t bytes = 0;
    for (const std::string& path : entries()) {
      bytes += static_cast<int64_t>(std::filesystem::file_size(path));
    }
    EXPECT_LE(bytes, max_bytes_ + 400000);
  }
  Client client = connect();
  write_and_check(*client, {content(20, 200000)});
  EXPECT_EQ(client->traffic().bytes_found, 200000);
  write_and_check(*client, {content(1, 200000)});
  EXPECT_EQ(client->traffic().bytes_found, 200000);
}

TEST_F(Contents, ADamagedFileIsSentAgain) {
  {
    Client client = connect();
    write_and_check(*client, {content(1, 300000)});
  }
  const std::vector<std::string> files = entries();
  ASSERT_EQ(files.size(), 1u);
  const std::string good = testing::read_bytes(files[0]);
  std::string flipped = good;
  flipped[good.size() / 2] = static_cast<char>(flipped[good.size() / 2] ^ 1);
  for (const std::string& bad : {flipped, good.substr(0, 1000), std::string()}) {
    testing::write_bytes(files[0], bad);
    Client client = connect();
    write_and_check(*client, {content(1, 300000)});
    EXPECT_EQ(client->traffic().bytes_found, 0);
    client.end();
    EXPECT_EQ(testing::read_bytes(files[0]), good);
  }
}

// The client does not trust a store: this one returns other bytes of the same size.
class LyingStore final : public rpc::ContentStore {
 public:
  std::optional<std::vector<std::byte>> get(const std::string&) noexcept override {
    return content(9, 300000);
  }
  void put(const std::string&, std::span<const std::byte>) noexcept override {}
};

TEST_F(Contents, CachedContentIsCheckedByItsHash) {
  rpc::ServerOptions options;
  options.open_device = [](const std::string&) -> Result<std::shared_ptr<runtime::Device>> {
    return native_device();
  };
  options.open_contents = [] { return std::make_unique<LyingStore>(); };
  MemoryServer server(options);
  auto session = server.connect();
  write_and_check(*session, {content(1, 300000)});
  EXPECT_EQ(session->traffic().bytes_found, 0);
}

TEST_F(Contents, AnUnusableFolderIsNotAnError) {
  testing::write_bytes(folder(), "a file");
  for (int i = 0; i < 2; ++i) {
    Client client = connect();
    write_and_check(*client, {content(1, 300000)});
    EXPECT_EQ(client->traffic().bytes_found, 0);
  }
}

TEST_F(Contents, SessionsAtOnceShareThem) {
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      Client client = connect();
      for (uint64_t seed = 0; seed < 8; ++seed) {
        write_and_check(*client, {content((seed + 2 * i) % 8, 100000)});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(entries().size(), 8u);
  Client client = connect();
  for (uint64_t seed = 0; seed < 8; ++seed) write_and_check(*client, {content(seed, 100000)});
  EXPECT_EQ(client->traffic().bytes_found, 800000);
}

TEST_F(Contents, ExecutablesToo) {
  Executable program = chain_program(native_blob());
  program.constants.push_back(HostTensor::zeros(DType::kF32, {5000}));
  for (int i = 0; i < 2; ++i) {
    Client client = connect();
    auto vm = client->open_vm(share(program));
    ASSERT_TRUE(vm) << vm.error().to_string();
    const std::vector<runtime::Value> args = {*runtime::upload(*client.session, f32({1, 2})),
                                              *runtime::upload(*client.session, f32({10, 20}))};
    EXPECT_TRUE((*vm)->call("main", args));
    EXPECT_EQ(client->traffic().bytes_found > 20000, i == 1);
    EXPECT_EQ(client->traffic().bytes_sent > 20000, i == 0);
    vm->reset();
  }
}

// A module or an executable is one content of any size.
TEST_F(Contents, LargeExecutablesToo) {
  max_bytes_ = 256 << 20;
  Executable program = chain_program(native_blob());
  HostTensor constant = HostTensor::zeros(DType::kU8, {(32 << 20) + 5});
  const std::vector<std::byte> bytes = content(7, constant.bytes().size());
  std::copy(bytes.begin(), bytes.end(), constant.mutable_bytes().begin());
  program.constants.push_back(std::move(constant));
  for (int i = 0; i < 2; ++i) {
    Client client = connect();
    auto vm = client->open_vm(share(program));
    ASSERT_TRUE(vm) << vm.error().to_string();
    EXPECT_EQ(client->traffic().bytes_found > 32 << 20, i == 1);
    EXPECT_EQ(client->traffic().bytes_sent > 32 << 20, i == 0);
    vm->reset();
  }
}

TEST_F(Contents, RangesAreChecked) {
  Client client = connect();
  const std::vector<std::byte> bytes = content(1, 10000);
  const BufferId id{client->new_handle()};
  ASSERT_TRUE(client->allocate(id, 10000));
  const ContentWrite beyond{{id, 1}, bytes}, unknown{{BufferId{12345}, 0}, bytes};
  for (const ContentWrite& bad : {beyond, unknown}) {
    Status written = client->write_contents(kDefaultStream, std::span(&bad, 1));
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().kind, ErrorKind::kInternal);
  }
  EXPECT_TRUE(client->synchronize(kDefaultStream));
}

}  // namespace
}  // namespace tapml::test
