#include "topdown/device_check/device_check.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "build/block_builder.h"
#include "ir/exceptions.h"
#include "pipeline/compile.h"
#include "relax/annotation.h"
#include "runtime/virtual_machine.h"

namespace tapml::topdown {

namespace {

using relax::Variable;
using runtime::BufferId;
using runtime::BufferRange;
using runtime::EventId;
using runtime::kDefaultStream;
using runtime::Session;
using runtime::StreamId;
using Bytes = std::vector<std::byte>;

// The error that a check found; empty if it passed.
using Found = std::string;

Bytes pattern(size_t size, int seed) {
  Bytes bytes(size);
  for (size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<std::byte>((i * 7 + static_cast<size_t>(seed)) & 0xff);
  }
  return bytes;
}

// A buffer that is released at the end of the check.
class Buffer {
 public:
  Buffer(Session& session, int64_t bytes) : session_(session), id_{session.new_handle()} {
    unwrap(session.allocate(id_, bytes));
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { session_.release(id_); }

  BufferRange at(int64_t offset) const { return {id_, offset}; }
  void write(int64_t offset, const Bytes& bytes, StreamId stream = kDefaultStream) const {
    unwrap(session_.write(stream, at(offset), bytes));
  }
  Bytes read(int64_t offset, size_t size, StreamId stream = kDefaultStream) const {
    Bytes bytes(size);
    unwrap(session_.read(stream, at(offset), bytes));
    return bytes;
  }

 private:
  Session& session_;
  BufferId id_;
};

Found expect_bytes(const Bytes& found, const Bytes& expected, const std::string& what) {
  for (size_t i = 0; i < expected.size(); ++i) {
    if (i < found.size() && found[i] == expected[i]) continue;
    return what + ": byte " + std::to_string(i) + " of " + std::to_string(expected.size()) +
           " is " +
           (i < found.size() ? std::to_string(std::to_integer<int>(found[i])) : "missing") +
           ", expected " + std::to_string(std::to_integer<int>(expected[i]));
  }
  return "";
}

// ---- memory

Found written_bytes_are_read(Session& session) {
  for (size_t size : {size_t{1}, size_t{3}, size_t{64}, size_t{1000}, size_t{1} << 20}) {
    Buffer buffer(session, static_cast<int64_t>(size));
    buffer.write(0, pattern(size, 1));
    Found found = expect_bytes(buffer.read(0, size), pattern(size, 1), "a buffer written and read");
    if (!found.empty()) return found;
  }
  return "";
}

Found ranges_are_written(Session& session) {
  Buffer buffer(session, 100);
  Bytes expected(100, std::byte{9});
  buffer.write(0, expected);
  buffer.write(37, {std::byte{1}, std::byte{2}, std::byte{3}});
  unwrap(session.fill_zero(kDefaultStream, buffer.at(38), 1));
  expected[37] = std::byte{1};
  expected[38] = std::byte{0};
  expected[39] = std::byte{3};
  return expect_bytes(buffer.read(0, 100), expected, "a range inside a buffer");
}

// Between buffers, and within one if source and destination overlap, in both directions.
Found bytes_are_copied(Session& session) {
  Buffer a(session, 256), b(session, 300);
  Bytes source = pattern(256, 0), expected(300, std::byte{0});
  a.write(0, source);
  unwrap(session.fill_zero(kDefaultStream, b.at(0), 300));
  unwrap(session.copy(kDefaultStream, a.at(5), b.at(11), 200));
  std::copy_n(source.begin() + 5, 200, expected.begin() + 11);
  Found found = expect_bytes(b.read(0, 300), expected, "a copy");
  if (!found.empty()) return found;
  unwrap(session.copy(kDefaultStream, a.at(0), a.at(16), 200));
  std::copy_backward(source.begin(), source.begin() + 200, source.begin() + 216);
  found = expect_bytes(a.read(0, 256), source, "a copy that overlaps, upwards");
  if (!found.empty()) return found;
  unwrap(session.copy(kDefaultStream, a.at(16), a.at(0), 200));
  std::copy(source.begin() + 16, source.begin() + 216, source.begin());
  return expect_bytes(a.read(0, 256), source, "a copy that overlaps, downwards");
}

Found no_bytes_are_allowed(Session& session) {
  Buffer empty(session, 0), some(session, 16);
  unwrap(session.write(kDefaultStream, empty.at(0), {}));
  unwrap(session.copy(kDefaultStream, empty.at(0), some.at(16), 0));
  unwrap(session.fill_zero(kDefaultStream, empty.at(0), 0));
  std::byte one{};
  const bool refused = !session.read(kDefaultStream, empty.at(0), std::span(&one, 1));
  return refused ? "" : "a byte of an empty buffer was read";
}

Found too_much_is_refused(Session& session) {
  const BufferId huge{session.new_handle()};
  const Status status = session.allocate(huge, int64_t{1} << 60);
  if (status) {
    session.release(huge);
    return "2^60 bytes were allocated";
  }
  const Error& error = status.error();
  if (error.kind != ErrorKind::kPlatform ||
      (error.fault != PlatformFault::kOutOfMemory && error.fault != PlatformFault::kLimit)) {
    return "2^60 bytes are refused as something else: " + error.to_string();
  }
  return written_bytes_are_read(session);
}

Found bad_handles_are_refused(Session& session) {
  Buffer buffer(session, 16);
  const Bytes bytes(16);
  if (session.write(kDefaultStream, {BufferId{session.new_handle()}, 0}, bytes)) {
    return "a buffer that was never made was written";
  }
  if (session.write(kDefaultStream, buffer.at(1), bytes)) return "written past a buffer's end";
  if (session.copy(kDefaultStream, buffer.at(0), buffer.at(8), 9)) return "copied past its end";
  unwrap(session.synchronize(kDefaultStream));
  return "";
}

Found snapshots_are_restored(Session& session) {
  Buffer buffer(session, 1000);
  buffer.write(0, pattern(1000, 1));
  const Session::Snapshot snapshot = unwrap(session.snapshot());
  buffer.write(0, pattern(1000, 2));
  unwrap(session.restore(snapshot));
  return expect_bytes(buffer.read(0, 1000), pattern(1000, 1), "a buffer restored");
}

// A stream that waits for another's event sees the work before that event.
Found streams_wait_for_events(Session& session) {
  const StreamId other{session.new_handle()};
  unwrap(session.create_stream(other));
  Found found;
  {
    Buffer buffer(session, 1 << 16);
    for (int turn = 0; turn < 50 && found.empty(); ++turn) {
      const EventId event{session.new_handle()};
      buffer.write(0, pattern(1 << 16, turn));
      unwrap(session.record(kDefaultStream, event));
      unwrap(session.wait_event(other, event));
      found = expect_bytes(buffer.read(0, 1 << 16, other), pattern(1 << 16, turn),
                           "what another stream wrote before an event");
    }
  }
  session.destroy_stream(other);
  return found;
}

// ---- kernels

class Kernels {
 public:
  Kernels(Session& session, const target::Target& target)
      : session_(session), target_(target), computes_(target.description.computes) {}

  void compile(const Module& module) {
    vm_ = unwrap(session_.open_vm(pipeline::compile(module, target_)));
  }

  HostTensor call(const std::string& function, const std::vector<HostTensor>& arguments) {
    std::vector<runtime::Value> values;
    for (const HostTensor& argument : arguments) {
      values.emplace_back(unwrap(runtime::upload(session_, argument)));
    }
    const runtime::Value result = unwrap(vm_->call(function, values));
    return unwrap(runtime::download(*result.tensor()));
  }

  // Empty if each element is within `tolerance` of `expected`.
  Found expect(const HostTensor& found, const std::function<double(int64_t)>& expected,
               const std::string& what, double tolerance = 0) const {
    for (int64_t i = 0; computes_ && i < found.size(); ++i) {
      const double value = found.at_f64(i), wanted = expected(i);
      if (std::abs(value - wanted) <= tolerance) continue;
      return what + ": element " + std::to_string(i) + " of " + std::to_string(found.size()) +
             " is " + std::to_string(value) + ", expected " + std::to_string(wanted);
    }
    return "";
  }

  Session& session() const { return session_; }
  const std::set<DType>& computed() const { return session_.info().features.compute_dtypes; }
  const std::set<DType>& stored() const { return session_.info().features.storage_dtypes; }
  runtime::VirtualMachine& vm() { return *vm_; }

 private:
  Session& session_;
  target::Target target_;
  bool computes_;
  std::unique_ptr<runtime::VirtualMachine> vm_;
};

// Values that every dtype holds exactly.
double small_value(DType dtype, int64_t i) {
  return dtype == DType::kBool ? static_cast<double>(i % 2) : static_cast<double>(i * 7 % 50);
}

HostTensor small_values(DType dtype, const Shape& shape) {
  HostTensor tensor = HostTensor::zeros(dtype, shape);
  for (int64_t i = 0; i < tensor.size(); ++i) tensor.set_f64(i, small_value(dtype, i));
  return tensor;
}

constexpr int64_t kLengths[] = {1, 7, 31, 33, 1000, 1025};  // not multiples of group sizes

relax::Annotation vector_of(DType dtype, const Var& n) {
  return relax::tensor_annotation({n}, dtype);
}

// Stores each dtype from and to f32.
Found dtypes_are_stored(Kernels& kernels) {
  Module module;
  for (DType dtype : kernels.stored()) {
    const std::string name = dtype_name(dtype);
    for (bool widens : {true, false}) {
      build::FunctionBuilder f(module);
      const Variable x = f.param("x", vector_of(widens ? dtype : DType::kF32, make_var("n")));
      module.functions[(widens ? "from_" : "to_") + name] =
          f.finish(f.emit_op("cast", {x}, {{"dtype", widens ? DType::kF32 : dtype}}));
    }
  }
  kernels.compile(module);
  for (DType dtype : kernels.stored()) {
    const std::string name = dtype_name(dtype);
    for (int64_t n : kLengths) {
      HostTensor values = small_values(dtype, {n});
      auto expected = [&](int64_t i) { return small_value(dtype, i); };
      const HostTensor wide = kernels.call("from_" + name, {values});
      Found found = kernels.expect(wide, expected, name + " as f32");
      HostTensor source = HostTensor::zeros(DType::kF32, {n});
      for (int64_t i = 0; i < n; ++i) source.set_f64(i, small_value(dtype, i));
      if (found.empty())
        found = kernels.expect(kernels.call("to_" + name, {source}), expected, "f32 as " + name);
      if (!found.empty()) return found;
    }
  }
  return "";
}

Found dtypes_are_computed(Kernels& kernels) {
  std::vector<DType> dtypes;
  for (DType dtype : kernels.computed()) {
    if (dtype != DType::kBool) dtypes.push_back(dtype);
  }
  Module module;
  for (DType dtype : dtypes) {
    build::FunctionBuilder f(module);
    const Var n = make_var("n");
    const Variable x = f.param("x", vector_of(dtype, n)), y = f.param("y", vector_of(dtype, n));
    f.begin_dataflow();
    const Variable product = f.emit_op("multiply", {x, y});
    const Variable sum = f.emit_op("add", {product, y}, {}, "", true);
    f.end_dataflow();
    module.functions[dtype_name(dtype)] = f.finish(sum);
  }
  kernels.compile(module);
  for (DType dtype : dtypes) {
    for (int64_t n : kLengths) {
      HostTensor x = HostTensor::zeros(dtype, {n}), y = HostTensor::zeros(dtype, {n});
      for (int64_t i = 0; i < n; ++i) {
        x.set_f64(i, static_cast<double>(i % 10));
        y.set_f64(i, static_cast<double>(i % 7));
      }
      const Found found = kernels.expect(
          kernels.call(dtype_name(dtype), {x, y}),
          [](int64_t i) { return static_cast<double>((i % 10 + 1) * (i % 7)); },
          std::string("x*y + y in ") + dtype_name(dtype));
      if (!found.empty()) return found;
    }
  }
  return "";
}

// Groups that share memory, and sums that threads split: integers, so that every order of summing
// gives the same result.
Found sums_and_products(Kernels& kernels) {
  Module module;
  {
    build::FunctionBuilder f(module);
    const Variable x = f.param("x", relax::tensor_annotation({make_var("n"), 130}, DType::kF32));
    module.functions["sums"] = f.finish(f.emit_op("sum", {x}, {{"axes", std::vector<int64_t>{1}}}));
  }
  {
    build::FunctionBuilder f(module);
    const Variable x = f.param("x", relax::tensor_annotation({make_var("n"), 70}, DType::kF32));
    const Variable w = f.param("w", relax::tensor_annotation({65, 70}, DType::kF32));
    module.functions["product"] = f.finish(f.emit_op("matmul", {x, w}, {{"transpose_b", true}}));
  }
  {
    build::FunctionBuilder f(module);
    const Variable x = f.param("x", relax::tensor_annotation({make_var("n"), 100}, DType::kF32));
    module.functions["softmax"] = f.finish(f.emit_op("softmax", {x}));
  }
  kernels.compile(module);
  for (int64_t rows : {1, 3, 5, 33}) {
    const HostTensor x = small_values(DType::kF32, {rows, 130});
    auto sum_of = [&](int64_t row) {
      double sum = 0;
      for (int64_t i = 0; i < 130; ++i) sum += x.at_f64(row * 130 + i);
      return sum;
    };
    Found found = kernels.expect(kernels.call("sums", {x}), sum_of, "sums of rows");
    const HostTensor left = small_values(DType::kF32, {rows, 70});
    const HostTensor right = small_values(DType::kF32, {65, 70});
    auto product_at = [&](int64_t at) {
      double sum = 0;
      for (int64_t k = 0; k < 70; ++k)
        sum += left.at_f64(at / 65 * 70 + k) * right.at_f64(at % 65 * 70 + k);
      return sum;
    };
    if (found.empty())
      found = kernels.expect(kernels.call("product", {left, right}), product_at,
                             "a product of matrices");
    HostTensor scores = HostTensor::zeros(DType::kF32, {rows, 100});
    for (int64_t i = 0; i < scores.size(); ++i)
      scores.set_f64(i, 0.1 * static_cast<double>(i * 7 % 50));
    auto weight_at = [&](int64_t at) {
      double sum = 0;
      for (int64_t i = 0; i < 100; ++i) sum += std::exp(scores.at_f64(at / 100 * 100 + i));
      return std::exp(scores.at_f64(at)) / sum;
    };
    if (found.empty())
      found = kernels.expect(kernels.call("softmax", {scores}), weight_at, "a softmax", 1e-6);
    if (!found.empty()) return found;
  }
  return "";
}

// Each launch reads the output of the one before.
Found launches_keep_their_order(Kernels& kernels) {
  Module module;
  build::FunctionBuilder f(module);
  const Variable x = f.param("x", vector_of(DType::kI32, make_var("n")));
  module.functions["twice"] = f.finish(f.emit_op("add", {x, x}));
  kernels.compile(module);
  HostTensor one = HostTensor::zeros(DType::kI32, {1000});
  for (int64_t i = 0; i < one.size(); ++i) one.set_f64(i, static_cast<double>(i % 3 + 1));
  for (int turn = 0; turn < 50; ++turn) {
    runtime::Value value = unwrap(runtime::upload(kernels.session(), one));
    for (int step = 0; step < 20; ++step) {
      const runtime::Value arguments[] = {value};
      value = unwrap(kernels.vm().call("twice", arguments));
    }
    const Found found = kernels.expect(
        unwrap(runtime::download(*value.tensor())),
        [](int64_t i) { return std::ldexp(static_cast<double>(i % 3 + 1), 20); },
        "20 launches in a row");
    if (!found.empty()) return found;
  }
  return "";
}

}  // namespace

std::vector<DeviceCheck> check_device(Session& session, const target::Target& target,
                                      const std::function<void(const DeviceCheck&)>& done) {
  struct Check {
    const char* name;
    Found (*of_memory)(Session&);
    Found (*of_kernels)(Kernels&);
  };
  const Check checks[] = {
      {"written bytes are read", written_bytes_are_read, nullptr},
      {"ranges inside a buffer", ranges_are_written, nullptr},
      {"copies", bytes_are_copied, nullptr},
      {"no bytes", no_bytes_are_allowed, nullptr},
      {"too much memory is refused", too_much_is_refused, nullptr},
      {"bad handles are refused", bad_handles_are_refused, nullptr},
      {"snapshots", snapshots_are_restored, nullptr},
      {"streams and events", streams_wait_for_events, nullptr},
      {"storage of every dtype", nullptr, dtypes_are_stored},
      {"arithmetic of every dtype", nullptr, dtypes_are_computed},
      {"sums, products and softmax", nullptr, sums_and_products},
      {"1,000 launches in order", nullptr, launches_keep_their_order},
  };
  std::vector<DeviceCheck> results;
  for (const Check& check : checks) {
    const Result<Found> found = guard([&] {
      if (check.of_memory) return check.of_memory(session);
      Kernels kernels(session, target);
      return check.of_kernels(kernels);
    });
    results.push_back({check.name, found ? *found : found.error().to_string()});
    if (done) done(results.back());
  }
  return results;
}

}  // namespace tapml::topdown
