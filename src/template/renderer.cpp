#include "template/renderer.h"

#include <algorithm>

#include "template/lexer.h"
#include "template/render_depth.h"
#include "template/text.h"

namespace tapml::jinja {

namespace {

constexpr int kMostDepth = 500;
// Of lists and dicts in one another; JSON nests 512 deep at most.
constexpr int kMostValueDepth = 600;
// Of a list or dict that a template makes: parts may be shared, and are walked each time.
constexpr uint64_t kMostValueWeight = 10'000'000;
constexpr size_t kBytesOfValue = sizeof(Value);

}  // namespace

Value* Scope::find(std::string_view name) {
  for (auto& [key, value] : variables) {
    if (key == name) return &value;
  }
  return nullptr;
}

void Scope::set(std::string_view name, Value value) {
  if (Value* known = find(name)) {
    *known = std::move(value);
  } else {
    variables.emplace_back(std::string(name), std::move(value));
  }
}

Renderer::Inner::Inner(Renderer& renderer, Scope* parent)
    : renderer_(renderer), outer_(renderer.scope_), scope_(std::make_unique<Scope>()) {
  scope_->parent = parent;
  renderer_.scope_ = scope_.get();
}

Renderer::Inner::~Inner() {
  renderer_.scope_ = outer_;
  if (scope_->kept) renderer_.scopes_.push_back(std::move(scope_));
}

Renderer::Depth::Depth(Renderer& renderer) : renderer_(renderer) { ++renderer_.depth_; }
Renderer::Depth::~Depth() { --renderer_.depth_; }

Status Renderer::Depth::check() const {
  if (renderer_.depth_ <= kMostDepth) return {};
  return renderer_.error("the template calls itself too deeply",
                         std::to_string(kMostDepth) + " levels", "",
                         "does a macro or a recursive loop call itself without an end?");
}

namespace {

// Of one charge: sums of charges must not overflow, in 32 bits neither.
constexpr size_t kMostCharge = size_t{1} << (sizeof(size_t) > 4 ? 40 : 30);

}  // namespace

Status Renderer::charge(size_t steps) {
  steps_ += static_cast<int64_t>(std::min(steps, kMostCharge));
  if (steps_ <= options_.steps) return {};
  return error("the template takes too many steps", std::to_string(options_.steps) + " at most",
               "more", "does a loop not end, or run over too many items?");
}

Status Renderer::charge_bytes(size_t bytes) {
  bytes_ += std::min(bytes, kMostCharge);
  if (bytes_ <= options_.memory) return charge(bytes / 64);
  return error("the template makes too much text", std::to_string(options_.memory) + " bytes",
               "more", "does a loop make a text longer again and again?");
}

Status Renderer::charge_comparison(const Value& a, const Value& b) {
  const auto depth = static_cast<uint64_t>(1 + std::min(a.depth(), b.depth()));
  return charge(static_cast<size_t>(1 + std::min(a.weight(), b.weight()) * depth / 16));
}

std::unexpected<Error> Renderer::error(std::string message, std::string expected, std::string found,
                                       std::string hint) const {
  return fail(user_error(std::move(message), template_location(source_, text_, at_),
                         std::move(expected), std::move(found), std::move(hint)));
}

std::unexpected<Error> Renderer::undefined_error(const Value& value) const {
  const std::string& reason = value.text();
  return error(reason.empty() ? "a value is undefined" : reason, "a value", "nothing");
}

std::unexpected<Error> Renderer::type_error(const std::string& what, const std::string& expected,
                                            const Value& found) const {
  if (found.is_undefined()) return undefined_error(found);
  return error(what + " has a value of another type", expected, found.type_name());
}

Result<Value> Renderer::make_text(std::string text) {
  TAPML_TRY(charge_bytes(text.size() + kBytesOfValue));
  return Value::string(std::move(text));
}

Result<Value> Renderer::make_list(Items items) {
  TAPML_TRY(charge_bytes((items.size() + 1) * kBytesOfValue));
  Value list = Value::list(std::move(items));
  if (list.weight() > kMostValueWeight) return error("a list is too large", "10,000,000 values");
  if (list.depth() <= kMostValueDepth) return list;
  return error("lists nest too deeply", std::to_string(kMostValueDepth) + " levels");
}

Result<Value> Renderer::make_iterator(Items items) {
  TAPML_TRY(charge_bytes((items.size() + 2) * kBytesOfValue));
  iterators_.push_back(std::make_unique<Iterator>(Iterator{std::move(items)}));
  return Value::object(Kind::kIterator, iterators_.back().get());
}

Result<Value> Renderer::make_dict(Members members) {
  TAPML_TRY(charge_bytes((2 * members.size() + 1) * kBytesOfValue));
  Value dict = Value::dict(std::move(members));
  if (dict.weight() > kMostValueWeight) return error("a dict is too large", "10,000,000 values");
  if (dict.depth() <= kMostValueDepth) return dict;
  return error("dicts nest too deeply", std::to_string(kMostValueDepth) + " levels");
}

Status Renderer::set_member(Members& members, Value key, Value value) {
  TAPML_TRY(charge(static_cast<size_t>(key.weight() / 16)));
  if (!key.is_hashable()) return type_error("a key of a dict", "a text or a number", key);
  TAPML_TRY(charge(members.size() / 8 + 1));
  for (auto& [known, item] : members) {
    if (key.is(Kind::kTuple)) TAPML_TRY(charge_comparison(known, key));
    if (!equal(known, key)) continue;
    item = std::move(value);
    return {};
  }
  members.emplace_back(std::move(key), std::move(value));
  return {};
}

Result<std::string> Renderer::str(const Value& value) {
  std::string text;
  const size_t most = options_.memory - std::min(bytes_, options_.memory);
  const bool whole = value.append_str(text, most);
  TAPML_TRY(charge_bytes(text.size() + (whole ? 0 : options_.memory)));
  return text;
}

Result<Items> Renderer::items_of(const Value& value) {
  Items items;
  switch (value.kind()) {
    case Kind::kUndefined:
      break;
    case Kind::kList:
    case Kind::kTuple:
      items = value.items();
      break;
    case Kind::kDict:
      for (const auto& member : value.members()) items.push_back(member.first);
      break;
    case Kind::kString:
      TAPML_TRY(charge_bytes(2 * kBytesOfValue * value.text().size()));
      for (const std::string_view one : split_code_points(value.text())) {
        items.push_back(Value::string(std::string(one)));
      }
      break;
    case Kind::kIterator: {
      auto& iterator = value.object<Iterator>();
      items.assign(iterator.items.begin() + static_cast<ptrdiff_t>(iterator.next),
                   iterator.items.end());
      iterator.next = iterator.items.size();
      break;
    }
    default:
      return type_error("what is iterated over", "a list, a dict or a text", value);
  }
  TAPML_TRY(charge_bytes(items.size() * kBytesOfValue));
  return items;
}

Result<int64_t> Renderer::length_of(const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
      return 0;
    case Kind::kList:
    case Kind::kTuple:
      return std::ssize(value.items());
    case Kind::kDict:
      return std::ssize(value.members());
    case Kind::kString:
      TAPML_TRY(charge(value.text().size() / 64));
      return count_code_points(value.text());
    case Kind::kLoop:
      return length_of_loop(value.object<LoopState>());
    default:
      return type_error("what has no length", "a list, a dict or a text", value);
  }
}

Result<Rendered> Renderer::run(const Body& body, const Json& variables) {
  for (const auto& [name, value] : variables.members()) {
    variables_[name] = Value::of_json(value);
  }
  for (const char* name :
       {"range", "dict", "namespace", "cycler", "joiner", "raise_exception", "strftime_now"}) {
    variables_.emplace(name, Value::function(name));
  }
  Rendered rendered;
  out_ = &rendered.text;
  Result<Flow> flow = Flow::kNext;
  {
    const Inner root(*this, nullptr);
    flow = run_body(body);
  }
  if (!flow) return fail(std::move(flow).error());
  rendered.generated = std::move(generated_);
  return rendered;
}

}  // namespace tapml::jinja
