#include "cli/suite_contents.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>

#include "base/host/table.h"
#include "base/host/terminal.h"
#include "base/strings.h"
#include "base/units.h"
#include "cli/suite_completeness.h"
#include "io/host/files.h"
#include "ir/exceptions.h"
#include "topdown/report/report_parts.h"
#include "topdown/suite/kernel_names.h"
#include "topdown/suite/suite_folder.h"

namespace tapml::cli {

namespace {

using topdown::Suite;
using topdown::SuiteCall;
using topdown::SuiteGroup;
using topdown::SuiteKernel;

// The tensors of a call as an indented table.
class TensorTable {
 public:
  void add(TableRow row) { rows_.push_back(std::move(row)); }
  void print(const Output& output) {
    const std::vector<TableColumn> columns = {{.name = "when"},
                                              {.name = "tensor"},
                                              {.name = "type"},
                                              {.name = "values"},
                                              {.name = "content", .below = true}};
    constexpr size_t kIndent = 4;
    const size_t width = text_width(STDOUT_FILENO) - kIndent;
    const TableLayout layout(columns, rows_, width);
    for (const TableRow& row : rows_) {
      for (const std::string& line : layout.row(row)) {
        output.line(std::string(kIndent, ' ') + line);
      }
    }
    rows_.clear();
  }

 private:
  std::vector<TableRow> rows_;
};

std::vector<const SuiteCall*> calls_of(const Suite& suite, size_t kernel) {
  std::vector<const SuiteCall*> calls;
  for (const SuiteCall& call : suite.calls) {
    if (call.kernel == static_cast<int32_t>(kernel)) calls.push_back(&call);
  }
  return calls;
}

std::vector<Json> texts(const std::vector<std::string>& list) {
  std::vector<Json> items;
  for (const std::string& text : list) items.push_back(Json::string(text));
  return items;
}

std::vector<std::string> names_of(const std::vector<topdown::GroupValue>& values) {
  std::vector<std::string> names;
  for (const topdown::GroupValue& value : values) {
    if (std::ranges::find(names, value.name) == names.end()) names.push_back(value.name);
  }
  return names;
}

std::string joined(const std::vector<std::string>& list, const char* between) {
  return list.empty() ? "nothing" : join(list, between);
}

std::string group_text(const Suite& suite, size_t index) {
  const SuiteGroup& group = suite.groups[index];
  return "group " + std::to_string(index) + ": " + joined(suite.kernels_of(group), " + ") + " (" +
         counted(std::ssize(group.calls), "call") + "), " + joined(names_of(group.inputs), ", ") +
         " -> " + joined(names_of(group.outputs), ", ") + " of " + group.source +
         ", the rest carved on " + group.carved_on;
}

Json group_json(const Suite& suite, size_t index) {
  const SuiteGroup& group = suite.groups[index];
  return Json::object({{"group", Json::integer(static_cast<int64_t>(index))},
                       {"kernels", Json::array(texts(suite.kernels_of(group)))},
                       {"source", Json::string(group.source)},
                       {"carved_on", Json::string(group.carved_on)},
                       {"calls", Json::integer(std::ssize(group.calls))},
                       {"times", Json::integer(group.times)},
                       {"layers", Json::string(layers_summary(topdown::origin_of(group)))},
                       {"inputs", Json::array(texts(names_of(group.inputs)))},
                       {"outputs", Json::array(texts(names_of(group.outputs)))}});
}

// The least and the largest element, ignoring NaN.
std::pair<double, double> range_of(const HostTensor& tensor) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (int64_t i = 0; i < tensor.size(); ++i) {
    const double x = tensor.at_f64(i);
    low = x < low ? x : low;
    high = x > high ? x : high;
  }
  return {low, high};
}

Json tensor_row(const Suite& suite, const SuiteKernel& kernel, size_t param, const char* when,
                const std::string& hash, TensorTable& table) {
  const HostTensor& tensor = suite.tensors.at(hash);
  const auto [low, high] = range_of(tensor);
  const auto weight = suite.weights.find(hash);
  char range[64];
  std::snprintf(range, sizeof range, "%.4g to %.4g", low, high);
  table.add({when, kernel.params[param],
             dtype_name(tensor.dtype()) + shape_to_string(tensor.shape()),
             tensor.size() > 0 ? range : "",
             weight == suite.weights.end() ? hash.substr(0, 12) : weight->second});
  std::vector<Json> shape;
  for (int64_t dim : tensor.shape()) shape.push_back(Json::integer(dim));
  return Json::object(
      {{"parameter", Json::string(kernel.params[param])},
       {"when", Json::string(when)},
       {"dtype", Json::string(dtype_name(tensor.dtype()))},
       {"shape", Json::array(std::move(shape))},
       {"least", Json::number(low)},
       {"largest", Json::number(high)},
       {"hash", Json::string(hash)},
       {"weight", weight == suite.weights.end() ? Json::null() : Json::string(weight->second)}});
}

std::string call_text(const SuiteCall& call) {
  const std::string scalars =
      join(call.scalars, [](int64_t scalar) { return std::to_string(scalar); });
  return "call " + std::to_string(call.sequence) + " of " + call.function +
         (call.times > 1 ? ", " + std::to_string(call.times) + " times" : "") +
         (scalars.empty() ? "" : ", scalars " + scalars) +
         (call.origin.layers.empty() ? "" : ", " + layers_summary(call.origin));
}

// The inputs and outputs of a group's kernel calls: their sources, and known values.
Json show_group(const Suite& suite, size_t index, int32_t kernel, const Output& output) {
  const SuiteGroup& group = suite.groups[index];
  const SuiteKernel& info = suite.kernels[static_cast<size_t>(kernel)];
  TensorTable table;
  output.line(wrapped("  " + group_text(suite, index), text_width(STDOUT_FILENO), 4));
  std::vector<Json> calls;
  for (size_t c = 0; c < group.calls.size(); ++c) {
    const SuiteCall& call = group.calls[c];
    if (call.kernel != kernel) continue;
    output.line(wrapped("   " + call_text(call), text_width(STDOUT_FILENO), 5));
    std::vector<Json> tensors, links;
    for (size_t i = 0; i < info.params.size(); ++i) {
      if (call.before[i].empty()) continue;
      tensors.push_back(tensor_row(suite, info, i, "before", call.before[i], table));
    }
    for (const auto* values : {&group.inputs, &group.outputs}) {
      for (const topdown::GroupValue& value : *values) {
        if (value.place.call != c) continue;
        const char* when = values == &group.inputs ? "input" : "output";
        Json row = tensor_row(suite, info, value.place.param, when, value.hash, table);
        row.set("name", Json::string(value.name));
        tensors.push_back(std::move(row));
      }
    }
    for (const auto& [from, to] : group.links) {
      if (to.call != c) continue;
      const SuiteCall& writer = group.calls[from.call];
      const SuiteKernel& other = suite.kernels[static_cast<size_t>(writer.kernel)];
      table.add({"link", info.params[to.param], "", "",
                 "of " + other.params[from.param] + " of call " + std::to_string(writer.sequence) +
                     " (" + other.name + ")"});
      links.push_back(Json::object({{"parameter", Json::string(info.params[to.param])},
                                    {"from_call", Json::integer(writer.sequence)},
                                    {"from_kernel", Json::string(other.name)},
                                    {"from_parameter", Json::string(other.params[from.param])}}));
    }
    table.print(output);
    std::vector<Json> scalars;
    for (int64_t scalar : call.scalars) scalars.push_back(Json::integer(scalar));
    calls.push_back(Json::object({{"sequence", Json::integer(call.sequence)},
                                  {"function", Json::string(call.function)},
                                  {"layers", Json::string(layers_summary(call.origin))},
                                  {"scalars", Json::array(std::move(scalars))},
                                  {"tensors", Json::array(std::move(tensors))},
                                  {"links", Json::array(std::move(links))}}));
  }
  Json row = group_json(suite, index);
  row.set("kernel_calls", Json::array(std::move(calls)));
  return row;
}

}  // namespace

int list_suite(const std::string& folder, const Output& output) {
  const std::string file = folder + "/suite.json";
  const Suite suite = unwrap(topdown::parse_suite_index(unwrap(read_text_file(file)), file));
  std::map<std::string, int64_t> bytes;
  int64_t total = 0;
  for (const std::string& hash : topdown::named_tensors(suite)) {
    std::error_code missing;
    const auto size =
        std::filesystem::file_size(folder + "/" + topdown::tensor_file(hash), missing);
    if (missing) continue;
    bytes[hash] = static_cast<int64_t>(size);
    total += static_cast<int64_t>(size);
  }
  say_what_is_missing(suite, output);
  std::vector<TableRow> table;
  std::vector<Json> rows;
  for (size_t k = 0; k < suite.kernels.size(); ++k) {
    const SuiteKernel& kernel = suite.kernels[k];
    std::set<std::string> hashes, functions;
    Origin origin;
    int64_t times = 0, size = 0;
    const auto calls = calls_of(suite, k);
    for (const SuiteCall* call : calls) {
      times += call->times;
      functions.insert(call->function);
      origin = merge_origins(origin, call->origin);
      hashes.insert(call->before.begin(), call->before.end());
      hashes.insert(call->after.begin(), call->after.end());
    }
    for (const std::string& hash : hashes) {
      if (auto one = bytes.find(hash); one != bytes.end()) size += one->second;
    }
    table.push_back({kernel.name, topdown::used_in(functions), std::to_string(calls.size()),
                     std::to_string(times), std::to_string(kernel.dropped), size_text(size),
                     layers_summary(origin), lines_summary(origin)});
    rows.push_back(Json::object({{"kernel", Json::string(kernel.name)},
                                 {"in", Json::string(topdown::used_in(functions))},
                                 {"tests", Json::integer(std::ssize(calls))},
                                 {"calls", Json::integer(times)},
                                 {"dropped", Json::integer(kernel.dropped)},
                                 {"bytes", Json::integer(size)},
                                 {"layers", Json::string(layers_summary(origin))},
                                 {"lines", Json::string(lines_summary(origin))}}));
  }
  const size_t width = text_width(STDOUT_FILENO);
  for (const std::string& line : table_lines({{.name = "kernel"},
                                              {.name = "in"},
                                              {.name = "tests", .number = true},
                                              {.name = "calls", .number = true},
                                              {.name = "dropped", .number = true},
                                              {.name = "size", .number = true},
                                              {.name = "layers", .below = true},
                                              {.name = "made by", .below = true}},
                                             table, width)) {
    output.line(line);
  }
  std::vector<Json> groups;
  for (size_t g = 0; g < suite.groups.size(); ++g) {
    const SuiteGroup& group = suite.groups[g];
    int64_t size = 0;
    for (const std::string& hash : topdown::named_tensors(group)) {
      if (auto one = bytes.find(hash); one != bytes.end()) size += one->second;
    }
    Json row = group_json(suite, g);
    row.set("bytes", Json::integer(size));
    output.line(wrapped(group_text(suite, g) + ", " + size_text(size), width, 4));
    groups.push_back(std::move(row));
  }
  output.line(wrapped(counted(std::ssize(suite.kernels), "kernel") + ", " +
                          counted(std::ssize(suite.calls), "test") + ", " +
                          counted(std::ssize(suite.groups), "group") + ", " +
                          counted(std::ssize(bytes), "tensor") + " of " + size_text(total) + ", " +
                          counted(std::ssize(suite.weights), "weight") + " by reference; " +
                          suite.model + " on " + suite.source + ", policy " + suite.fusion_policy,
                      width, 2));
  Json json = Json::object({{"source", Json::string(suite.source)},
                            {"model", Json::string(suite.model)},
                            {"model_folder", Json::string(suite.model_folder)},
                            {"quantization", Json::string(suite.quantization)},
                            {"fusion_policy", Json::string(suite.fusion_policy)},
                            {"tests", Json::integer(std::ssize(suite.calls))},
                            {"tensors", Json::integer(std::ssize(bytes))},
                            {"bytes", Json::integer(total)},
                            {"weights", Json::integer(std::ssize(suite.weights))},
                            {"kernels", Json::array(std::move(rows))},
                            {"groups", Json::array(std::move(groups))}});
  set_completeness(json, suite);
  output.document(json);
  return kDone;
}

int show_suite_kernel(const std::string& folder, const std::string& model,
                      const std::string& wanted, const Output& output) {
  const Suite suite = unwrap(topdown::load_suite(folder, model));
  const std::string name =
      topdown::find_kernel(topdown::kernel_names(suite), wanted, {"KERNEL", "the suite"});
  const auto number = static_cast<size_t>(suite.find_kernel(name));
  const SuiteKernel& kernel = suite.kernels[number];
  say_what_is_missing(suite, output);
  output.line(kernel.spec);
  std::vector<Json> calls;
  for (const SuiteCall* call : calls_of(suite, number)) {
    std::vector<Json> values, tensors;
    for (int64_t scalar : call->scalars) values.push_back(Json::integer(scalar));
    output.line(wrapped("  " + call_text(*call), text_width(STDOUT_FILENO), 4));
    TensorTable table;
    for (size_t i = 0; i < kernel.params.size(); ++i) {
      for (bool after : {false, true}) {
        const std::string& hash = after ? call->after[i] : call->before[i];
        if (hash.empty()) continue;
        tensors.push_back(tensor_row(suite, kernel, i, after ? "after" : "before", hash, table));
      }
    }
    table.print(output);
    calls.push_back(Json::object({{"sequence", Json::integer(call->sequence)},
                                  {"function", Json::string(call->function)},
                                  {"times", Json::integer(call->times)},
                                  {"layers", Json::string(layers_summary(call->origin))},
                                  {"scalars", Json::array(std::move(values))},
                                  {"tensors", Json::array(std::move(tensors))}}));
  }
  std::vector<Json> groups;
  for (size_t g = 0; g < suite.groups.size(); ++g) {
    const auto names = suite.kernels_of(suite.groups[g]);
    if (std::ranges::find(names, kernel.name) == names.end()) continue;
    groups.push_back(show_group(suite, g, static_cast<int32_t>(number), output));
  }
  Json json = Json::object({{"kernel", Json::string(kernel.name)},
                            {"spec", Json::string(kernel.spec)},
                            {"dropped", Json::integer(kernel.dropped)},
                            {"calls", Json::array(std::move(calls))},
                            {"groups", Json::array(std::move(groups))}});
  set_completeness(json, suite);
  output.document(json);
  return kDone;
}

}  // namespace tapml::cli
