// The one point that every kernel call passes (architecture contract 4).
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

// Those of an executable, which outlives them.
std::vector<CallSite> call_sites_of(const Executable& executable);

// The tensors of a call, in order of the kernel's parameters. A view: of tensors in a row, or of
// where they lie.
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
  int64_t sequence;  // number of this call in the run, from 0
  Arguments args;
  std::span<const int64_t> scalars;
};

struct Value;  // value.h

// A call of a function of the host.
struct PackedCall {
  const std::string& name;      // extern "name"
  const std::string& function;  // that makes the call
  int64_t sequence;             // kernel calls before it in the run
  std::span<const Value> args;
};

// Looks at calls. It must not change what it sees: an observed run is the same program.
class Observer {
 public:
  virtual ~Observer() = default;
  // Whether this call's values are needed; only then are before() and after() called, and only then
  // does the call point wait.
  virtual bool wants(const CallSite& site, int64_t sequence) noexcept = 0;
  virtual Status before(const KernelCall& call) noexcept = 0;
  virtual Status after(const KernelCall& call) noexcept = 0;
  // A packed call is about to be made: an event, for which nothing waits.
  virtual void packed(const PackedCall& call) noexcept { static_cast<void>(call); }
};

// Memory that a caller has for a kernel's scratch tensors; the runner has its own for what is null.
struct Scratch {
  std::shared_ptr<Storage> workspace;  // where the implementation's workspaces lie
  int64_t workspace_offset = 0;        // bytes in front of them there
  const Tensor* prepared = nullptr;    // what KernelRunner::prepare() made of the call's weights
};

// What a kernel is whose launches the device cannot take (work groups, bindings).
enum class BeyondLimits : uint8_t {
  kRefusesAll,    // no kernel of the executable is loaded
  kRefusesCalls,  // only its own calls fail, with kLimit
};

// Runs the kernels of one executable on one session: loads its modules, owns its workspaces.
class KernelRunner {
 public:
  static Result<std::unique_ptr<KernelRunner>> create(
      Session& session, std::shared_ptr<const Executable> executable,
      BeyondLimits beyond = BeyondLimits::kRefusesAll, Deadline deadline = {}) noexcept;
  ~KernelRunner();

  Session& session() const;
  const Executable& executable() const;
  bool has(int32_t kernel) const noexcept;
  // Enqueues kernel `kernel` (index into the executable's table). Arguments live on this session;
  // their dtypes and shapes are checked against the signature, limits before the launch. Versions
  // of out and inout storages are bumped.
  // Launches that prepare run only where `scratch` has nothing prepared.
  Status enqueue(int32_t kernel, Arguments args, std::span<const int64_t> scalars,
                 StreamId stream = kDefaultStream, const Scratch& scratch = {}) noexcept;
  // Enqueues the launches of kernel `kernel` that prepare: of `sources`, one a parameter in
  // prepared_sources(), into `out`, at least prepared_bytes() on this session.
  Status prepare(int32_t kernel, Arguments sources, const Tensor& out,
                 StreamId stream = kDefaultStream) noexcept;

 private:
  KernelRunner();
  struct State;
  std::unique_ptr<State> state_;
};

class Dispatcher;  // dispatch.h

// Kernels and library routines are called through call() alone, functions of the host through
// call_packed().
class CallPoint {
 public:
  explicit CallPoint(KernelRunner& source) : source_(source) {}
  void set_observer(Observer* observer) { observer_ = observer; }
  Observer* observer() const { return observer_; }
  // Calls at the sites (by their id) are `dispatcher`'s from now on; null: none are.
  void set_dispatcher(Dispatcher* dispatcher, std::vector<bool> sites = {}) {
    dispatcher_ = dispatcher;
    offloaded_sites_ = std::move(sites);
  }
  // Enqueues. What a dispatcher takes the source does not compute; the outputs are in `args` all
  // the same. `scratch`: as for the runner, when the source computes.
  Status call(const CallSite& site, Arguments args, std::span<const int64_t> scalars,
              const Scratch& scratch = {}) noexcept;
  // Prepared scratch of the source's kernel: see KernelRunner::prepare(). No kernel call: neither
  // observed nor dispatched.
  Status prepare(int32_t kernel, Arguments sources, const Tensor& out) noexcept {
    return source_.prepare(kernel, sources, out);
  }
  // Calls `function` on the source's session. Never dispatched: what it does to the host belongs to
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
  std::vector<bool> offloaded_sites_;  // sites of what it takes
  int64_t sequence_ = 0;
  std::atomic<int64_t>* launched_ = nullptr;
};

}  // namespace tapml::runtime
