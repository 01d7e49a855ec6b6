#include "topdown/report/model_map.h"

#include <algorithm>
#include <limits>
#include <map>

#include "topdown/report/html.h"
#include "topdown/report/report_parts.h"

namespace tapml::topdown {

namespace {

// With more rows than this, equal rows are drawn as one.
constexpr size_t kManyRows = 16;

bool is_number(std::string_view text) {
  return !text.empty() && text.size() <= 9 &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

struct Chip {
  size_t kernel = 0;
  int64_t sequence = 0;
  double ratio = 0;
  bool compared = false;
};

// Chips by function.
struct Row {
  LayerPosition place;
  int64_t sequence = std::numeric_limits<int64_t>::max();  // of its first call
  std::map<std::string, std::vector<Chip>> chips;
};

class Map {
 public:
  explicit Map(const std::vector<PageKernel>& kernels) : kernels_(kernels) {
    for (size_t k = 0; k < kernels.size(); ++k) {
      for (const CallGroup& group : kernels[k].groups) add(k, group);
      // A kernel without known calls.
      if (kernels[k].groups.empty()) {
        add(k, {.function = "",
                .origin = kernels[k].verdict ? kernels[k].verdict->origin : kernels[k].layers,
                .sequence = std::numeric_limits<int64_t>::max() - 1});
      }
    }
    sort();
  }

  std::string html() const {
    std::vector<std::string> heads = {"layer"};
    for (const auto& [name, sequence] : functions_in_order()) {
      heads.push_back(name.empty() ? "not called" : escaped(name));
    }
    std::string rows;
    for (size_t first = 0; first < rows_.size();) {
      size_t last = first;
      while (rows_.size() > kManyRows && last + 1 < rows_.size() &&
             alike(rows_[first], rows_[last + 1])) {
        ++last;
      }
      std::string name = rows_[first].place.name();
      if (last > first) name += " – " + std::to_string(rows_[last].place.number);
      rows += row_html(rows_[first], name);
      first = last + 1;
    }
    return table(heads, rows, "map");
  }

 private:
  void add(size_t kernel, const CallGroup& group) {
    for (const LayerPosition& place : layer_positions(group.origin)) {
      auto row = std::ranges::find(rows_, place, &Row::place);
      if (row == rows_.end()) {
        rows_.push_back({.place = place});
        row = rows_.end() - 1;
      }
      row->sequence = std::min(row->sequence, group.sequence);
      auto function = functions_.try_emplace(group.function, group.sequence).first;
      function->second = std::min(function->second, group.sequence);
      std::vector<Chip>& chips = row->chips[group.function];
      auto chip = std::ranges::find(chips, kernel, &Chip::kernel);
      if (chip == chips.end()) {
        chips.push_back({.kernel = kernel, .sequence = group.sequence});
        chip = chips.end() - 1;
      }
      chip->ratio = std::max(chip->ratio, group.ratio);
      chip->compared |= group.compared > 0;
    }
  }

  // Sections in the order of their first calls; the layers of a stack by number.
  void sort() {
    std::map<std::string, int64_t> section;
    for (const Row& row : rows_) {
      auto first = section.try_emplace(row.place.section, row.sequence).first;
      first->second = std::min(first->second, row.sequence);
    }
    std::ranges::stable_sort(rows_, [&](const Row& a, const Row& b) {
      if (a.place.section != b.place.section) {
        return section[a.place.section] < section[b.place.section];
      }
      return a.place.number < b.place.number;
    });
    for (Row& row : rows_) {
      for (auto& [function, chips] : row.chips)
        std::ranges::stable_sort(chips, {}, &Chip::sequence);
    }
  }

  // Whether the kernel is wrong in another layer, but not in this one.
  bool spared(const Chip& chip) const {
    return kernels_[chip.kernel].state == KernelState::kMismatch && chip.compared &&
           chip.ratio <= 1;
  }

  bool alike(const Row& a, const Row& b) const {
    if (a.place.section != b.place.section || a.place.number < 0) return false;
    if (a.chips.size() != b.chips.size()) return false;
    for (const auto& [function, chips] : a.chips) {
      const auto other = b.chips.find(function);
      if (other == b.chips.end()) return false;
      const bool same = std::ranges::equal(chips, other->second, [&](const Chip& x, const Chip& y) {
        return x.kernel == y.kernel && spared(x) == spared(y);
      });
      if (!same) return false;
    }
    return true;
  }

  std::string row_html(const Row& row, const std::string& name) const {
    std::string cells = element("th", {{"scope", "row"}}, escaped(name));
    for (const auto& [function, sequence] : functions_in_order()) {
      std::string chips;
      if (const auto found = row.chips.find(function); found != row.chips.end()) {
        for (const Chip& chip : found->second) chips += chip_html(chip, name);
      }
      // Narrow screens show the headings in the cells.
      cells += element("td", {{"data-of", function}}, chips);
    }
    return element("tr", cells) + "\n";
  }

  std::string chip_html(const Chip& chip, const std::string& place) const {
    const PageKernel& kernel = kernels_[chip.kernel];
    std::string title = kernel.name + ", " + place + ": " + kernel.outcome;
    if (chip.compared) title += ", error over bound " + number(chip.ratio);
    const bool spares = spared(chip);
    if (spares) title += " (within its bound in this layer)";
    return element(
               "a",
               {{"class",
                 std::string("chip ") + state_class(kernel.state) + (spares ? " spared" : "")},
                {"href", "#" + kernel_anchor(chip.kernel)},
                {"title", title}},
               std::string(kernel.state == KernelState::kPassed ? "" : state_sign(kernel.state)) +
                   std::to_string(chip.kernel + 1)) +
           " ";
  }

  std::vector<std::pair<std::string, int64_t>> functions_in_order() const {
    std::vector<std::pair<std::string, int64_t>> order(functions_.begin(), functions_.end());
    std::ranges::stable_sort(order, {}, &std::pair<std::string, int64_t>::second);
    return order;
  }

  const std::vector<PageKernel>& kernels_;
  std::vector<Row> rows_;
  std::map<std::string, int64_t> functions_;  // by name, with their first call
};

std::string legend(const std::vector<PageKernel>& kernels) {
  std::string items;
  for (KernelState state :
       {KernelState::kPassed, KernelState::kMismatch, KernelState::kHybridMismatch,
        KernelState::kFails, KernelState::kUntested}) {
    const auto count = std::ranges::count(kernels, state, &PageKernel::state);
    items += element("span", element("span", {{"class", std::string("chip ") + state_class(state)}},
                                     state_sign(state)) +
                                 " " + state_name(state) + " (" + std::to_string(count) + ")") +
             " ";
  }
  items += element("span", element("span", {{"class", "chip mismatch spared"}}, "≠") +
                               " mismatch, but not in this layer");
  return element("p", {{"class", "legend"}}, items);
}

}  // namespace

std::string LayerPosition::name() const {
  const size_t dot = section.rfind('.');
  const std::string last = dot == std::string::npos ? section : section.substr(dot + 1);
  return number < 0 ? last : last + " " + std::to_string(number);
}

LayerPosition layer_position(const std::string& path) {
  for (size_t begin = 0; begin < path.size();) {
    const size_t end = std::min(path.find('.', begin), path.size());
    const std::string piece = path.substr(begin, end - begin);
    if (begin > 0 && is_number(piece)) {
      return {.section = path.substr(0, begin - 1), .number = std::stoll(piece)};
    }
    begin = end + 1;
  }
  return {.section = path};
}

std::vector<LayerPosition> layer_positions(const Origin& origin) {
  std::vector<LayerPosition> places;
  for (const std::string& path : origin.layers) {
    LayerPosition place = layer_position(path);
    if (std::ranges::find(places, place) == places.end()) places.push_back(std::move(place));
  }
  if (places.empty()) places.push_back({.section = "elsewhere"});
  return places;
}

std::string model_map(const std::vector<PageKernel>& kernels) {
  if (kernels.empty()) return element("p", "No kernel was tried.");
  return legend(kernels) + Map(kernels).html();
}

}  // namespace tapml::topdown
