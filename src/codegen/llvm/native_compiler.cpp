// Worker threads that compile kernels to objects, and the archive of these objects.
#include <llvm/Object/ArchiveWriter.h>

#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <thread>

#include "base/host/thread_pool.h"
#include "codegen/llvm/archive.h"
#include "codegen/llvm/compile.h"
#include "codegen/llvm/native.h"
#include "ir/exceptions.h"

namespace tapml::codegen {

namespace {

struct Job {
  std::vector<DeviceFunc> functions;
  KernelCode object;
  std::exception_ptr failure;
};

}  // namespace

struct NativeCompiler::State {
  explicit State(const target::Description& given) : description(given) {}

  const target::Description description;
  std::mutex mutex;
  std::condition_variable wake;
  std::deque<Job> jobs;  // references stay valid while it grows
  size_t next = 0;       // first job that has not started
  size_t done = 0;
  bool stop = false;
  const WorkWatcher* watcher = nullptr;  // set while the caller waits for all jobs
  std::vector<std::thread> workers;

  // Requires the mutex to be held.
  void tell_done() const {
    const auto count = [](size_t value) { return static_cast<int64_t>(value); };
    if (watcher) tell(*watcher, {"compile", count(done), count(jobs.size()), "kernels"});
  }

  // Runs jobs until none is left; a worker waits for more.
  void work(bool wait) {
    std::unique_ptr<ObjectCompiler> compiler;
    std::unique_lock lock(mutex);
    while (true) {
      if (wait) {
        wake.wait(lock, [this] { return stop || next < jobs.size(); });
      }
      if (stop || next >= jobs.size()) return;
      Job& job = jobs[next++];
      lock.unlock();
      try {
        if (!compiler) compiler = std::make_unique<ObjectCompiler>(description);
        job.object.bytes = compiler->object(job.object.name, job.functions);
      } catch (...) {
        job.failure = std::current_exception();
      }
      job.functions.clear();
      lock.lock();
      ++done;
      tell_done();
      wake.notify_all();
    }
  }
};

NativeCompiler::NativeCompiler(const target::Description& description, int threads)
    : state_(std::make_unique<State>(description)) {
  if (threads <= 0) threads = ThreadPool::available_cores();
  for (int i = 1; i < threads; ++i) {
    state_->workers.emplace_back([state = state_.get()] { state->work(true); });
  }
}

NativeCompiler::~NativeCompiler() {
  {
    std::lock_guard lock(state_->mutex);
    state_->stop = true;
  }
  state_->wake.notify_all();
  for (std::thread& worker : state_->workers) worker.join();
}

void NativeCompiler::add(std::string kernel, std::vector<DeviceFunc> launches) {
  Job job;
  job.object.name = std::move(kernel) + ".o";
  job.object.entries = entries_of(launches);
  job.functions = std::move(launches);
  {
    std::lock_guard lock(state_->mutex);
    state_->jobs.push_back(std::move(job));
  }
  state_->wake.notify_one();
}

std::vector<KernelCode> NativeCompiler::finish(const WorkWatcher& watcher) {
  {
    std::lock_guard lock(state_->mutex);
    state_->watcher = &watcher;
    state_->tell_done();
  }
  state_->work(false);
  std::unique_lock lock(state_->mutex);
  state_->wake.wait(lock, [this] { return state_->done == state_->jobs.size(); });
  state_->watcher = nullptr;
  std::vector<KernelCode> objects;
  for (Job& job : state_->jobs) {
    if (job.failure) std::rethrow_exception(job.failure);
    objects.push_back(std::move(job.object));
  }
  state_->jobs.clear();
  state_->next = state_->done = 0;
  return objects;
}

ModuleBlob archive_native(const std::vector<KernelCode>& objects,
                          const target::Description& description) {
  ModuleBlob blob;
  blob.platform = description.platform;
  blob.format = kArchiveFormat;
  blob.cpu = description.processor.architecture;
  blob.features = description.processor.features;
  std::vector<llvm::NewArchiveMember> members;
  for (const KernelCode& object : objects) {
    blob.entries.insert(blob.entries.end(), object.entries.begin(), object.entries.end());
    members.emplace_back(llvm::MemoryBufferRef(
        llvm::StringRef(reinterpret_cast<const char*>(object.bytes.data()), object.bytes.size()),
        object.name));
  }
  auto buffer = llvm::writeArchiveToBuffer(members, llvm::SymtabWritingMode::NoSymtab,
                                           llvm::object::Archive::K_GNU, true, false);
  if (!buffer) {
    throw_internal("LLVM cannot write an archive: " + llvm::toString(buffer.takeError()));
  }
  auto bytes = std::as_bytes(std::span((*buffer)->getBufferStart(), (*buffer)->getBufferSize()));
  blob.bytes.assign(bytes.begin(), bytes.end());
  return blob;
}

ModuleBlob compile_native(const std::vector<DeviceFunc>& functions,
                          const target::Description& description) {
  KernelCode object;
  object.name = "tapml.o";
  object.entries = entries_of(functions);
  object.bytes = ObjectCompiler(description).object(object.name, functions);
  return archive_native({object}, description);
}

std::string native_assembly(const std::vector<DeviceFunc>& functions,
                            const target::Description& description) {
  return ObjectCompiler(description).assembly("kernel", functions);
}

std::string native_ir(const std::vector<DeviceFunc>& functions,
                      const target::Description& description) {
  return ObjectCompiler(description).ir(functions);
}

}  // namespace tapml::codegen
