#include "fuzz/external/adapter_process.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/strings.h"
#include "fuzz/campaign/json_fields.h"
#include "fuzz/external/adapters.h"
#include "io/host/files.h"
#include "ir/exceptions.h"

namespace tapml::fuzz {

namespace {

// The time in which Python imports a compiler.
constexpr double kImportSeconds = 120;

Json request(const char* what) { return Json::object({{"do", Json::string(what)}}); }

// The bounds as a JSON array; an open one is null.
Json bounds_json(const op::RefTensor& tensor) {
  std::vector<Json> bounds;
  for (size_t i = 0; i < tensor.values.size(); ++i) {
    const double bound = tensor.bound[i];
    bounds.push_back(std::isfinite(bound) ? Json::number(bound) : Json::null());
  }
  return Json::array(std::move(bounds));
}

}  // namespace

AdapterProcess::AdapterProcess(AdapterOptions options)
    : options_(std::move(options)), folder_(unwrap(ScratchFolder::create("fuzz"))) {
  for (const AdapterFile& file : adapter_files()) {
    unwrap(write_text_atomic(folder_.file(std::string(file.name)), std::string(file.text)));
  }
  unwrap(write_text_atomic(folder_.file("adapter.py"), std::string(options_.adapter.program)));
}

Status AdapterProcess::ensure() {
  if (process_) return {};
  auto started = WorkerProcess::start(
      {options_.python, folder_.file("worker.py"), std::to_string(options_.memory_bytes)});
  if (!started) {
    return fail(user_error(started.error().message, "--python",
                           "a Python that imports " + std::string(options_.adapter.name),
                           in_quotes(options_.python)));
  }
  process_ = std::move(*started);
  const auto deadline = std::chrono::steady_clock::now() +
                        std::chrono::milliseconds(static_cast<int64_t>(kImportSeconds * 1000));
  Result<Json> hello = process_->channel().receive(deadline);
  if (!hello) {
    const std::string how = process_->end();
    process_.reset();
    return fail(user_error("the adapter does not start", "--python", "a Python 3 program",
                           in_quotes(options_.python) + ": " + how));
  }
  if (const Json* missing = hello->find("missing")) {
    process_.reset();
    return fail(user_error(
        std::string(options_.adapter.name) + " is not installed for " + in_quotes(options_.python),
        "--python", "a Python that imports it", missing->as_string(),
        in_quotes(options_.python) + " -m " + std::string(options_.adapter.install)));
  }
  version_ = text_at(*hello, "version");
  return {};
}

std::string AdapterProcess::version() {
  unwrap(ensure());
  return version_;
}

Result<Json> AdapterProcess::ask(const Json& request, std::vector<Json>* parts) {
  TAPML_TRY(ensure());
  part_.clear();
  TAPML_TRY(process_->channel().send(request));
  const auto deadline = std::chrono::steady_clock::now() +
                        std::chrono::milliseconds(static_cast<int64_t>(options_.seconds * 1000));
  while (true) {
    TAPML_ASSIGN(Json line, process_->channel().receive(deadline));
    if (const Json* part = line.find("part")) {
      part_ = part->as_string();
      kind_ = text_at(line, "kind");
    } else if (parts && line.find("form")) {
      parts->push_back(std::move(line));
    } else if (const Json* error = line.find("error")) {
      return fail(internal_error("the adapter of " + std::string(options_.adapter.name) + " fails",
                                 error->as_string()));
    } else {
      return line;
    }
  }
}

Problem AdapterProcess::ended(const Error& error) {
  Problem problem{ProblemKind::kCrash, part_.empty() ? "adapter" : part_, "", ""};
  if (error.fault == PlatformFault::kTimeout) {
    problem.kind = ProblemKind::kHang;
    problem.message =
        "no result within " + std::to_string(static_cast<int>(options_.seconds)) + " s";
    process_->end();
  } else {
    problem.message = "the process ended with " + process_->end();
  }
  process_.reset();
  return problem;
}

std::map<std::string, std::string> AdapterProcess::inexpressible(const Json& document,
                                                                 std::string* ending) {
  while (true) {
    Json asked = request("express");
    asked.set("program", document);
    Json kinds = Json::array();
    for (const std::string& kind : ended_kinds_) kinds.push(Json::string(kind));
    asked.set("ended", std::move(kinds));
    const Result<Json> answer = ask(asked);
    if (answer) {
      std::map<std::string, std::string> steps;
      if (const Json* cut = answer->find("cut")) {
        for (const auto& [name, reason] : cut->members()) steps[name] = reason.as_string();
      }
      return steps;
    }
    if (answer.error().kind != ErrorKind::kPlatform || part_.empty()) throw_error(answer.error());
    if (ending && ending->empty()) *ending = part_;
    ended_kinds_.insert(kind_);
    ended(answer.error());
  }
}

AdapterAnswer AdapterProcess::run(const Json& document) {
  Json asked = request("run");
  asked.set("program", document);
  AdapterAnswer answer;
  std::vector<Json> parts;
  const Result<Json> last = ask(asked, &parts);
  for (const Json& part : parts) {
    FormResult result{text_at(part, "form"), text_at(part, "refused"), {}};
    if (const Json* outputs = part.find("outputs")) {
      for (const Json& output : outputs->items()) {
        result.outputs.push_back(tensor_from_json(output));
      }
    }
    answer.forms.push_back(std::move(result));
  }
  if (!last) {
    if (last.error().kind != ErrorKind::kPlatform) throw_error(last.error());
    answer.ended = ended(last.error());
  }
  return answer;
}

std::string AdapterProcess::script(const StraightLine& line, const Problem& problem) {
  std::vector<Json> expected;
  for (const op::RefTensor& tensor : line.expected) {
    Json json = tensor_json(tensor.to_host());
    json.set("bounds", bounds_json(tensor));
    expected.push_back(std::move(json));
  }
  Json asked = request("script");
  asked.set("program", line.document);
  asked.set("expected", Json::array(std::move(expected)));
  asked.set("problem", problem.json());
  return text_at(unwrap(ask(asked)), "script");
}

}  // namespace tapml::fuzz
