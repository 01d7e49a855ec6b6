// The program tapml_engine.wasm: a model in a web page, or any executable. The JavaScript around it
// (src/web/) calls these exports, one at a time. Each one that can fail returns 0, or 1 for an
// error; its reply is JSON in tapml_reply(), an error's as error_json() makes it. On WebGPU calls
// suspend the program.
#include <array>
#include <string>
#include <vector>

#include "base/hash.h"
#include "browser/page.h"
#include "browser/page_calls.h"
#include "browser/page_executable.h"
#include "browser/page_model.h"
#include "io/error_json.h"
#include "io/json_reader.h"

namespace tapml::browser {

namespace {

// What the program has: it is instantiated for each model or executable.
struct Program {
  std::vector<std::byte> input;
  std::string reply;
  std::vector<std::byte> output;
  PageModel model;
  PageExecutable executable;
};

Program& program() {
  static Program the_program;
  return the_program;
}

// The first `size` bytes of the input.
std::span<const std::byte> input(uint32_t size) {
  const std::vector<std::byte>& all = program().input;
  return std::span(all).first(std::min<size_t>(size, all.size()));
}
std::string_view input_text(uint32_t size) {
  const std::span<const std::byte> bytes = input(size);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

int32_t reply(Json json) {
  program().reply = json.dump();
  return 0;
}
int32_t reply(const Error& error) {
  program().reply = error_json(error).dump();
  return 1;
}
int32_t reply(const Status& status) {
  return status ? reply(Json::object()) : reply(status.error());
}
int32_t reply(Result<Json> json) { return json ? reply(*std::move(json)) : reply(json.error()); }

bool on_text(std::string_view text, bool is_thought, int64_t tokens) {
  return page::tapml_page_text(text.data(), static_cast<uint32_t>(text.size()), is_thought ? 1 : 0,
                               static_cast<uint32_t>(tokens)) != 0;
}

Result<Json> open(std::string_view request) {
  TAPML_ASSIGN(const Json json, parse_json(request, "package.json"));
  const JsonObjectReader reader(json, "package.json");
  TAPML_ASSIGN(const std::vector<int64_t> ends,
               reader.required_int_array("end_tokens", 0, std::numeric_limits<int32_t>::max()));
  return program().model.open({ends.begin(), ends.end()});
}

Result<Json> answer(std::string_view request) {
  TAPML_ASSIGN(const Json json, parse_json(request, "request"));
  return program().model.answer(json, on_text);
}

Result<Json> call(uint32_t request_size, uint32_t size) {
  Program& all = program();
  runtime::LocalVirtualMachine* machine =
      all.executable.machine() ? all.executable.machine() : all.model.machine();
  if (!machine) return fail(internal_error("nothing is loaded"));
  TAPML_ASSIGN(const Json request, parse_json(std::string(input_text(request_size)), "call"));
  return call_by_page(*machine, request, input(size).subspan(request_size), all.output);
}

Result<Json> header_bytes(uint32_t size, int64_t file_bytes) {
  TAPML_ASSIGN(const int64_t bytes, program().model.header_bytes(input(size), file_bytes));
  return Json::object({{"bytes", Json::integer(bytes)}});
}

}  // namespace

#define TAPML_EXPORT(name) extern "C" __attribute__((export_name(#name)))

// Memory for `size` bytes of input; what it held is lost.
TAPML_EXPORT(tapml_input) std::byte* tapml_input(uint32_t size) {
  std::vector<std::byte>& bytes = program().input;
  if (bytes.size() < size) bytes.resize(size);
  return bytes.data();
}
TAPML_EXPORT(tapml_reply) const char* tapml_reply() { return program().reply.data(); }
TAPML_EXPORT(tapml_reply_size) uint32_t tapml_reply_size() { return program().reply.size(); }

// The input: the file's name and then its contents.
TAPML_EXPORT(tapml_add_file)
int32_t tapml_add_file(uint32_t name_size, uint32_t size, uint64_t checksum) {
  const std::string name(input_text(name_size));
  return reply(
      program().model.add_file(name, input(name_size + size).subspan(name.size()), checksum));
}
// The input: the package's list of files.
TAPML_EXPORT(tapml_open) int32_t tapml_open(uint32_t size) { return reply(open(input_text(size))); }
// The input: the first bytes of the weights' file. Replies {"bytes": of its header}.
TAPML_EXPORT(tapml_header_bytes)
int32_t tapml_header_bytes(uint32_t size, double file_bytes) {
  return reply(header_bytes(size, static_cast<int64_t>(file_bytes)));
}
// The input: that header.
TAPML_EXPORT(tapml_begin_weights)
int32_t tapml_begin_weights(uint32_t size, double file_bytes) {
  return reply(program().model.begin_weights(input(size), static_cast<int64_t>(file_bytes)));
}
// The input: the next bytes of the file, the header included.
TAPML_EXPORT(tapml_add_weights) int32_t tapml_add_weights(uint32_t size) {
  return reply(program().model.add_weights(input(size)));
}
TAPML_EXPORT(tapml_finish) int32_t tapml_finish(uint64_t checksum) {
  return reply(program().model.finish(checksum));
}
// The input: a request (PageModel::answer()).
TAPML_EXPORT(tapml_answer) int32_t tapml_answer(uint32_t size) {
  return reply(answer(std::string(input_text(size))));
}
// The input: a text. Replies {"tokens": [...]}.
TAPML_EXPORT(tapml_tokenize) int32_t tapml_tokenize(uint32_t size) {
  const auto tokens = program().model.tokenize(input_text(size));
  if (!tokens) return reply(tokens.error());
  Json list = Json::array();
  for (const int32_t token : *tokens) list.push(Json::integer(token));
  return reply(Json::object({{"tokens", std::move(list)}}));
}
// The input: an executable. Replies {"target": ...}.
TAPML_EXPORT(tapml_read_executable) int32_t tapml_read_executable(uint32_t size) {
  return reply(program().executable.read(input(size)));
}
TAPML_EXPORT(tapml_open_executable) int32_t tapml_open_executable() {
  return reply(program().executable.open());
}
// The input: a request and then the bytes of its tensors, `size` bytes together (call_by_page()).
// The result's tensors are in tapml_output().
TAPML_EXPORT(tapml_call) int32_t tapml_call(uint32_t request_size, uint32_t size) {
  return reply(call(request_size, size));
}
TAPML_EXPORT(tapml_output) const std::byte* tapml_output() { return program().output.data(); }
TAPML_EXPORT(tapml_output_size) uint32_t tapml_output_size() { return program().output.size(); }
// Of bytes of the input, as 64 bits.
TAPML_EXPORT(tapml_checksum) uint64_t tapml_checksum(uint32_t size) {
  return checksum64(input(size));
}

}  // namespace tapml::browser
