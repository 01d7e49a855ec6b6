// References of rotary positions, of the paged key-value cache, and of attention.
#include <algorithm>

#include "ir/exceptions.h"
#include "op/reference/dot.h"
#include "op/reference/parallel.h"
#include "op/reference/repetition.h"

namespace tapml::op::reference {

void rope(const AttrMap& attrs, Args args, Outputs outputs) {
  const RefTensor &x = *args[0].tensor, &lengths = *args[1].tensor, &freq = *args[2].tensor;
  double u32 = unit_roundoff(DType::kF32), unit = compute_unit(x.dtype);
  auto batch = static_cast<size_t>(x.shape[0]), tokens = static_cast<size_t>(x.shape[1]);
  auto heads = static_cast<size_t>(x.shape[2]), width = static_cast<size_t>(x.shape[3]);
  const bool interleaved = *find_attr<bool>(attrs, "interleaved");
  const double scale = *find_attr<double>(attrs, "scale");
  const auto half = static_cast<size_t>(freq.shape.back());
  const bool of_each = freq.shape.size() == 2;
  const size_t distance = interleaved ? 1 : half;
  std::vector<double> cosine(half), sine(half), error(half);
  for (size_t row = 0; row < batch * tokens; ++row) {
    double position = lengths.values[row / tokens] + static_cast<double>(row % tokens);
    const size_t first_frequency = of_each ? row / tokens * half : 0;
    for (size_t j = 0; j < half; ++j) {
      const size_t at = first_frequency + j;
      double angle = position * freq.values[at];
      cosine[j] = std::cos(angle);
      sine[j] = std::sin(angle);
      // The angle is an f32 product, so its rounding affects sine and cosine fully.
      error[j] = std::min(
          2.0, (1 + 0x1p-12) * u32 * std::fabs(angle) + 4 * u32 + scaled(position, freq.bound[at]));
      if (scale == 1) continue;
      cosine[j] *= scale;
      sine[j] *= scale;
      // The factor is rounded to f32, and so is the product with it.
      error[j] = std::fabs(scale) * (error[j] + 2 * kRoundFactor * u32 * (1 + error[j]));
    }
    for (size_t head = 0; head < heads; ++head) {
      size_t start = (row * heads + head) * width;
      for (size_t j = 0; j < half; ++j) {
        const size_t first = start + (interleaved ? 2 * j : j), second = first + distance;
        double a = x.values[first], b = x.values[second];
        const Error ea = error_of(x, first), eb = error_of(x, second);
        double c = cosine[j], s = sine[j], e = error[j];
        // p * cosine + q * sine, up to signs.
        auto put_turned = [&](size_t at, double value, double p, const Error& ep, double q,
                              const Error& eq) {
          auto carried = [&](double p_error, double q_error) {
            return (std::fabs(p) + std::fabs(q) + p_error + q_error) * e + p_error * std::fabs(c) +
                   q_error * std::fabs(s);
          };
          const double parts = std::fabs(p * c) + std::fabs(q * s);
          const double random = ep.variance * c * c + eq.variance * s * s +
                                rounding_variance(unit, p * c) + rounding_variance(unit, q * s) +
                                rounding_variance(unit, value);
          put(outputs[0], at, value,
              {carried(ep.bound, eq.bound) + 2 * kRoundFactor * unit * parts,
               carried(ep.systematic, eq.systematic), random});
        };
        put_turned(first, a * c - b * s, a, ea, b, eb);
        put_turned(second, b * c + a * s, b, eb, a, ea);
      }
      for (size_t d = 2 * half; d < width; ++d) put_moved(outputs[0], start + d, x, start + d);
    }
  }
}

namespace {

// The paged cache of one call.
struct Pages {
  const RefTensor& table;
  int64_t page_count, page_size;

  Pages(const RefTensor& table, const RefTensor& pool)
      : table(table), page_count(pool.shape[0]), page_size(pool.shape[1]) {}

  // Row of the pool, counted over all pages, of position `position` of batch b.
  size_t row(size_t b, int64_t position, const char* op) const {
    int64_t slots = table.shape[1];
    if (position < 0 || position >= slots * page_size) {
      throw_user(std::string(op) + ": a position is outside the page table", "",
                 "0 to " + std::to_string(slots * page_size - 1), std::to_string(position));
    }
    auto entry = b * static_cast<size_t>(slots) + static_cast<size_t>(position / page_size);
    auto page = static_cast<int64_t>(table.values[entry]);
    if (page < 0 || page >= page_count) {
      throw_user(std::string(op) + ": an entry of the page table is outside the pool", "",
                 "0 to " + std::to_string(page_count - 1), std::to_string(page));
    }
    return static_cast<size_t>(page * page_size + position % page_size);
  }
};

}  // namespace

void kv_append(const AttrMap&, Args args, Outputs outputs) {
  const RefTensor &fresh = *args[1].tensor, &table = *args[2].tensor, &lengths = *args[3].tensor;
  RefTensor& pool = outputs[0];
  Pages pages(table, pool);
  auto batch = static_cast<size_t>(fresh.shape[0]), tokens = static_cast<size_t>(fresh.shape[1]);
  auto width = static_cast<size_t>(fresh.shape[2] * fresh.shape[3]);
  for (size_t b = 0; b < batch; ++b) {
    for (size_t i = 0; i < tokens; ++i) {
      auto position = static_cast<int64_t>(lengths.values[b]) + static_cast<int64_t>(i);
      size_t to = pages.row(b, position, "kv_append") * width;
      size_t from = (b * tokens + i) * width;
      for (size_t j = 0; j < width; ++j) put_moved(pool, to + j, fresh, from + j);
    }
  }
}

namespace {

// cap * tanh(score / cap). The slope is largest where the score is smallest.
void cap_score(double& score, Error& error, double cap, double unit) {
  const double t = std::tanh(score / cap);
  const double slope = std::min(1.0, 1 - t * t + error.bound / cap);
  const double own = scaled(cap * t, (kMathFactor + 2) * unit);
  error = Error::of(slope * error.systematic + own, slope * slope * error.variance);
  score = cap * t;
}

// The attention of one call, whatever decides which rows of keys and values a token sees.
class AttentionRule {
 public:
  AttentionRule(const AttrMap& attrs, const RefTensor& q, const RefTensor& keys,
                const RefTensor& values, RefTensor& out)
      : q_(q),
        keys_(keys),
        values_(values),
        out_(out),
        scores_(q, keys, out, false),
        mixing_(q, values, out, false),
        scale_(*find_attr<double>(attrs, "scale")),
        unit_(compute_unit(q.dtype)) {
    const double* soft_cap = find_attr<double>(attrs, "soft_cap");
    if (soft_cap) soft_cap_ = *soft_cap;
    // The weights of a softmax are f32, whatever the queries are.
    if (q.dtype != DType::kF64) {
      mixing_.first = OperandRounding(out.allowed.precision, DType::kF32);
    }
  }

  // By head: a score that competes with positions, and what each position of distance costs.
  const RefTensor *sinks = nullptr, *slopes = nullptr;

  // The positions that a token sees: from `first` to before `end`; its own.
  struct Seen {
    size_t first = 0, end = 0, own = 0;
  };
  // The results of all heads for the tokens of batch b, whose token i sees seen(i). `rows`: of the
  // positions of the batch, counted over all rows of keys. `repetition`: of the errors of these
  // rows (Repetition).
  template <class SeenBy>
  void attend(size_t b, const std::vector<size_t>& rows, double repetition, const SeenBy& seen) {
    const auto tokens = static_cast<size_t>(q_.shape[1]), heads = static_cast<size_t>(q_.shape[2]);
    const double operations = static_cast<double>(2 * tokens * heads * width() * rows.size());
    in_parallel(out_, tokens * heads, operations, [&](size_t begin, size_t end) {
      std::vector<double> weights;
      std::vector<Error> errors;
      for (size_t at = begin; at < end; ++at) {
        one(b, at / heads, at % heads, rows, repetition, seen(at / heads), weights, errors);
      }
    });
  }

 private:
  size_t width() const { return static_cast<size_t>(q_.shape[3]); }

  // Result of one head for token i.
  void one(size_t b, size_t i, size_t head, const std::vector<size_t>& rows, double repetition,
           const Seen& seen, std::vector<double>& weights, std::vector<Error>& errors) {
    const auto heads = static_cast<size_t>(q_.shape[2]);
    const auto kv_heads = static_cast<size_t>(keys_.shape[2]);
    const size_t group = heads / std::max<size_t>(kv_heads, 1);
    // A row of values may be wider than the part that is mixed.
    const auto row_width = static_cast<size_t>(values_.shape[3]);
    const auto mixed = static_cast<size_t>(out_.shape[3]);
    const size_t place = (b * static_cast<size_t>(q_.shape[1]) + i) * heads + head;
    const size_t query = place * width(), result = place * mixed;
    bool wanted = false;
    for (size_t d = 0; d < mixed; ++d) wanted |= out_.wants(result + d);
    if (!wanted) return;
    const size_t count = seen.end > seen.first ? seen.end - seen.first : 0;
    if (count == 0 && !sinks) {
      for (size_t d = 0; d < mixed; ++d) put(out_, result + d, 0, {});
      return;
    }
    // Row of the t-th position that the token sees, counted over all heads.
    auto cached = [&](size_t t) { return rows[seen.first + t] * kv_heads + head / group; };
    weights.assign(count, 0);
    errors.assign(count, {});
    for (size_t t = 0; t < count; ++t) {
      size_t key = cached(t) * width();
      ProductSum score(scores_);
      for (size_t d = 0; d < width(); ++d) score.add(q_, query + d, keys_, key + d);
      weights[t] = score.value * scale_;
      const Error moved = scaled(scale_, score.error());
      // The scale's own rounding and that of the product with it.
      errors[t] = Error::of(moved.systematic + scaled(weights[t], unit_),
                            moved.variance + rounding_variance(unit_, weights[t]));
      if (soft_cap_ > 0) cap_score(weights[t], errors[t], soft_cap_, unit_);
      if (slopes) {
        const double behind = static_cast<double>(seen.own) - static_cast<double>(seen.first + t);
        lower_score(weights[t], errors[t], behind, head);
      }
    }
    if (sinks) {
      weights.push_back(sinks->values[head]);
      errors.push_back(error_of(*sinks, head));
    }
    const Error shared = softmax_row(weights, errors, unit_, division_factor(out_), repetition);
    for (size_t d = 0; d < mixed; ++d) {
      ProductSum sum(mixing_);
      double bound = 0;
      for (size_t t = 0; t < count; ++t) {
        const size_t at = cached(t) * row_width + d;
        const double v = values_.values[at];
        const Error error = error_of(values_, at);
        sum.add(weights[t], errors[t], v, error);
        bound += weights[t] * error.bound + errors[t].bound * (std::fabs(v) + error.bound);
      }
      Error error = sum.error(repetition);
      const double own = scaled(sum.value, kMathFactor * unit_);
      // Few weights are off by much less than kTails deviations of many.
      error.bound = std::min(error.bound + scaled(sum.value, shared.bound),
                             bound + kTails * std::sqrt(sum.rounding(repetition)) +
                                 mixing_.systematic(sum.value)) +
                    own;
      error.systematic += scaled(sum.value, shared.bound) + own;
      put(out_, result + d, sum.value, error);
    }
  }

  void lower_score(double& score, Error& error, double behind, size_t head) const {
    const double cost = slopes->values[head] * behind;
    const double inherited = std::fabs(behind) * error_of(*slopes, head).bound;
    score -= cost;
    // The roundings of the product and of the difference.
    error =
        Error::of(error.systematic + inherited, error.variance + rounding_variance(unit_, cost) +
                                                    rounding_variance(unit_, score));
  }

  const RefTensor &q_, &keys_, &values_;
  RefTensor& out_;
  ProductPolicy scores_, mixing_;
  double scale_, soft_cap_ = 0;
  double unit_;
};

// The last position that token `token` of all sees, of `count` positions.
size_t last_seen(const RefTensor& ahead, size_t token, size_t own, size_t count) {
  const double more = ahead.values[token];
  if (!(more >= 0)) {
    throw_user("paged_attention_ahead: a query sees less than its own position", "", "at least 0",
               std::to_string(static_cast<int64_t>(more)));
  }
  return std::min(own + static_cast<size_t>(more), count - 1);
}

// `sinks` and `slopes` by head, `ahead` by token; may be null.
struct More {
  const RefTensor *sinks = nullptr, *slopes = nullptr, *ahead = nullptr;
};
void attend_to_cache(const AttrMap& attrs, Args args, const More& more, Outputs outputs) {
  const RefTensor &q = *args[0].tensor, &keys = *args[1].tensor;
  const RefTensor &table = *args[3].tensor, &lengths = *args[4].tensor;
  const int64_t window = *find_attr<int64_t>(attrs, "window");
  const int64_t chunk = *find_attr<int64_t>(attrs, "chunk");
  AttentionRule rule(attrs, q, keys, *args[2].tensor, outputs[0]);
  rule.sinks = more.sinks;
  rule.slopes = more.slopes;
  Pages pages(table, keys);
  auto batch = static_cast<size_t>(q.shape[0]), tokens = static_cast<size_t>(q.shape[1]);
  std::vector<size_t> rows;
  for (size_t b = 0; b < batch; ++b) {
    auto before = static_cast<int64_t>(lengths.values[b]);
    rows.clear();
    for (int64_t t = 0; t < before + static_cast<int64_t>(tokens); ++t) {
      rows.push_back(pages.row(b, t, "paged_attention"));
    }
    // A page that the table names twice gives the same scores, with the same errors, twice.
    Repetition repeated;
    const auto first_seen = [&](int64_t position) {
      int64_t first = window > 0 ? std::max<int64_t>(0, position - window + 1) : 0;
      if (chunk > 0) first = std::max(first, position / chunk * chunk);
      return static_cast<size_t>(first);
    };
    for (size_t t = first_seen(before); t < rows.size(); ++t) {
      repeated.add(1 + static_cast<double>(rows[t]));
    }
    rule.attend(b, rows, repeated.factor(), [&](size_t i) {
      const size_t own = static_cast<size_t>(before) + i;
      const size_t last =
          more.ahead ? last_seen(*more.ahead, b * tokens + i, own, rows.size()) : own;
      return AttentionRule::Seen{first_seen(static_cast<int64_t>(own)), last + 1, own};
    });
  }
}

}  // namespace

void paged_attention(const AttrMap& attrs, Args args, Outputs outputs) {
  attend_to_cache(attrs, args, {}, outputs);
}
void paged_attention_with_sinks(const AttrMap& attrs, Args args, Outputs outputs) {
  attend_to_cache(attrs, args, {.sinks = args[5].tensor}, outputs);
}
void paged_attention_ahead(const AttrMap& attrs, Args args, Outputs outputs) {
  attend_to_cache(attrs, args, {.ahead = args[5].tensor}, outputs);
}
void paged_attention_with_slopes(const AttrMap& attrs, Args args, Outputs outputs) {
  attend_to_cache(attrs, args, {.slopes = args[5].tensor}, outputs);
}

void attention(const AttrMap& attrs, Args args, Outputs outputs) {
  const RefTensor &q = *args[0].tensor, &keys = *args[1].tensor, &counts = *args[3].tensor;
  const int64_t reach = *find_attr<int64_t>(attrs, "reach");
  AttentionRule rule(attrs, q, keys, *args[2].tensor, outputs[0]);
  const auto batch = static_cast<size_t>(q.shape[0]);
  const int64_t positions = keys.shape[1];
  for (size_t b = 0; b < batch; ++b) {
    const int64_t count = std::clamp<int64_t>(static_cast<int64_t>(counts.values[b]), 0, positions);
    std::vector<size_t> rows;
    Repetition repeated;
    for (int64_t t = 0; t < count; ++t) {
      rows.push_back(b * static_cast<size_t>(positions) + static_cast<size_t>(t));
      repeated.add(1 + static_cast<double>(rows.back()));
    }
    rule.attend(b, rows, repeated.factor(), [&](size_t i) {
      const auto own = static_cast<int64_t>(i);
      const int64_t first = reach > 0 ? std::max<int64_t>(0, own - reach) : 0;
      const int64_t end = reach > 0 ? std::min(count, own + reach + 1) : count;
      return AttentionRule::Seen{static_cast<size_t>(first),
                                 static_cast<size_t>(std::max(first, end))};
    });
  }
}

}  // namespace tapml::op::reference
