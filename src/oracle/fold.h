// Folds in the orders of DESIGN §3: serial, and canonical order version 1.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "ir/names.h"
#include "ir/order.h"
#include "ir/program.h"
#include "oracle/body.h"
#include "oracle/domain.h"

namespace lanefold::oracle {

/// Runs one monoid. No identity is ever used: what is absent takes no part.
template <Domain D>
class FoldRunner {
 public:
  using Value = typename D::Value;
  /// One run per element field of the monoid, and per result or state field in the runner's own storage.
  using Elements = std::vector<Lanes<Value>>;
  using Columns = std::vector<std::vector<Value>>;

  FoldRunner(const ir::Monoid& monoid, D& domain)
      : fields_(monoid.state.size()),
        arg_(MergesArgs<D> && ir::takes_column_index(monoid) ? monoid.name : std::string()),
        domain_(domain),
        lift_(monoid.lift, domain),
        step_(monoid.step, domain),
        merge_(monoid.merge, domain),
        finish_(monoid.finish, domain) {
    if (lift_.results() != fields_ || step_.results() != fields_ || merge_.results() != fields_)
      internal_error("monoid " + monoid.name + ": a body does not return the state");
  }

  /// Folds elements 0 … n − 1, n ≥ 1. Result k of the monoid is results()[k][0].
  void fold_row(const Elements& elements, std::int64_t n, ir::Order order) {
    if (order == ir::Order::serial) {
      fold_serially(elements, n, 1);
    } else {
      fold_canonically(elements, n);
    }
    finish(1);
  }

  /// Folds each run of `block` consecutive elements (block divides n). Result k of block b is results()[k][b].
  void fold_blocks(const Elements& elements, std::int64_t n, std::int64_t block, ir::Order order) {
    if (order == ir::Order::serial) {
      fold_serially(elements, block, n / block);
    } else {
      lift_.run(elements, n, state_);
      for (std::int64_t width = 1; width < block; width *= 2) merge_neighbours(state_, n / width);
    }
    finish(n / block);
  }

  const Columns& results() const { return results_; }

 private:
  /// Left folds of `runs` adjacent runs of n elements each, side by side.
  void fold_serially(const Elements& elements, std::int64_t n, std::int64_t runs) {
    Elements current = elements;
    for (Lanes<Value>& lanes : current) lanes.stride *= n;
    lift_.run(current, runs, state_);
    for (std::int64_t i = 1; i < n; ++i) {
      for (std::size_t k = 0; k < current.size(); ++k) current[k].data = elements[k].from(i).data;
      step(current, runs);
    }
  }

  void fold_canonically(const Elements& elements, std::int64_t n) {
    using Rule = ir::CanonicalOrder;
    const std::int64_t lanes = Rule::virtual_lanes(n);
    const std::int64_t segments = Rule::segments(n);
    segment_states_.assign(fields_, std::vector<Value>(static_cast<std::size_t>(segments)));
    Elements current(elements.size());
    for (std::int64_t segment = 0; segment < segments; ++segment) {
      const std::int64_t begin = segment * Rule::segment;
      const std::int64_t end = std::min(n, begin + Rule::segment);
      for (std::int64_t first = begin; first < end; first += lanes) {
        for (std::size_t k = 0; k < elements.size(); ++k) current[k] = elements[k].from(first);
        const std::int64_t present = std::min(lanes, end - first);
        if (first == begin) {
          lift_.run(current, present, state_);
        } else {
          step(current, present);
        }
      }
      merge_all(state_, std::min(lanes, end - begin));
      for (std::size_t k = 0; k < fields_; ++k)
        segment_states_[k][static_cast<std::size_t>(segment)] = state_[k].front();
    }
    merge_all(segment_states_, segments);
    state_.swap(segment_states_);
  }

  /// state[v] = step(state[v], elements[v]) for v < count; the other states stay.
  void step(const Elements& elements, std::int64_t count) {
    parameters_.clear();
    for (const std::vector<Value>& field : state_) parameters_.push_back({field.data(), 1});
    parameters_.insert(parameters_.end(), elements.begin(), elements.end());
    if (!merge_args(count)) step_.run(parameters_, count, next_);
    for (std::size_t k = 0; k < fields_; ++k) std::copy_n(next_[k].begin(), count, state_[k].begin());
  }

  /// The pair tree over the first `count` states, into state 0. Those present are always the first ones, so the tree that
  /// merges v with v + h is, level by level, one that merges neighbours of what is left.
  void merge_all(Columns& states, std::int64_t count) {
    for (; count > 1; count = (count + 1) / 2) merge_neighbours(states, count);
  }

  /// states[i] = merge(states[2i], states[2i + 1]); an odd last state has no right neighbour and passes through.
  void merge_neighbours(Columns& states, std::int64_t count) {
    const std::int64_t pairs = count / 2;
    parameters_.clear();
    for (const std::vector<Value>& field : states) parameters_.push_back({field.data(), 2});
    for (const std::vector<Value>& field : states) parameters_.push_back({field.data() + 1, 2});
    if (!merge_args(pairs)) merge_.run(parameters_, pairs, next_);
    for (std::size_t k = 0; k < fields_; ++k) {
      if (count % 2 != 0) states[k][static_cast<std::size_t>(pairs)] = states[k][static_cast<std::size_t>(count - 1)];
      std::copy_n(next_[k].begin(), pairs, states[k].begin());
    }
  }

  /// For argmax and argmin, where the domain knows their merge; a step of theirs is a merge with a lifted element, which is the element itself.
  bool merge_args(std::int64_t count) {
    if (arg_.empty()) return false;
    if constexpr (MergesArgs<D>) {
      next_.assign(2, std::vector<Value>(static_cast<std::size_t>(count)));
      for (std::int64_t i = 0; i < count; ++i) {
        const std::array<Value, 2> merged =
            domain_.merge_arg(arg_, parameters_[0][i], parameters_[1][i], parameters_[2][i], parameters_[3][i]);
        for (std::size_t k = 0; k < 2; ++k) next_[k][static_cast<std::size_t>(i)] = merged[k];
      }
    }
    return true;
  }

  void finish(std::int64_t count) {
    parameters_.clear();
    for (const std::vector<Value>& field : state_) parameters_.push_back({field.data(), 1});
    finish_.run(parameters_, count, results_);
  }

  std::size_t fields_;
  std::string arg_;
  D& domain_;
  BodyRunner<D> lift_, step_, merge_, finish_;
  Columns state_, next_, segment_states_, results_;
  Elements parameters_;
};

}  // namespace lanefold::oracle
