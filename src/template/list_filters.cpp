// The filters of lists and dicts.
#include <algorithm>

#include "base/strings.h"
#include "template/method_names.h"
#include "template/renderer.h"
#include "template/text.h"

namespace tapml::jinja {

namespace {

Value without_case(const Value& value) {
  return value.is_string() ? Value::string(lower(value.text())) : value;
}

}  // namespace

Result<Value> Renderer::filter_default(const Value& value, const Arguments& arguments) {
  TAPML_ASSIGN(const Bound bound, bind(arguments, "default", {"default_value", "boolean"}));
  if (value.is_undefined() || (boolean(bound[1], false) && !value.truth())) {
    return bound[0] ? *bound[0] : Value::string("");
  }
  return value;
}

Result<Value> Renderer::filter_length(const Value& value, const Arguments& arguments) {
  TAPML_TRY(bind(arguments, "length", {}));
  TAPML_ASSIGN(const int64_t length, length_of(value));
  return Value::integer(length);
}

Result<Value> Renderer::filter_list(const Value& value, const Arguments& arguments) {
  TAPML_TRY(bind(arguments, "list", {}));
  TAPML_ASSIGN(Items items, items_of(value));
  return make_list(std::move(items));
}

Result<Value> Renderer::filter_items(const Value& value, const Arguments& arguments) {
  TAPML_TRY(bind(arguments, "items", {}));
  if (value.is_undefined()) return make_iterator({});
  if (!value.is_dict()) return type_error("the filter items", "a dict", value);
  Items items;
  for (const auto& [key, item] : value.members()) items.push_back(Value::tuple({key, item}));
  TAPML_TRY(charge_bytes(3 * items.size() * sizeof(Value)));
  return make_iterator(std::move(items));
}

Result<Value> Renderer::filter_first(const Value& value, const Arguments& arguments) {
  TAPML_TRY(bind(arguments, "first", {}));
  if (value.is(Kind::kIterator)) {
    auto& iterator = value.object<Iterator>();
    if (iterator.next < iterator.items.size()) return iterator.items[iterator.next++];
    return Value::undefined("a list is empty: it has no first item");
  }
  if (value.is_sequence() && !value.items().empty()) return value.items()[0];
  TAPML_ASSIGN(const Items items, items_of(value));
  return items.empty() ? Value::undefined("a list is empty: it has no first item") : items[0];
}

Result<Value> Renderer::filter_last(const Value& value, const Arguments& arguments) {
  TAPML_TRY(bind(arguments, "last", {}));
  if (value.is(Kind::kIterator)) {
    return type_error("the filter last", "a list (the filter list makes one)", value);
  }
  if (value.is_sequence() && !value.items().empty()) return value.items().back();
  TAPML_ASSIGN(const Items items, items_of(value));
  return items.empty() ? Value::undefined("a list is empty: it has no last item") : items.back();
}

Result<Value> Renderer::filter_reverse(const Value& value, const Arguments& arguments) {
  TAPML_TRY(bind(arguments, "reverse", {}));
  TAPML_ASSIGN(Items items, items_of(value));
  std::ranges::reverse(items);
  if (!value.is_string()) return make_iterator(std::move(items));
  std::string text;
  for (const Value& item : items) text += item.text();
  return make_text(std::move(text));
}

Result<Value> Renderer::attribute_path(const Value& item, const Value* path,
                                       const Value* fallback) {
  if (!path || path->is_none()) return item;
  if (!path->is_string()) {
    TAPML_ASSIGN(Value value, subscript(item, *path));
    return value.is_undefined() && fallback ? *fallback : value;
  }
  Value value = item;
  for (const std::string_view part : split_by(path->text(), ".", -1, false)) {
    const bool number = test_characters(part, CharacterTest::kDecimal) && part.size() < 10 &&
                        test_characters(part, CharacterTest::kAscii);
    TAPML_ASSIGN(value, subscript(value, number ? Value::integer(std::stol(std::string(part)))
                                                : Value::string(std::string(part))));
    if (value.is_undefined() && fallback) value = *fallback;
  }
  return value;
}

Result<Value> Renderer::filter_attr(const Value& value, const Arguments& arguments) {
  TAPML_ASSIGN(const Bound bound, bind(arguments, "attr", {"name"}, 1));
  TAPML_ASSIGN(const std::string name, string(bound[0], "attr", ""));
  if (value.is_undefined()) return undefined_error(value);
  TAPML_ASSIGN(auto found, attribute_of(value, name));
  return found ? *found : Value::undefined("a value has no " + in_quotes(name));
}

Result<Value> Renderer::filter_join(const Value& value, const Arguments& arguments) {
  TAPML_ASSIGN(const Bound bound, bind(arguments, "join", {"d", "attribute"}));
  std::string separator;
  if (bound[0]) {
    TAPML_ASSIGN(separator, str(*bound[0]));
  }
  TAPML_ASSIGN(const Items items, items_of(value));
  std::string out;
  for (size_t i = 0; i < items.size(); ++i) {
    TAPML_ASSIGN(const Value item, attribute_path(items[i], bound[1]));
    TAPML_ASSIGN(const std::string text, str(item));
    TAPML_TRY(charge_bytes(separator.size()));
    if (i > 0) out += separator;
    out += text;
  }
  return Value::string(std::move(out));
}

Result<Value> Renderer::filter_map(const Value& value, const Arguments& arguments) {
  if (!value.truth()) return make_iterator({});  // none, too
  TAPML_ASSIGN(const Items items, items_of(value));
  Items out;
  if (arguments.positional.empty()) {
    TAPML_ASSIGN(const Bound bound, bind(arguments, "map", {"attribute", "default"}));
    if (!bound[0]) return error("map needs the name of a filter or an attribute", "a name");
    for (const Value& item : items) {
      TAPML_TRY(charge(1));
      TAPML_ASSIGN(Value one, attribute_path(item, bound[0], bound[1]));
      out.push_back(std::move(one));
    }
    return make_iterator(std::move(out));
  }
  TAPML_ASSIGN(const std::string name, string(&arguments.positional[0], "map", ""));
  const Arguments rest = {{arguments.positional.begin() + 1, arguments.positional.end()},
                          arguments.named};
  for (const Value& item : items) {
    TAPML_TRY(charge(1));
    TAPML_ASSIGN(Value one, apply_filter(name, item, rest));
    out.push_back(std::move(one));
  }
  return make_iterator(std::move(out));
}

Result<Value> Renderer::selected(const Value& value, const Arguments& arguments, bool by_attribute,
                                 bool keeps) {
  if (!value.truth()) return make_iterator({});  // none, too
  const size_t skipped = by_attribute ? 1 : 0;
  if (arguments.positional.size() < skipped) {
    return error("the filter needs the name of an attribute", "a name", "nothing");
  }
  const Value* path = by_attribute ? &arguments.positional[0] : nullptr;
  std::string test;
  Arguments rest;
  if (arguments.positional.size() > skipped) {
    TAPML_ASSIGN(test, string(&arguments.positional[skipped], "the name of a test", ""));
    rest = {{arguments.positional.begin() + static_cast<ptrdiff_t>(skipped) + 1,
             arguments.positional.end()},
            arguments.named};
  }
  TAPML_ASSIGN(const Items items, items_of(value));
  Items out;
  for (const Value& item : items) {
    TAPML_TRY(charge(1));
    TAPML_ASSIGN(const Value one, attribute_path(item, path));
    bool holds = one.truth();
    if (arguments.positional.size() > skipped) {
      TAPML_ASSIGN(holds, apply_test(test, one, rest));
    }
    if (holds == keeps) out.push_back(item);
  }
  return make_iterator(std::move(out));
}

Result<Value> Renderer::filter_select(const Value& value, const Arguments& arguments) {
  return selected(value, arguments, false, true);
}

Result<Value> Renderer::filter_reject(const Value& value, const Arguments& arguments) {
  return selected(value, arguments, false, false);
}

Result<Value> Renderer::filter_selectattr(const Value& value, const Arguments& arguments) {
  return selected(value, arguments, true, true);
}

Result<Value> Renderer::filter_rejectattr(const Value& value, const Arguments& arguments) {
  return selected(value, arguments, true, false);
}

// A merge sort, because the order of two values may be an error.
Result<Items> Renderer::sorted(Items items, const std::vector<Items>& keys, bool reverse) {
  std::vector<size_t> order(items.size()), merged(items.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  for (size_t width = 1; width < order.size(); width *= 2) {
    for (size_t begin = 0; begin < order.size(); begin += 2 * width) {
      size_t left = begin, right = std::min(begin + width, order.size());
      const size_t middle = right, end = std::min(begin + 2 * width, order.size());
      for (size_t out = begin; out < end; ++out) {
        bool takes_right = left == middle;
        if (left < middle && right < end) {
          const Value a = Value::list(keys[order[left]]), b = Value::list(keys[order[right]]);
          TAPML_TRY(charge_comparison(a, b));
          const bool less = [&] {
            const Order both = compare(a, b);
            return reverse ? both == Order::kGreater : both == Order::kLess;
          }();
          // Equal keys keep their order.
          const Order reversed = compare(b, a);
          takes_right = reverse ? reversed == Order::kGreater : reversed == Order::kLess;
          if (!less && !takes_right && reversed == Order::kRefused) {
            return error("two values have no order", "numbers, or texts", "values of both");
          }
        }
        merged[out] = takes_right ? order[right++] : order[left++];
      }
    }
    order.swap(merged);
  }
  Items out;
  out.reserve(items.size());
  for (const size_t i : order) out.push_back(std::move(items[i]));
  return out;
}

Result<Value> Renderer::filter_sort(const Value& value, const Arguments& arguments) {
  TAPML_ASSIGN(const Bound bound,
               bind(arguments, "sort", {"reverse", "case_sensitive", "attribute"}));
  const bool sensitive = boolean(bound[1], false);
  TAPML_ASSIGN(Items items, items_of(value));
  std::vector<Value> paths;
  if (bound[2] && bound[2]->is_string()) {
    for (const std::string_view part : split_by(bound[2]->text(), ",", -1, false)) {
      paths.push_back(Value::string(std::string(part)));
    }
  } else {
    paths.push_back(bound[2] ? *bound[2] : Value::none());
  }
  std::vector<Items> keys;
  for (const Value& item : items) {
    Items key;
    for (const Value& path : paths) {
      TAPML_ASSIGN(Value one, attribute_path(item, &path));
      key.push_back(sensitive ? one : without_case(one));
    }
    TAPML_TRY(charge_bytes(paths.size() * sizeof(Value)));
    keys.push_back(std::move(key));
  }
  TAPML_ASSIGN(items, sorted(std::move(items), keys, boolean(bound[0], false)));
  return make_list(std::move(items));
}

Result<Value> Renderer::filter_dictsort(const Value& value, const Arguments& arguments) {
  TAPML_ASSIGN(const Bound bound, bind(arguments, "dictsort", {"case_sensitive", "by", "reverse"}));
  TAPML_ASSIGN(const std::string by, string(bound[1], "dictsort", "key"));
  if (by != "key" && by != "value") {
    return error("dictsort sorts by something else", "key or value", in_quotes(by));
  }
  if (!value.is_dict()) return type_error("the filter dictsort", "a dict", value);
  Items items;
  std::vector<Items> keys;
  for (const auto& [key, item] : value.members()) {
    items.push_back(Value::tuple({key, item}));
    const Value& one = by == "key" ? key : item;
    keys.push_back({boolean(bound[0], false) ? one : without_case(one)});
  }
  TAPML_TRY(charge_bytes(4 * items.size() * sizeof(Value)));
  TAPML_ASSIGN(items, sorted(std::move(items), keys, boolean(bound[2], false)));
  return make_list(std::move(items));
}

Result<Value> Renderer::filter_groupby(const Value& value, const Arguments& arguments) {
  TAPML_ASSIGN(const Bound bound,
               bind(arguments, "groupby", {"attribute", "default", "case_sensitive"}, 1));
  const bool sensitive = boolean(bound[2], false);
  TAPML_ASSIGN(Items items, items_of(value));
  std::vector<Items> keys;
  for (const Value& item : items) {
    TAPML_ASSIGN(Value one, attribute_path(item, bound[0], bound[1]));
    keys.push_back({sensitive ? one : without_case(one)});
  }
  TAPML_ASSIGN(items, sorted(std::move(items), keys, false));
  Items groups;
  Items group;
  Value group_name, group_key;
  const auto close = [&] {
    if (group.empty()) return;
    groups.push_back(Value::view({group_name, Value::list(std::exchange(group, {}))}, kGroupName));
  };
  for (const Value& item : items) {
    TAPML_ASSIGN(Value name, attribute_path(item, bound[0], bound[1]));
    Value key = sensitive ? name : without_case(name);
    if (!group.empty()) TAPML_TRY(charge_comparison(key, group_key));
    if (group.empty() || !equal(key, group_key)) {
      close();
      group_key = std::move(key);
      group_name = std::move(name);
    }
    group.push_back(item);
  }
  close();
  TAPML_TRY(charge_bytes(items.size() * sizeof(Value)));
  return make_list(std::move(groups));
}

Result<Value> Renderer::filter_unique(const Value& value, const Arguments& arguments) {
  TAPML_ASSIGN(const Bound bound, bind(arguments, "unique", {"case_sensitive", "attribute"}));
  TAPML_ASSIGN(const Items items, items_of(value));
  Items out, seen;
  for (const Value& item : items) {
    TAPML_ASSIGN(Value key, attribute_path(item, bound[1]));
    if (!boolean(bound[0], false)) key = without_case(key);
    if (!key.is_hashable()) return type_error("the filter unique", "texts or numbers", key);
    TAPML_TRY(charge(static_cast<size_t>(1 + key.weight() / 16)));
    for (const Value& one : seen) TAPML_TRY(charge_comparison(one, key));
    if (std::ranges::any_of(seen, [&](const Value& one) { return equal(one, key); })) continue;
    seen.push_back(std::move(key));
    out.push_back(item);
  }
  return make_iterator(std::move(out));
}

Result<Value> Renderer::extreme(const Value& value, const Arguments& arguments, Order wanted) {
  TAPML_ASSIGN(const Bound bound, bind(arguments, "min or max", {"case_sensitive", "attribute"}));
  TAPML_ASSIGN(const Items items, items_of(value));
  if (items.empty()) return Value::undefined("a list is empty: it has no smallest or largest item");
  Value best, best_key;
  for (size_t i = 0; i < items.size(); ++i) {
    TAPML_ASSIGN(Value key, attribute_path(items[i], bound[1]));
    if (!boolean(bound[0], false)) key = without_case(key);
    if (i > 0) {
      if (key.is_undefined()) return undefined_error(key);
      TAPML_TRY(charge_comparison(key, best_key));
      const Order order = compare(key, best_key);
      if (order == Order::kRefused) return error("two values have no order", "numbers, or texts");
      if (order != wanted) continue;
    }
    best = items[i];
    best_key = std::move(key);
  }
  return best;
}

Result<Value> Renderer::filter_min(const Value& value, const Arguments& arguments) {
  return extreme(value, arguments, Order::kLess);
}

Result<Value> Renderer::filter_max(const Value& value, const Arguments& arguments) {
  return extreme(value, arguments, Order::kGreater);
}

Result<Value> Renderer::filter_sum(const Value& value, const Arguments& arguments) {
  TAPML_ASSIGN(const Bound bound, bind(arguments, "sum", {"attribute", "start"}));
  TAPML_ASSIGN(const Items items, items_of(value));
  Value sum = bound[1] ? *bound[1] : Value::integer(0);
  if (sum.is_string()) return type_error("the filter sum", "numbers or lists", sum);
  for (const Value& item : items) {
    TAPML_ASSIGN(const Value one, attribute_path(item, bound[0]));
    TAPML_ASSIGN(sum, binary("+", sum, one));
  }
  return sum;
}

Result<Value> Renderer::filter_batch(const Value& value, const Arguments& arguments) {
  TAPML_ASSIGN(const Bound bound, bind(arguments, "batch", {"linecount", "fill_with"}, 1));
  TAPML_ASSIGN(const int64_t size, integer(bound[0], "batch", 1));
  if (size < 1) return error("the size of a batch is too small", "1 or more", std::to_string(size));
  TAPML_ASSIGN(const Items items, items_of(value));
  Items out, row;
  for (const Value& item : items) {
    if (std::ssize(row) == size) out.push_back(Value::list(std::exchange(row, {})));
    row.push_back(item);
  }
  if (!row.empty()) {
    if (bound[1] && !bound[1]->is_none()) {
      const auto missing = static_cast<size_t>(size) - row.size();
      TAPML_TRY(charge_bytes(std::min(missing, options_.memory + 1) * sizeof(Value)));
      row.resize(static_cast<size_t>(size), *bound[1]);
    }
    out.push_back(Value::list(std::move(row)));
  }
  TAPML_TRY(charge_bytes(items.size() * sizeof(Value)));
  return make_iterator(std::move(out));
}

Result<Value> Renderer::filter_slice(const Value& value, const Arguments& arguments) {
  TAPML_ASSIGN(const Bound bound, bind(arguments, "slice", {"slices", "fill_with"}, 1));
  TAPML_ASSIGN(const int64_t slices, integer(bound[0], "slice", 1));
  if (slices < 1)
    return error("slice needs a number of lists", "1 or more", std::to_string(slices));
  TAPML_ASSIGN(const Items items, items_of(value));
  TAPML_TRY(charge_bytes(std::min(static_cast<size_t>(slices), options_.memory) * sizeof(Value)));
  const int64_t each = std::ssize(items) / slices, longer = std::ssize(items) % slices;
  Items out;
  auto at = items.begin();
  for (int64_t i = 0; i < slices; ++i) {
    const auto end = at + each + (i < longer ? 1 : 0);
    Items part(at, end);
    if (bound[1] && !bound[1]->is_none() && i >= longer) part.push_back(*bound[1]);
    at = end;
    out.push_back(Value::list(std::move(part)));
  }
  return make_iterator(std::move(out));
}

}  // namespace tapml::jinja
