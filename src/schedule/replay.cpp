// Replays traces: the table of instructions.
#include <array>
#include <functional>
#include <map>

#include "ir/exceptions.h"
#include "schedule/schedule.h"

namespace tapml::schedule {

namespace {

// Maps the trace's names to blocks and loops.
class Player {
 public:
  explicit Player(tir::PrimFuncRef func) : schedule(std::move(func)) {}

  Block block(size_t operand) const { return of(blocks_, operand, "a block"); }
  Loop loop(size_t operand) const { return of(loops_, operand, "a loop"); }
  std::vector<Loop> loops() const {
    std::vector<Loop> result;
    for (size_t i = 0; i < now->operands.size(); ++i) result.push_back(loop(i));
    return result;
  }
  std::string text() const { return of_type<std::string>(now->values.at(0), "a string"); }
  Factors factors() const { return of_type<Factors>(attribute("factors"), "a list"); }
  int64_t number(const std::string& name) const {
    return of_type<int64_t>(attribute(name), "an integer");
  }
  void define(const Block& block) {
    results(1);
    blocks_[now->results[0]] = block;
  }
  void define(const std::vector<Loop>& loops) {
    results(loops.size());
    for (size_t i = 0; i < loops.size(); ++i) loops_[now->results[i]] = loops[i];
  }

  [[noreturn]] void fail(const std::string& message, const std::string& expected = "",
                         const std::string& found = "", const std::string& hint = "") const {
    std::string text = Trace{{*now}}.print();
    text.pop_back();
    std::string where = now->line > 0 ? "line " + std::to_string(now->line) : "";
    throw_user(text + ": " + message, where, expected, found, hint);
  }

  Schedule schedule;
  const Instruction* now = nullptr;

 private:
  template <class T>
  T of(const std::map<std::string, T>& known, size_t operand, const char* what) const {
    const std::string& name = now->operands.at(operand);
    auto it = known.find(name);
    if (it == known.end()) fail("%" + name + " is not defined earlier as " + what);
    return it->second;
  }
  template <class T>
  T of_type(const TraceValue& value, const char* what) const {
    const T* found = std::get_if<T>(&value);
    if (!found) fail("a value has the wrong type", what);
    return *found;
  }
  const TraceValue& attribute(const std::string& name) const {
    for (const auto& [key, value] : now->attributes) {
      if (key == name) return value;
    }
    fail("an attribute is missing", name);
  }
  void results(size_t count) const {
    if (now->results.size() == count) return;
    fail("the number of results differs", std::to_string(count),
         std::to_string(now->results.size()),
         "a trace fits programs whose blocks have the same loops");
  }

  std::map<std::string, Block> blocks_;
  std::map<std::string, Loop> loops_;
};

struct Entry {
  const char* op;
  int operands;  // -1: any number
  int values;
  int attributes;
  bool has_results;
  void (*run)(Player&);
};

constexpr std::array<Entry, 20> kInstructions = {{
    {"block", 0, 1, 0, true, [](Player& p) { p.define(p.schedule.block(p.text())); }},
    {"loops", 1, 0, 0, true, [](Player& p) { p.define(p.schedule.loops(p.block(0))); }},
    {"split", 1, 0, 1, true, [](Player& p) { p.define(p.schedule.split(p.loop(0), p.factors())); }},
    {"fuse", 2, 0, 0, true,
     [](Player& p) { p.define(std::vector<Loop>{p.schedule.fuse(p.loop(0), p.loop(1))}); }},
    {"reorder", -1, 0, 0, false, [](Player& p) { p.schedule.reorder(p.loops()); }},
    {"parallel", 1, 0, 0, false, [](Player& p) { p.schedule.parallel(p.loop(0)); }},
    {"vectorize", 1, 0, 0, false, [](Player& p) { p.schedule.vectorize(p.loop(0)); }},
    {"unroll", 1, 0, 0, false, [](Player& p) { p.schedule.unroll(p.loop(0)); }},
    {"bind", 1, 1, 0, false, [](Player& p) { p.schedule.bind(p.loop(0), p.text()); }},
    {"cache_read", 1, 1, 0, true,
     [](Player& p) { p.define(p.schedule.cache_read(p.block(0), p.text())); }},
    {"cache_write", 1, 0, 0, true, [](Player& p) { p.define(p.schedule.cache_write(p.block(0))); }},
    {"store_at", 2, 1, 0, false,
     [](Player& p) { p.schedule.store_at(p.block(0), p.loop(1), p.text()); }},
    {"storage_align", 1, 0, 3, false,
     [](Player& p) {
       p.schedule.storage_align(p.block(0), p.number("dim"), p.number("factor"),
                                p.number("offset"));
     }},
    {"compute_at", 2, 0, 0, false, [](Player& p) { p.schedule.compute_at(p.block(0), p.loop(1)); }},
    {"reverse_compute_at", 2, 0, 0, false,
     [](Player& p) { p.schedule.reverse_compute_at(p.block(0), p.loop(1)); }},
    {"inline", 1, 0, 0, false, [](Player& p) { p.schedule.inline_block(p.block(0)); }},
    {"reverse_inline", 1, 0, 0, false, [](Player& p) { p.schedule.reverse_inline(p.block(0)); }},
    {"rfactor", 2, 0, 0, true,
     [](Player& p) { p.define(p.schedule.rfactor(p.block(0), p.loop(1))); }},
    {"decompose_reduction", 2, 0, 0, true,
     [](Player& p) { p.define(p.schedule.decompose_reduction(p.block(0), p.loop(1))); }},
    {"tensorize", 1, 1, 0, false, [](Player& p) { p.schedule.tensorize(p.loop(0), p.text()); }},
}};

const Entry& entry_of(const Player& player) {
  const Instruction& now = *player.now;
  std::string known;
  for (const Entry& entry : kInstructions) {
    if (entry.op != now.op) {
      known += (known.empty() ? "" : ", ") + std::string(entry.op);
      continue;
    }
    bool fits =
        (entry.operands < 0 || now.operands.size() == static_cast<size_t>(entry.operands)) &&
        now.values.size() == static_cast<size_t>(entry.values) &&
        now.attributes.size() == static_cast<size_t>(entry.attributes);
    if (!fits) {
      player.fail("the operands do not fit",
                  (entry.operands < 0 ? "any number of" : std::to_string(entry.operands)) +
                      " %names, " + std::to_string(entry.values) + " values, " +
                      std::to_string(entry.attributes) + " attributes");
    }
    if (!entry.has_results && !now.results.empty()) player.fail("it has no result");
    return entry;
  }
  player.fail("unknown instruction", "one of " + known, now.op);
}

}  // namespace

Schedule replay(const Trace& trace, tir::PrimFuncRef func) {
  Player player(std::move(func));
  for (const Instruction& instruction : trace.instructions) {
    player.now = &instruction;
    const Entry& entry = entry_of(player);
    try {
      entry.run(player);
    } catch (const CompilerException& exception) {
      Error error = exception.error();
      if (error.kind == ErrorKind::kUser && error.where.empty() && instruction.line > 0) {
        error.where = "line " + std::to_string(instruction.line);
      }
      throw_error(std::move(error));
    }
  }
  return std::move(player.schedule);
}

}  // namespace tapml::schedule
