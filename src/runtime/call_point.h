// The single point through which every kernel call passes (architecture contract 4).
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "runtime/tensor.h"

namespace tapml::runtime {

// A call site of the program, resolved at load.
struct CallSite {
  int32_t id = 0;
  const KernelInfo* kernel = nullptr;
  std::string function;
  Origin origin;
};

// The call sites of an executable, which must outlive them.
std::vector<CallSite> call_sites_of(const Executable& executable);

// The tensors of a call, in the order of the kernel's parameters: a view of contiguous tensors, or
// of pointers to them.
class Arguments {
 public:
  Arguments() = default;
  Arguments(std::span<const Tensor> tensors)  // NOLINT
      : row_(tensors.data()), size_(tensors.size()) {}
  Arguments(const std::vector<Tensor>& tensors)  // NOLINT
      : Arguments(std::span<const Tensor>(tensors)) {}
  Arguments(std::span<const Tensor* const> places)  // NOLINT
      : places_(places.data()), size_(places.size()) {}

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const Tensor& operator[](size_t i) const { return places_ ? *places_[i] : row_[i]; }
  const Tensor& back() const { return (*this)[size_ - 1]; }

 private:
  const Tensor* row_ = nullptr;
  const Tensor* const* places_ = nullptr;
  size_t size_ = 0;
};

struct KernelCall {
  const CallSite& site;
  int64_t sequence;  // index of this call in the run, from 0
  Arguments args;
  std::span<const int64_t> scalars;
};

struct Value;  // value.h

// A call of a host function.
struct PackedCall {
  const std::string& name;      // extern "name"
  const std::string& function;  // the caller
  int64_t sequence;             // number of kernel calls before it in the run
  std::span<const Value> args;
};

// Observes calls. It must not change what it sees: observing must not affect the run.
class Observer {
 public:
  virtual ~Observer() = default;
  // Whether this call's values are needed; only then does the call point wait, and call before()
  // and after().
  virtual bool wants(const CallSite& site, int64_t sequence) noexcept = 0;
  virtual Status before(const KernelCall& call) noexcept = 0;
  virtual Status after(const KernelCall& call) noexcept = 0;
  // Called before a packed call, without waiting for enqueued work.
  virtual void packed(const PackedCall& call) noexcept { static_cast<void>(call); }
};

// The caller's memory for a kernel's scratch tensors; null: the runner uses its own.
struct Scratch {
  std::shared_ptr<Storage> workspace;  // holds the implementation's workspaces
  int64_t workspace_offset = 0;        // bytes before them
  const Tensor* prepared = nullptr;    // result of KernelRunner::prepare() for the call's weights
};

// How to treat a kernel whose launches exceed the device's limits (work groups, bindings).
enum class BeyondLimits : uint8_t {
  kRefusesAll,    // the whole executable fails to load
  kRefusesCalls,  // only calls of this kernel fail, with kLimit
};

// Runs the kernels of one executable on one session: loads its modules and owns its workspaces.
class KernelRunner {
 public:
  static Result<std::unique_ptr<KernelRunner>> create(
      Session& session, std::shared_ptr<const Executable> executable,
      BeyondLimits beyond = BeyondLimits::kRefusesAll, Deadline deadline = {}) noexcept;
  ~KernelRunner();

  Session& session() const;
  const Executable& executable() const;
  bool has(int32_t kernel) const noexcept;
  // Enqueues kernel `kernel` (index into the executable's table). Arguments must be on this
  // session; their dtypes and shapes are checked against the signature, and limits before the
  // launch. Increments the versions of out and inout storages. Preparing launches run only if
  // `scratch` has no prepared tensor.
  Status enqueue(int32_t kernel, Arguments args, std::span<const int64_t> scalars,
                 StreamId stream = kDefaultStream, const Scratch& scratch = {}) noexcept;
  // Enqueues the preparing launches of kernel `kernel`: from `sources`, one for each parameter in
  // prepared_sources(), into `out`, a tensor of at least prepared_bytes() on this session.
  Status prepare(int32_t kernel, Arguments sources, const Tensor& out,
                 StreamId stream = kDefaultStream) noexcept;

 private:
  KernelRunner();
  struct State;
  std::unique_ptr<State> state_;
};

class Dispatcher;  // dispatch.h

// Kernels and library routines are called only through call(), host functions only through
// call_packed().
class CallPoint {
 public:
  explicit CallPoint(KernelRunner& source) : source_(source) {}
  void set_observer(Observer* observer) { observer_ = observer; }
  Observer* observer() const { return observer_; }
  // Sends later calls at the sites (by their id) to `dispatcher`; null: none.
  void set_dispatcher(Dispatcher* dispatcher, std::vector<bool> sites = {}) {
    dispatcher_ = dispatcher;
    offloaded_sites_ = std::move(sites);
  }
  // Enqueues the call. The source does not compute calls that a dispatcher takes; the outputs are
  // in `args` either way. `scratch`: as for the runner, if the source computes.
  Status call(const CallSite& site, Arguments args, std::span<const int64_t> scalars,
              const Scratch& scratch = {}) noexcept;
  // Prepares scratch of the source's kernel (KernelRunner::prepare()). Not a kernel call: neither
  // observed nor dispatched.
  Status prepare(int32_t kernel, Arguments sources, const Tensor& out) noexcept {
    return source_.prepare(kernel, sources, out);
  }
  // Calls `function` on the source's session. Never dispatched: its effects on the host belong to
  // the run.
  Status call_packed(const PackedCall& call,
                     const std::function<Result<Value>(Session&, std::span<const Value>)>& function,
                     Value& result) noexcept;
  int64_t calls() const { return sequence_; }
  // From now on `launched` counts the calls, for another thread to read; null: nothing does. It
  // must outlive that.
  void set_counter(std::atomic<int64_t>* launched) { launched_ = launched; }

 private:
  Status observe(const KernelCall& call, const Scratch& scratch) noexcept;
  Status compute(const CallSite& site, Arguments args, std::span<const int64_t> scalars,
                 const Scratch& scratch) noexcept;

  KernelRunner& source_;
  Observer* observer_ = nullptr;
  Dispatcher* dispatcher_ = nullptr;
  std::vector<bool> offloaded_sites_;  // the sites that it takes
  int64_t sequence_ = 0;
  std::atomic<int64_t>* launched_ = nullptr;
};

}  // namespace tapml::runtime
