// The server's end of the protocol. An input that starts with an odd byte is a sequence of raw
// frames: size of the head (16 bits), size of the payload (16 bits), both. Any other is a script:
// each step is a request of the schema whose fields are drawn from few, colliding values, so that
// the code after the checks is reached.
#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <vector>

#include "base/hash.h"
#include "device/null/null_device.h"
#include "exec/executable_file.h"
#include "finding.h"
#include "rpc/session/server_session.h"
#include "rpc/session/wire.h"

using namespace tapml;                // NOLINT(google-build-using-namespace)
using namespace tapml::fuzz_readers;  // NOLINT(google-build-using-namespace)

namespace {

namespace wire = rpc::wire;
using flatbuffers::FlatBufferBuilder;

struct Frame {
  std::vector<std::byte> head, payload;
};

// Delivers the frames, then loses the connection; takes whatever is sent, and checks replies.
class Script final : public rpc::Channel {
 public:
  explicit Script(std::vector<Frame> frames) : frames_(std::move(frames)) {}
  Status send(std::span<const std::byte> head, std::span<const std::byte>,
              runtime::Deadline) noexcept override {
    require(rpc::verified<wire::Reply>(head) != nullptr, "the server sent no reply");
    return {};
  }
  Status receive(std::vector<std::byte>& head, uint64_t& payload_bytes,
                 runtime::Deadline) noexcept override {
    if (next_ == frames_.size()) return fail(rpc::lost_error("the script is over"));
    head = frames_[next_].head;
    payload_ = frames_[next_++].payload;
    payload_bytes = payload_.size();
    return {};
  }
  Status receive_payload(std::span<std::byte> to, runtime::Deadline) noexcept override {
    require(to.size() <= payload_.size(), "more payload is taken than there is");
    if (!to.empty()) std::memcpy(to.data(), payload_.data(), to.size());
    payload_.erase(payload_.begin(), payload_.begin() + static_cast<std::ptrdiff_t>(to.size()));
    return {};
  }
  void close() noexcept override {}

 private:
  std::vector<Frame> frames_;
  std::vector<std::byte> payload_;
  size_t next_ = 0;
};

// The hash of so many zeros, or of unknown content.
constexpr int64_t kKnownBytes = 32;
std::vector<uint8_t> hash_of(int64_t number) {
  if (number % 3 == 0) return std::vector<uint8_t>(static_cast<size_t>(number & 63), 7);
  const Sha256Digest digest = sha256(std::vector<std::byte>(kKnownBytes));
  return {digest.begin(), digest.end()};
}

// Stores contents while the input lasts.
class Contents final : public rpc::ContentStore {
 public:
  std::optional<std::vector<std::byte>> get(const std::string& key) noexcept override {
    auto found = kept_.find(key);
    if (found == kept_.end()) return {};
    return found->second;
  }
  void put(const std::string& key, std::span<const std::byte> bytes) noexcept override {
    require(key.size() == 64, "a key that is no hash");
    kept_[key] = {bytes.begin(), bytes.end()};
  }

 private:
  std::map<std::string, std::vector<std::byte>> kept_;
};

class Input {
 public:
  Input(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  bool empty() const { return size_ == 0; }
  uint8_t byte() {
    if (size_ == 0) return 0;
    --size_;
    return *data_++;
  }
  size_t size16() {
    const size_t low = byte();
    return low | (static_cast<size_t>(byte()) << 8);
  }
  std::vector<std::byte> bytes(size_t count) {
    count = std::min(count, size_);
    const auto* begin = reinterpret_cast<const std::byte*>(data_);
    data_ += count;
    size_ -= count;
    return {begin, begin + count};
  }
  uint64_t handle() {
    const uint8_t b = byte();
    return b == 255 ? ~uint64_t{0} : b == 254 ? uint64_t{1} << 62 : b % 6;
  }
  int64_t number() {
    const uint8_t b = byte();
    switch (b) {
      case 255:
        return std::numeric_limits<int64_t>::max();
      case 254:
        return std::numeric_limits<int64_t>::min();
      case 253:
        return -1;
      case 252:
        return int64_t{1} << 40;
      default:
        return b;
    }
  }

 private:
  const uint8_t* data_;
  size_t size_;
};

// main(x) -> x; pair(x, y) -> (y, x); twice(x u8[n]): k(x), k(x), for a kernel without an
// implementation
const std::vector<std::byte>& small_executable() {
  static const std::vector<std::byte> kImage = [] {
    ExecutableFile file;
    VmFunction main, pair;
    main.name = "main";
    main.params = {"x"};
    main.registers = 1;
    main.code = {{Opcode::kReturn, 0}};
    pair.name = "pair";
    pair.params = {"x", "y"};
    pair.registers = 3;
    pair.code = {{Opcode::kMakeTuple, 2, 0, 0, {1, 0}}, {Opcode::kReturn, 2}};
    VmFunction twice;
    twice.name = "twice";
    twice.params = {"x"};
    twice.registers = 1;
    twice.slots = 1;
    twice.programs = {ScalarProgram::slot(0)};
    ValueCheck check;
    check.kind = ValueCheck::Kind::kTensor;
    check.has_dtype = true;
    check.dtype = DType::kU8;
    check.ndim = 1;
    check.has_dims = true;
    check.dims = {{0, {}, "n"}};
    check.where = "x";
    twice.checks = {check};
    twice.code = {{Opcode::kCheck, 0, 0},
                  {Opcode::kCallKernel, 0, 0, 0, {0}, {0}},
                  {Opcode::kCallKernel, 1, 0, 0, {0}, {0}},
                  {Opcode::kReturn, 0}};
    file.executable.kernels.push_back(
        {"k_00000000",
         {{"x", DType::kU8, AccessMode::kInOut, {ScalarProgram::slot(0)}}},
         {"n"},
         ""});
    file.executable.call_sites = {{0, "twice", {}}, {0, "twice", {}}};
    file.executable.functions = {main, pair, twice};
    auto image = write_executable(file);
    if (!image) finding(image.error().to_string());
    return *image;
  }();
  return kImage;
}

flatbuffers::Offset<wire::Value> draw_value(FlatBufferBuilder& builder, Input& in, int depth) {
  const auto kind = static_cast<wire::ValueKind>(in.byte() % 8);
  std::vector<int64_t> integers(in.byte() % 4);
  for (int64_t& integer : integers) integer = in.number();
  std::vector<flatbuffers::Offset<wire::Value>> fields;
  if (depth < 6) {
    for (int i = in.byte() % 4; i > 0; --i) fields.push_back(draw_value(builder, in, depth + 1));
  }
  const uint8_t dtype = in.byte() % 16;
  const uint64_t buffer = in.handle();
  return wire::CreateValueDirect(builder, kind, dtype, buffer, in.number(), &integers, &fields);
}

class Builder {
 public:
  explicit Builder(Input& in) : in_(in) {}

  template <class Message>
  void add(flatbuffers::Offset<Message> body, std::vector<std::byte> payload = {}) {
    requests_.push_back(wire::CreateRequest(builder_, wire::BodyTraits<Message>::enum_value,
                                            body.Union(), timeout_));
    payload_ = std::move(payload);
    if (!payload_.empty() || requests_.size() > 4) flush();
  }
  void flush() {
    if (requests_.empty()) return;
    const uint64_t first = sent_ + 1;
    sent_ += requests_.size();
    builder_.Finish(wire::CreateRequests(builder_, first, builder_.CreateVector(requests_)));
    const auto head = rpc::bytes_of(builder_);
    frames_.push_back({{head.begin(), head.end()}, std::move(payload_)});
    builder_.Clear();
    requests_.clear();
    payload_.clear();
  }
  void hello() {
    add(wire::CreateHelloDirect(builder_, "", 1, 1,
                                rpc::kCapabilityVm | rpc::kCapabilityContent |
                                    rpc::kCapabilityTrace | rpc::kCapabilityCapture |
                                    rpc::kCapabilityDispatch | rpc::kCapabilityTiming |
                                    rpc::kCapabilityRecall,
                                "null"));
    flush();
  }
  void step();
  std::vector<Frame> take() {
    flush();
    return std::move(frames_);
  }

 private:
  Input& in_;
  FlatBufferBuilder builder_;
  std::vector<flatbuffers::Offset<wire::Request>> requests_;
  std::vector<std::byte> payload_;
  std::vector<Frame> frames_;
  uint64_t sent_ = 0;
  uint64_t called_ = 0;   // the last call
  int64_t timeout_ = -1;  // of the requests of a step
};

void Builder::step() {
  FlatBufferBuilder& b = builder_;
  Input& in = in_;
  // Arguments are drawn one by one: their order must not depend on the compiler.
  const uint8_t drawn = in.byte(), type = drawn % 22;
  timeout_ = drawn / 22 == 10 ? 0 : drawn / 22 == 9 ? int64_t{1} << 59 : -1;
  const uint64_t h = in.handle(), i = in.handle(), j = in.handle();
  const int64_t m = in.number(), n = in.number(), o = in.number();
  if (drawn >= 242) {  // continues a run, or begins one that may suspend
    if (drawn < 248) add(wire::CreateResume(b, h, drawn < 243));
    if (drawn >= 248) {
      const uint8_t u8 = static_cast<uint8_t>(DType::kU8);
      const std::vector<int64_t> shape = {m};
      const std::vector arguments = {
          wire::CreateValueDirect(b, wire::ValueKind::Tensor, u8, i, n, &shape)};
      std::vector<int32_t> sites = {0, 1};
      if (drawn == 255) sites = {static_cast<int32_t>(o)};
      const auto dispatch = wire::CreateDispatchDirect(b, &sites, j, static_cast<uint32_t>(o));
      add(wire::CreateCallDirect(b, h, "twice", &arguments, j, static_cast<uint32_t>(o), false, 0,
                                 0, dispatch, drawn % 2 == 0, called_));
      called_ = sent_ + requests_.size();
    }
    return flush();
  }
  switch (type) {
    case 0:
      return add(wire::CreateAllocate(b, h, m, n % 2 == 1));
    case 1:
      return add(wire::CreateRelease(b, static_cast<wire::HandleKind>(m % 8), h,
                                     n > 100 ? static_cast<uint32_t>(n) : 1));
    case 2:
      return add(wire::CreateBeginBlob(b, h, m));
    case 3: {
      auto bytes = in.bytes(static_cast<size_t>(std::clamp<int64_t>(m, 0, 300)));
      return add(wire::CreateBlobPart(b, h), std::move(bytes));
    }
    case 4: {
      const std::vector<flatbuffers::Offset<flatbuffers::String>> entries = {b.CreateString("a")};
      return add(wire::CreateLoadModuleDirect(b, h, i, "null", "native", &entries));
    }
    case 5:
      return add(wire::CreateGetKernelDirect(b, h, i, m % 2 ? "a" : "b", n % 2 == 1));
    case 6:
      return add(wire::CreateCreateStream(b, h));
    case 7: {
      const auto bytes = in.bytes(static_cast<size_t>(std::clamp<int64_t>(n, 0, 100)));
      std::vector<uint8_t> small(bytes.size());
      std::ranges::transform(bytes, small.begin(), [](std::byte x) { return uint8_t(x); });
      return add(wire::CreateWriteDirect(b, h, i, m, &small));
    }
    case 8: {
      auto bytes = in.bytes(static_cast<size_t>(std::clamp<int64_t>(n, 1, 200)));
      return add(wire::CreateWrite(b, h, i, m), std::move(bytes));
    }
    case 9:
      return add(wire::CreateCopy(b, h, i, m, j, n, o));
    case 10:
      return add(wire::CreateFillZero(b, h, i, m, n));
    case 11: {
      std::vector<wire::Range> ranges(static_cast<size_t>(std::clamp<int64_t>(m, 0, 80)));
      for (wire::Range& range : ranges) range = wire::Range(in.handle(), in.number());
      std::vector<int64_t> scalars(static_cast<size_t>(std::clamp<int64_t>(n, 0, 80)));
      return add(wire::CreateLaunchDirect(b, h, i, &ranges, &scalars, o, 1 + (n & 127)));
    }
    case 12:
      return add(wire::CreateRecord(b, h, i));
    case 13:
      return add(wire::CreateWaitEvent(b, h, i));
    case 14:
      return add(wire::CreateRead(b, h, i, m, n, o));
    case 15:
      return add(wire::CreateSynchronize(b, h, m));
    case 16: {  // with a blob that is an executable
      const auto& image = small_executable();
      add(wire::CreateBeginBlob(b, 5, static_cast<int64_t>(image.size())));
      add(wire::CreateBlobPart(b, 5), image);
      return add(wire::CreateOpenVm(b, h, 5));
    }
    case 17: {
      std::vector<flatbuffers::Offset<wire::Value>> arguments;
      for (int64_t k = 0; k < (m & 3); ++k) arguments.push_back(draw_value(b, in, 0));
      flatbuffers::Offset<wire::Capture> capture;
      if (m & 4) {  // of an executable without kernels
        const std::vector<int32_t> kernels(static_cast<size_t>(m & 8) / 8);
        const auto hash = hash_of(o);
        capture = wire::CreateCaptureDirect(b, (m & 16) == 0, &kernels, n, &hash, &hash);
      }
      add(wire::CreateCallDirect(b, h, n % 2 ? "pair" : "main", &arguments, j,
                                 static_cast<uint32_t>(o), false, 0, capture, 0, false, called_));
      called_ = sent_ + requests_.size();
      return;
    }
    case 19: {
      const auto hash = hash_of(n);
      return add(wire::CreateFindBlobDirect(b, h, &hash, n % 2 ? m : kKnownBytes));
    }
    case 20: {
      const auto hash = hash_of(n);
      return add(wire::CreateWriteContentDirect(b, h, i, m, &hash, n % 2 ? o : kKnownBytes));
    }
    case 21: {  // content that a FindBlob may have asked for
      add(wire::CreateBlobPart(b, j), std::vector<std::byte>(kKnownBytes));
      return add(wire::CreateWriteBlob(b, h, i, m, j));
    }
    default:
      return add(wire::CreateCancel(b, h));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  Input in(data + 1, size - 1);
  Builder builder(in);
  builder.hello();
  std::vector<Frame> frames;
  if (data[0] % 2 == 1) {
    frames = builder.take();
    while (!in.empty()) {
      const size_t head = in.size16(), payload = in.size16();
      frames.push_back({in.bytes(head), {}});
      frames.back().payload = in.bytes(payload);
    }
  } else {
    while (!in.empty()) builder.step();
    frames = builder.take();
  }
  rpc::ServerOptions options;
  options.limits.memory_bytes = 1 << 20;
  options.limits.module_bytes = 1 << 16;
  options.limits.handles = 64;
  options.open_device = [](const std::string&) -> Result<std::shared_ptr<runtime::Device>> {
    return std::make_shared<device::NullDevice>();
  };
  options.open_contents = [] { return std::make_unique<Contents>(); };
  Script channel(std::move(frames));
  Status ended = rpc::serve_session_alone(channel, options);
  require(ended || ended.error().kind == ErrorKind::kPlatform,
          "the session ended with something else than a fault of the channel");
  return 0;
}
