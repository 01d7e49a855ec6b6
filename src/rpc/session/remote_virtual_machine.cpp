#include "rpc/session/remote_virtual_machine.h"

#include <algorithm>
#include <tuple>

#include "exec/executable_file.h"
#include "exec/parameter_access.h"
#include "exec/validate.h"
#include "rpc/session/client_capture.h"
#include "rpc/session/wire_value.h"
#include "runtime/value_check.h"

namespace tapml::rpc {

using runtime::BufferId;
using runtime::Storage;
using runtime::Tensor;
using runtime::Value;

namespace {

using Builder = flatbuffers::FlatBufferBuilder;

// Calls take(storage) for each tensor, until it returns true.
template <class Take>
bool for_each_storage(std::span<const Value> values, Take&& take) {
  return std::ranges::any_of(values, [&](const Value& value) {
    if (const Tensor* tensor = value.tensor()) return take(tensor->storage);
    const runtime::ValueList* fields = value.tuple();
    return fields && for_each_storage(*fields, take);
  });
}

Result<uint64_t> name_of_storage(const std::shared_ptr<Storage>& storage) {
  return static_cast<uint64_t>(storage->buffer());
}

// Time limit for reporting that a call was given up, which is late already.
constexpr std::chrono::milliseconds kFarewell{20};

// Limit on hashes of contents in one call, well within that of a head.
constexpr size_t kMostHashes = size_t{1} << 16;

auto put_hashes(Builder& builder, const std::vector<std::string>& hashes) {
  std::vector<uint8_t> bytes;
  for (const std::string& hash : hashes) {
    if (const auto digest = digest_of(hash)) {
      bytes.insert(bytes.end(), digest->begin(), digest->end());
    }
  }
  return builder.CreateVector(bytes);
}

}  // namespace

Result<std::unique_ptr<runtime::VirtualMachine>> RemoteVirtualMachine::open(
    ClientSession& session, std::shared_ptr<const Executable> executable,
    const runtime::Deadline& deadline) noexcept {
  if (!executable) return fail(internal_error("a VM without an executable"));
  ExecutableFile file;
  file.executable = *executable;
  TAPML_ASSIGN(const std::vector<std::byte> bytes, write_executable(file));
  TAPML_ASSIGN(const uint64_t blob, session.send_blob(bytes, deadline));
  const uint64_t id = session.new_handle();
  ClientLink::Reply reply;
  const int64_t modules = std::ssize(executable->modules);
  tell(session.watcher(), {"load", 0, modules, "modules"});
  reply.expect_progress([&](int64_t done, int64_t) {
    tell(session.watcher(), {"load", std::clamp<int64_t>(done, 0, modules), modules, "modules"});
  });
  Status opened = session.link().call(
      [&](Builder& builder) { return wire::CreateOpenVm(builder, id, blob); }, reply, deadline);
  if (!opened) {
    if (!reply.answered()) {
      session.forget(wire::HandleKind::Blob, blob);  // if it was not requested at all
      session.forget(wire::HandleKind::VirtualMachine, id);
    }
    return fail(std::move(opened).error());
  }
  tell(session.watcher(), {"load", modules, modules, "modules"});
  return std::make_unique<RemoteVirtualMachine>(session, std::move(executable), id);
}

RemoteVirtualMachine::~RemoteVirtualMachine() {
  session_.forget(wire::HandleKind::VirtualMachine, id_);
}

Status RemoteVirtualMachine::set_capture(const runtime::CapturePlan& plan,
                                         runtime::CaptureSink* sink) noexcept {
  if (!session_.captures()) {
    return fail(platform_error(PlatformFault::kAbsent, "the server cannot capture calls of its VMs",
                               "", "use the same release of tapml on both sides"));
  }
  TAPML_TRY(runtime::check_plan(*executable_, plan));
  plan_ = plan;
  sink_ = sink;
  anew_ = true;
  timing_ = nullptr;
  return {};
}

Status RemoteVirtualMachine::set_timing(runtime::TimingSink* sink) noexcept {
  if (!session_.times()) {
    return fail(platform_error(PlatformFault::kAbsent, "the server cannot time calls of its VMs",
                               "", "use the same release of tapml on both sides"));
  }
  if (sink) {
    TAPML_ASSIGN(const auto clock, session_.compare_clocks());
    ahead_ = clock.ahead;
  }
  timing_ = sink;
  sink_ = nullptr;
  return {};
}

Status RemoteVirtualMachine::take_times(const wire::Timed* timed) noexcept {
  if (!timed) {
    return fail(protocol_error("a request for times was answered by a message of another kind"));
  }
  for (flatbuffers::uoffset_t i = 0; timed->calls() && i < timed->calls()->size(); ++i) {
    const wire::TimedCall& call = *timed->calls()->Get(i);
    const bool known = call.site() >= 0 && static_cast<size_t>(call.site()) < sites_.size();
    const size_t scalars = size_of(call.scalars());
    if (!known || scalars != sites_[static_cast<size_t>(call.site())].kernel->scalars.size() ||
        call.duration() < 0) {
      return fail(protocol_error("the time of a call is malformed"));
    }
    runtime::TimedCall local{call.site(), call.sequence(), {}, 0, call.duration()};
    if (scalars > 0) local.scalars.assign(call.scalars()->begin(), call.scalars()->end());
    // Unsigned arithmetic wraps around, whatever the other side sends.
    local.start =
        static_cast<int64_t>(static_cast<uint64_t>(call.start()) - static_cast<uint64_t>(ahead_));
    TAPML_TRY(timing_->timed(local));
  }
  return {};
}

Status RemoteVirtualMachine::set_dispatch(const runtime::DispatchPlan& plan,
                                          runtime::Dispatcher* dispatcher) noexcept {
  if (!session_.dispatches()) {
    return fail(platform_error(PlatformFault::kAbsent,
                               "the server cannot dispatch calls of its VMs to the client", "",
                               "use the same release of tapml on both sides"));
  }
  TAPML_TRY(runtime::dispatched_sites(*executable_, plan));
  dispatched_ = plan;
  dispatcher_ = plan.sites.empty() ? nullptr : dispatcher;
  return {};
}

Status RemoteVirtualMachine::resume(DispatchedCalls& calls, ClientLink::Reply& reply,
                                    const runtime::Deadline& deadline) noexcept {
  while (const auto* dispatched = reply.answer<wire::Dispatched>()) {
    TAPML_TRY(session_.link().may_begin(deadline, interrupt_));
    TAPML_TRY(calls.compute(*dispatched, reply.message_bytes()));
    reply.expect_another();
    TAPML_TRY(
        session_.link().call([&](Builder& builder) { return wire::CreateResume(builder, id_); },
                             reply, deadline, interrupt_));
  }
  return {};
}

Result<Value> RemoteVirtualMachine::call(std::string_view function, std::span<const Value> args,
                                         runtime::Deadline deadline) noexcept {
  ClientLink::Reply reply;
  return run(function, args, 0, reply, deadline);
}

Result<runtime::VirtualMachine::Read> RemoteVirtualMachine::call_and_read(
    std::string_view function, std::span<const Value> args, size_t field,
    runtime::Deadline deadline) noexcept {
  ClientLink::Reply reply;
  reply.expect_tail();
  Read read;
  TAPML_ASSIGN(read.result, run(function, args, static_cast<uint32_t>(field + 1), reply, deadline));
  TAPML_ASSIGN(const Tensor* tensor, runtime::result_tensor(read.result, function, field));
  if (reply.tail_bytes() == 0) {  // too large for a reply, or the other side sends none
    TAPML_ASSIGN(read.bytes, runtime::download(*tensor, runtime::kDefaultStream, deadline));
    return read;
  }
  if (reply.tail_bytes() != static_cast<size_t>(tensor->byte_size())) {
    return fail(protocol_error("a result came with " + std::to_string(reply.tail_bytes()) +
                               " bytes of a tensor of " + std::to_string(tensor->byte_size())));
  }
  const std::shared_ptr<std::byte[]> tail = reply.take_tail();
  read.bytes = HostTensor::view(tensor->dtype, tensor->shape, tail.get(), tail);
  return read;
}

// What one call asks for.
struct RemoteVirtualMachine::Run {
  std::string_view function;
  std::span<const Value> args;
  uint32_t read = 0;                       // as in wire::Call
  uint64_t first = 0, lent = 0;            // names for results, and for buffers of dispatched calls
  std::vector<std::string> held, dropped;  // for the capture
  Called* called = nullptr;                // state of the function; null: unknown
  ArgumentCache cache;                     // of the previous call; then of this one
  std::vector<size_t> changed;             // arguments that `cache` lacks, in order
  std::vector<std::shared_ptr<Storage>> made;  // storages of results, from `first` on
  Storages storages;                           // of a call with a dispatch plan, by name

  std::string argument(size_t i) const {
    return "argument " + std::to_string(i) + " of " + std::string(function);
  }
  // A storage that a result may use; null if the name is none of the call's.
  std::shared_ptr<Storage> find_storage(uint64_t name) const;
};

std::shared_ptr<Storage> RemoteVirtualMachine::Run::find_storage(uint64_t name) const {
  if (name >= first && name - first < made.size()) return made[name - first];
  if (const auto found = storages.find(name); found != storages.end()) return found->second;
  std::shared_ptr<Storage> storage;
  for_each_storage(args, [&](const std::shared_ptr<Storage>& one) {
    if (static_cast<uint64_t>(one->buffer()) != name) return false;
    storage = one;
    return true;
  });
  return storage;
}

Result<flatbuffers::Offset<wire::Call>> RemoteVirtualMachine::put_call(Builder& builder,
                                                                       Run& run) const {
  std::vector<flatbuffers::Offset<wire::Value>> list;
  list.reserve(2 * run.changed.size() + 1);
  const NameOf name_of = name_of_storage;
  size_t next = 0;  // index of an argument
  const auto put_same = [&](size_t end) {
    if (next >= end) return;
    const auto further = static_cast<int64_t>(end - next - 1);
    list.push_back(wire::CreateValue(builder, wire::ValueKind::Cached, 0, 0, further));
  };
  for (const size_t i : run.changed) {
    put_same(i);
    TAPML_ASSIGN(const auto value,
                 put_value(builder, run.args[i], name_of, [&] { return run.argument(i); }));
    list.push_back(value);
    run.cache.keep(i, run.args[i]);
    next = i + 1;
  }
  put_same(run.args.size());
  const uint64_t after = run.cache.request();
  run.cache.resize(run.args.size());
  const auto arguments = builder.CreateVector(list);
  const auto name = builder.CreateString(run.function.data(), run.function.size());
  flatbuffers::Offset<wire::Capture> capture;
  if (sink_) {
    const auto kernels = builder.CreateVector(plan_.kernels);
    const auto has = put_hashes(builder, run.held), has_not = put_hashes(builder, run.dropped);
    capture = wire::CreateCapture(builder, anew_, kernels, plan_.calls, has, has_not);
  }
  flatbuffers::Offset<wire::Dispatch> dispatch;
  if (dispatcher_) {
    const auto sites = builder.CreateVector(dispatched_.sites);
    dispatch = wire::CreateDispatch(builder, sites, run.lent, kMostNames);
  }
  return wire::CreateCall(builder, id_, name, arguments, run.first, kMostNames, false, run.read,
                          capture, dispatch, timing_ != nullptr, after,
                          std::max<int64_t>(call_limit_, 0));
}

RemoteVirtualMachine::Called* RemoteVirtualMachine::find_called(std::string_view function) {
  if (const auto found = called_.find(function); found != called_.end()) return &found->second;
  const VmFunction* known = executable_->find_function(function);
  if (!known || !validate(*executable_)) return nullptr;
  Called& called = called_[std::string(function)];
  called.written = written_parameters(*executable_, *known);
  return &called;
}

Status RemoteVirtualMachine::check_arguments(Run& run) const {
  const ArgumentCache* cache =
      run.called && run.called->cache.request() != 0 ? &run.called->cache : nullptr;
  for (size_t i = 0; i < run.args.size(); ++i) {
    if (cache && cache->has(i, run.args[i])) continue;
    run.changed.push_back(i);
    if (runtime::lives_on(run.args[i], session_)) continue;
    TAPML_TRY(runtime::check_home(run.args[i], session_, run.argument(i)));
  }
  return {};
}

// What kernels wrote is unknown without a report; which arguments may be written is known.
void RemoteVirtualMachine::note_writes(const Run& run) const noexcept {
  for (size_t i = 0; i < run.args.size(); ++i) {
    const bool known = run.called && i < run.called->written.size();
    if (known && !run.called->written[i]) continue;
    for_each_storage(run.args.subspan(i, 1), [](const std::shared_ptr<Storage>& storage) {
      storage->written();
      return false;
    });
  }
}

// Reports which contents the sink has and no longer has.
Status RemoteVirtualMachine::begin_capture(Run& run) const {
  run.dropped = sink_->take_dropped();
  if (anew_) run.held = sink_->held();
  if (run.held.size() > kMostHashes) run.held.resize(kMostHashes);  // the others are sent again
  if (run.dropped.size() <= kMostHashes) return {};
  return fail(platform_error(PlatformFault::kLimit, "a run released " +
                                                        std::to_string(run.dropped.size()) +
                                                        " captured contents; the limit is " +
                                                        std::to_string(kMostHashes)));
}

// The VM may be suspended, or reach a call that it would dispatch, and create results. Sent after
// what is left of earlier frames, however long the other side does not read those.
void RemoteVirtualMachine::give_up(const Run& run) noexcept {
  if (dispatcher_) suspended_ = !abandon(Clock::now() + kFarewell);
  session_.forget(wire::HandleKind::Buffer, run.first, kMostNames);
}

Status RemoteVirtualMachine::abandon(const runtime::Deadline& deadline) noexcept {
  return session_.link().post(
      [&](Builder& builder) { return wire::CreateResume(builder, id_, true); }, nullptr, {},
      deadline);
}

Result<Value> RemoteVirtualMachine::take_result(const wire::Result& result, Run& run,
                                                size_t message_bytes) {
  if (dispatcher_) TAPML_TRY(note_written(result.written(), run.storages));
  const auto* made = result.buffers();
  if (made && made->size() > kMostNames) {
    return fail(protocol_error("a call made more buffers than it had names for"));
  }
  for (flatbuffers::uoffset_t i = 0; made && i < made->size(); ++i) {
    if (made->Get(i) < 0) return fail(protocol_error("a buffer has a negative size"));
    const BufferId id{run.first + i};
    TAPML_TRY(session_.add_buffer(id, made->Get(i)));
    TAPML_ASSIGN(auto storage, Storage::adopt(session_, id, made->Get(i)));
    storage->written();
    run.made.push_back(std::move(storage));
  }
  auto storage_of = [&](uint64_t id) -> Result<std::shared_ptr<Storage>> {
    if (auto storage = run.find_storage(id)) return storage;
    return fail(protocol_error("a result uses a buffer that the call does not have"));
  };
  CopyBudget copies(message_bytes);
  return get_value(*result.value(), storage_of, copies, run.args);
}

Result<Value> RemoteVirtualMachine::run(std::string_view function, std::span<const Value> args,
                                        uint32_t read, ClientLink::Reply& reply,
                                        const runtime::Deadline& deadline) noexcept {
  runtime::TraceLog& log = session_.trace();
  const std::string name = log.on() ? "call " + std::string(function) : "";
  const runtime::TraceScope scope(log, runtime::TraceEvent::Kind::kWait, name);
  Run run{.function = function, .args = args, .read = read};
  run.called = find_called(function);
  TAPML_TRY(check_arguments(run));
  if (dispatcher_) {
    for_each_storage(args, [&](const std::shared_ptr<Storage>& storage) {
      run.storages.emplace(static_cast<uint64_t>(storage->buffer()), storage);
      return false;
    });
  }
  if (suspended_) {
    TAPML_TRY(abandon(deadline));
    suspended_ = false;
  }
  std::optional<CaptureReader> reader;
  if (sink_) {
    TAPML_TRY(begin_capture(run));
    reader.emplace(*executable_, *sink_);
    reply.expect_stream([&](const wire::Reply& message, std::span<const std::byte> bytes) {
      return reader->take(message, bytes);
    });
  }
  if (timing_) {
    reply.expect_stream([&](const wire::Reply& message, std::span<const std::byte>) {
      return take_times(message.answer_as_Timed());
    });
  }
  if (call_watcher_) {
    reply.expect_progress([&](int64_t launched, int64_t) { call_watcher_(launched); });
  }
  // If the call fails, nothing is known of it, and the next call sends all arguments.
  if (run.called) run.cache = std::exchange(run.called->cache, {});
  run.first = session_.new_handle(kMostNames);
  if (dispatcher_) run.lent = session_.new_handle(kMostNames);
  Status refused;
  auto request = [&](Builder& builder) -> flatbuffers::Offset<wire::Call> {
    auto call = put_call(builder, run);
    if (call) return *call;
    refused = fail(std::move(call).error());
    return {};
  };
  Status called = session_.link().call(request, reply, deadline, interrupt_);
  run.cache.called_by(reply.request());
  if (called && dispatcher_) {
    DispatchedCalls calls(session_, sites_, *dispatcher_, run.lent, run.storages);
    called = resume(calls, reply, deadline);
  }
  // If the call failed, it is unknown which contents were sent.
  anew_ = sink_ && !called;
  Result<Value> value = fail(Error());
  const bool asked = refused.has_value();
  if (!asked) {
    value = fail(std::move(refused).error());
  } else if (!called) {
    value = fail(std::move(called).error());
  } else if (const auto* result = reply.answer<wire::Result>()) {
    value = take_result(*result, run, reply.message_bytes());
  } else {
    value = fail(protocol_error("a call was answered without its result"));
  }
  if (!value || !dispatcher_) note_writes(run);
  if (value && run.called && session_.recalls()) run.called->cache = std::move(run.cache);
  // If the other side itself reports the failure, nothing of the call is left there.
  const bool failed_remotely = reply.answered() && reply.answer<wire::Failure>();
  if (!value && asked && !failed_remotely) give_up(run);
  if (!value && dispatcher_) session_.forget(wire::HandleKind::Buffer, run.lent, kMostNames);
  return value;
}

}  // namespace tapml::rpc
