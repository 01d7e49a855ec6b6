// The C interface over the runtime stem.
#include <cstring>
#include <deque>

#include "api/impl.h"
#include "device/open.h"
#include "exec/executable_file.h"
#include "io/host/files.h"
#include "io/host/mapped_ranges.h"
#include "runtime/host/shared_object.h"

using namespace tapml;  // NOLINT: names of the C interface have a prefix of their own

struct tapml_result {
  std::deque<HostTensor> tensors;
  std::deque<tapml_tensor> views;
};

namespace {

std::string& last_error() {
  thread_local std::string message;
  return message;
}

}  // namespace

namespace tapml::api {

tapml_status failed(const Error& error) {
  last_error() = error.to_string();
  switch (error.kind) {
    case ErrorKind::kUser:
      return TAPML_BAD_INPUT;
    case ErrorKind::kPlatform:
      return TAPML_PLATFORM;
    case ErrorKind::kInternal:
      return TAPML_DEFECT;
  }
  return TAPML_DEFECT;
}

tapml_status missing(const char* what) {
  return failed(user_error(std::string(what) + " is null", "tapml"));
}

}  // namespace tapml::api

using api::failed;
using api::missing;

namespace {

static_assert(static_cast<int>(TAPML_F64) == static_cast<int>(DType::kF64));
static_assert(static_cast<int>(TAPML_U8) == static_cast<int>(DType::kU8));

Result<std::shared_ptr<runtime::Device>> open_device(const std::string& platform, int threads) {
  device::OpenOptions options;
  options.threads = threads;
  options.loader = runtime::make_shared_object_loader();
  auto device = device::open_device(platform, options);
  if (!device && device.error().where.empty()) device.error().where = "tapml_session_open";
  return device;
}

}  // namespace

Status api::check_platform(const Executable& executable, const runtime::Session& session,
                           const std::string& source) {
  const std::string platform = executable.target.substr(0, executable.target.find(':'));
  if (platform == session.info().platform) return {};
  return fail(user_error(
      "the executable was made for another platform", source, session.info().platform, platform,
      "open a session of " + platform + ", or compile for " + session.info().platform));
}

Result<HostTensor> api::view_of(const tapml_tensor& tensor, const std::string& where) {
  auto fail = [&](const char* what) { return std::unexpected(user_error(what, where)); };
  // C code may put any number into the enumeration, which must not be read as one then.
  int number = 0;
  static_assert(sizeof number == sizeof tensor.dtype);
  std::memcpy(&number, &tensor.dtype, sizeof number);
  if (number < TAPML_BOOL || number > TAPML_F64) return fail("no such dtype");
  if (tensor.ndim < 0 || tensor.ndim > 64) return fail("the rank is not in 0 to 64");
  if (tensor.ndim > 0 && tensor.shape == nullptr) return fail("the shape is null");
  Shape shape(tensor.shape, tensor.shape + tensor.ndim);
  auto dtype = static_cast<DType>(number);
  Result<int64_t> bytes = checked_byte_count(dtype, shape);
  if (!bytes) return std::unexpected(bytes.error());
  if (*bytes > 0 && tensor.data == nullptr) return fail("the data is null");
  return HostTensor::view(dtype, std::move(shape), static_cast<const std::byte*>(tensor.data),
                          nullptr);
}

Result<runtime::Tensor> api::upload(runtime::Session& session, const tapml_tensor& tensor,
                                    const std::string& where) {
  TAPML_ASSIGN(const HostTensor view, view_of(tensor, where));
  // The upload copies before it returns, so the caller's memory needs no owner.
  return runtime::upload(session, view);
}

namespace {

Status collect(const runtime::Value& value, std::deque<HostTensor>& tensors) {
  if (const runtime::Tensor* tensor = value.tensor()) {
    Result<HostTensor> host = runtime::download(*tensor);
    if (!host) return std::unexpected(host.error());
    tensors.push_back(std::move(*host));
  } else if (const runtime::ValueList* fields = value.tuple()) {
    for (const runtime::Value& field : *fields) {
      if (Status status = collect(field, tensors); !status) return status;
    }
  }
  return {};
}

}  // namespace

const char* tapml_version(void) { return TAPML_VERSION; }
const char* tapml_last_error(void) { return last_error().c_str(); }
void tapml_set_error(const char* message) { last_error() = message ? message : ""; }

tapml_status tapml_session_open(const char* platform, int32_t threads, tapml_session** session) {
  if (!platform || !session) return missing("an argument");
  if (threads < 0 || threads > 1024) {
    return failed(user_error("the number of threads is out of range", "tapml_session_open",
                             "0 to 1024", std::to_string(threads)));
  }
  auto device = open_device(platform, threads);
  if (!device) return failed(device.error());
  auto local = runtime::LocalSession::create(std::move(*device));
  if (!local) return failed(local.error());
  *session = new tapml_session{std::move(*local), {}};
  return TAPML_OK;
}

void tapml_session_close(tapml_session* session) { delete session; }

tapml_status tapml_program_load(tapml_session* session, const char* path, tapml_program** program) {
  if (!session || !path || !program) return missing("an argument");
  Result<MappedFile> file = map_file(path);
  if (!file) return failed(file.error());
  Result<ExecutableFile> read = read_executable(file->bytes, file->owner, path);
  if (!read) return failed(read.error());
  auto executable = std::make_shared<const Executable>(std::move(read->executable));
  if (Status status = api::check_platform(*executable, *session->session, path); !status) {
    return failed(status.error());
  }
  auto vm = runtime::LocalVirtualMachine::create(*session->session, executable, session->functions);
  if (!vm) return failed(vm.error());
  if (Status files = check_lost_files(); !files) return failed(files.error());
  *program = new tapml_program{std::move(executable), std::move(*vm)};
  return TAPML_OK;
}

void tapml_program_free(tapml_program* program) { delete program; }

const char* tapml_program_function(const tapml_program* program, int32_t index) {
  if (!program || index < 0) return nullptr;
  const std::vector<VmFunction>& functions = program->executable->functions;
  auto at = static_cast<size_t>(index);
  return at < functions.size() ? functions[at].name.c_str() : nullptr;
}

tapml_status tapml_program_call(tapml_program* program, const char* function,
                                const tapml_tensor* arguments, int32_t count,
                                tapml_result** result) {
  if (!program || !function || !result || (count > 0 && !arguments)) return missing("an argument");
  std::vector<runtime::Value> values;
  for (int32_t i = 0; i < count; ++i) {
    auto tensor = api::upload(program->vm->session(), arguments[i],
                              std::string(function) + ", argument " + std::to_string(i));
    if (!tensor) return failed(tensor.error());
    values.emplace_back(std::move(*tensor));
  }
  auto returned = program->vm->call(function, values);
  if (Status files = check_lost_files(); !files) return failed(files.error());
  if (!returned) return failed(returned.error());
  auto found = std::make_unique<tapml_result>();
  if (Status status = collect(*returned, found->tensors); !status) return failed(status.error());
  for (const HostTensor& tensor : found->tensors) {
    found->views.push_back({static_cast<tapml_dtype>(tensor.dtype()),
                            static_cast<int32_t>(tensor.shape().size()), tensor.shape().data(),
                            tensor.bytes().data()});
  }
  *result = found.release();
  return TAPML_OK;
}

int32_t tapml_result_count(const tapml_result* result) {
  return result ? static_cast<int32_t>(result->views.size()) : 0;
}

const tapml_tensor* tapml_result_tensor(const tapml_result* result, int32_t index) {
  if (index < 0 || index >= tapml_result_count(result)) return nullptr;
  return &result->views[static_cast<size_t>(index)];
}

void tapml_result_free(tapml_result* result) { delete result; }
