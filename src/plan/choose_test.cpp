#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "plan/alternatives.h"
#include "plan/layout.h"
#include "plan/test_programs.h"

namespace lanefold::plan {
namespace {

target::Target target_of(std::string_view name) { return *target::find(name); }

Request metal_request(std::int64_t rows, std::int64_t cols) {
  Request r;
  r.rows = rows;
  r.cols = cols;
  r.cost_basis = "metal_subgroup_reduction_v1";
  return r;
}

Code refusal(const Result<Plan>& plan) {
  if (plan.ok()) {
    ADD_FAILURE() << "not refused";
    return Code::plan_inconsistent;
  }
  EXPECT_FALSE(plan.error().hint.empty()) << plan.error().text();
  return plan.error().code;
}

TEST(Choose, PublishedMetalPlans) {
  std::ifstream file(std::string(LANEFOLD_SOURCE_DIR) + "/tests/data/published_plans.json");
  const auto published = nlohmann::json::parse(file, nullptr, false);
  ASSERT_TRUE(published.is_object());
  const std::map<std::string, ir::Program> programs = {
      {"sum", sum_program()}, {"softmax", softmax_program()}, {"rms_norm", rms_norm_program()}};
  ASSERT_EQ(published["plans"].size(), 12u);
  for (const auto& row : published["plans"]) {
    const std::string name = row["op"];
    const auto plan = choose(programs.at(name), target_of("metal-m1max"), metal_request(row["rows"], row["cols"]));
    ASSERT_TRUE(plan.ok()) << plan.error().text();
    SCOPED_TRACE(row.dump());
    EXPECT_EQ(plan->threads, row["threads"].get<std::uint32_t>());
    EXPECT_EQ(plan->simd_groups_per_row, row["simd_groups_per_row"].get<std::uint32_t>());
    EXPECT_EQ(plan->private_stripe, row["private_stripe"].get<std::uint32_t>());
    EXPECT_EQ(plan->order, ir::Order::free);
    EXPECT_EQ(plan->candidates.size(), 4u);
  }
}

TEST(Choose, SerialRowsHaveOneLaneWhateverIsAsked) {
  const std::pair<const char*, const char*> bases[] = {{"cpu-avx2", "cpu_traffic_v1"},
                                                       {"generic-32", "simd_traffic_v1"},
                                                       {"metal-m1max", "metal_subgroup_reduction_v1"}};
  for (const auto& [target, basis] : bases) {
    for (const std::uint32_t groups : {2u, 3u, 4u}) {
      for (const std::optional<std::uint32_t> rows : {std::optional<std::uint32_t>(), std::optional(4u)}) {
        SCOPED_TRACE(basis);
        Request r;
        r.rows = 8;
        r.cols = 1000;
        r.order = ir::Order::serial;
        r.cost_basis = basis;
        r.simd_groups = groups;
        r.rows_per_threadgroup = rows;
        EXPECT_EQ(refusal(choose(sum_program(), target_of(target), r)), Code::order_forbids_cooperation);
      }
    }
  }
}

TEST(Choose, PublishedCostAndMemory) {
  // 128 rows: 2 folds and 2 domains of 8 rounds, 2·2·4 for the groups, 16 for the start, twice for the rows.
  const auto plan = choose(softmax_program(), target_of("metal-m1max"), metal_request(128, 1024));
  ASSERT_TRUE(plan.ok());
  EXPECT_DOUBLE_EQ(plan->cost, (4 * 8 + 16 + 16) * 2);
  EXPECT_EQ(plan->threadgroup_bytes, 2u * 4 * 4);
  EXPECT_EQ(plan->barriers, 2u);
  EXPECT_EQ(plan->stripe, Stripe::registers);
}

TEST(Choose, ExactRequestsAreHonoured) {
  const ir::Program p = rms_norm_program();
  const target::Target t = target_of("metal-m1max");
  for (const std::uint32_t groups : {1u, 2u, 4u, 8u, 16u, 32u}) {
    Request r = metal_request(64, 4096);
    r.simd_groups = groups;
    const auto plan = choose(p, t, r);
    ASSERT_TRUE(plan.ok()) << plan.error().text();
    EXPECT_EQ(plan->simd_groups_per_row, groups);
    EXPECT_TRUE(check(*plan, p, t, 4096).ok());
  }
  Request rows = metal_request(64, 4096);
  rows.rows_per_threadgroup = 3;
  const auto three = choose(p, t, rows);
  ASSERT_TRUE(three.ok());
  EXPECT_EQ(three->rows_per_threadgroup, 3u);
  EXPECT_EQ(three->threads, 96u);
  for (const std::uint32_t threads : {32u, 64u, 96u, 512u, 1024u}) {
    for (const char* basis : {"metal_subgroup_reduction_v1", "simd_traffic_v1"}) {
      Request r = metal_request(64, 4096);
      r.cost_basis = basis;
      r.group_threads = threads;
      const auto plan = choose(p, t, r);
      ASSERT_TRUE(plan.ok()) << plan.error().text();
      EXPECT_EQ(plan->threads, threads);
    }
  }
}

TEST(Choose, ExactRequestsAreRefusedNotClamped) {
  const ir::Program p = rms_norm_program();
  const target::Target t = target_of("metal-m1max");
  const auto with = [&](auto change) {
    Request r = metal_request(64, 4096);
    change(r);
    return refusal(choose(p, t, r));
  };
  EXPECT_EQ(with([](Request& r) { r.simd_groups = 64; }), Code::too_many_threads);
  EXPECT_EQ(with([](Request& r) { r.simd_groups = 3; }), Code::layout_cannot_express_workers);
  EXPECT_EQ(with([](Request& r) { r.simd_groups = 3, r.order = ir::Order::canonical; }),
            Code::workers_not_power_of_two);
  EXPECT_EQ(with([](Request& r) { r.simd_groups = 8, r.cols = 127, r.order = ir::Order::canonical; }),
            Code::more_workers_than_virtual_lanes);
  EXPECT_EQ(with([](Request& r) { r.group_threads = 48; }), Code::threads_not_whole_simd_groups);
  EXPECT_EQ(with([](Request& r) { r.group_threads = 80; }), Code::threads_not_whole_simd_groups);
  EXPECT_EQ(with([](Request& r) { r.group_threads = 64, r.simd_groups = 4; }), Code::exact_request_unmet);
  EXPECT_EQ(with([](Request& r) { r.simd_groups = 2, r.rows_per_threadgroup = 2; }),
            Code::one_row_per_cooperating_threadgroup);
  EXPECT_EQ(with([](Request& r) { r.simd_groups = 0; }), Code::request_out_of_range);
  EXPECT_EQ(with([](Request& r) { r.rows = -1; }), Code::request_out_of_range);
  EXPECT_EQ(with([](Request& r) { r.order = ir::Order::serial; }), Code::order_forbids_cooperation);
  EXPECT_EQ(with([](Request& r) { r.cols = 0; }), Code::no_columns);
  EXPECT_EQ(with([](Request& r) { r.cost_basis = "guess"; }), Code::unknown_cost_basis);
  EXPECT_EQ(with([](Request& r) { r.cost_basis = "cpu_traffic_v1"; }), Code::cost_basis_for_other_target);
}

TEST(Choose, RejectedCandidatesKeepTheirReason) {
  Request r = metal_request(17, 257);
  r.order = ir::Order::canonical;  // 128 virtual lanes
  const auto plan = choose(softmax_program(), target_of("metal-m1max"), r);
  ASSERT_TRUE(plan.ok());
  int rejected = 0;
  for (const Candidate& c : plan->candidates) {
    if (!c.rejected) continue;
    ++rejected;
    EXPECT_EQ(c.simd_groups_per_row, 8u);
    EXPECT_EQ(c.rejected->code, Code::more_workers_than_virtual_lanes);
  }
  EXPECT_EQ(rejected, 1);
}

TEST(Choose, StripesThatDoNotFitAreRefused) {
  Request wide = metal_request(4, 20000);
  EXPECT_EQ(refusal(choose(softmax_program(), target_of("metal-m1max"), wide)), Code::private_stripe_exceeded);
  Request forced;
  forced.rows = 4;
  forced.cols = 50000;
  forced.stripe = Stripe::registers;
  EXPECT_EQ(refusal(choose(softmax_program(), target_of("cpu-avx2"), forced)), Code::stripe_needs_one_pass);
  forced.stripe = Stripe::threadgroup_memory;
  EXPECT_EQ(refusal(choose(softmax_program(), target_of("cpu-avx2"), forced)), Code::row_temporaries_unbounded);
  forced.cols = 9000;
  forced.stripe = Stripe::threadgroup_memory;
  EXPECT_EQ(refusal(choose(softmax_program(), target_of("metal-m1max"), forced)), Code::threadgroup_memory_exceeded);
}

TEST(Choose, RegistersHoldOnePass) {
  Request r;
  r.rows = 4;
  r.cols = 1000;
  r.stripe = Stripe::registers;
  r.layout = make_layout({.component = 1, .lane = 5, .pass = 2});
  EXPECT_EQ(refusal(choose(softmax_program(), target_of("generic-32"), r)), Code::stripe_needs_one_pass);
  r.layout = make_layout({.component = 1, .lane = 5, .reg = 2});
  const auto plan = choose(softmax_program(), target_of("generic-32"), r);
  ASSERT_TRUE(plan.ok()) << plan.error().text();
  EXPECT_EQ(plan->stripe, Stripe::registers);
  r.stripe.reset();
  r.layout = make_layout({.component = 1, .lane = 5, .pass = 2});
  EXPECT_EQ(choose(softmax_program(), target_of("generic-32"), r)->stripe, Stripe::reload);
}

TEST(Choose, CpuLayoutsOfEachWidth) {
  for (const char* name : {"cpu-sse", "cpu-neon", "cpu-avx2", "cpu-avx512"}) {
    const target::Target t = target_of(name);
    for (const ir::Program& p : {softmax_program(), rms_norm_program(), sum_program(), rms_norm_q8_program()}) {
      for (const std::int64_t cols : {32, 128, 1024, 8192, 32768, 131072}) {
        Request r;
        r.rows = 3;
        r.cols = cols;
        const auto plan = choose(p, t, r);
        ASSERT_TRUE(plan.ok()) << plan.error().text();
        EXPECT_EQ(plan->order, ir::Order::canonical);
        EXPECT_EQ(plan->cost_basis, "cpu_traffic_v1");
        EXPECT_EQ(std::int64_t{1} << plan->layout.bits.size(), ir::CanonicalOrder::virtual_lanes(cols));
        EXPECT_EQ(1u << count_bits(plan->layout, Owner::lane), t.simd_width);
        EXPECT_GE(count_bits(plan->layout, Owner::reg), 1u);
        EXPECT_LE(1u << count_bits(plan->layout, Owner::reg), t.simd_width);
        EXPECT_EQ(plan->threads, t.simd_width);
        const bool tiled = p.name == "softmax" && cols <= 32768;
        EXPECT_EQ(plan->stripe, tiled ? Stripe::threadgroup_memory : Stripe::reload);
        EXPECT_TRUE(check(*plan, p, t, cols).ok());
      }
    }
  }
}

TEST(Choose, NarrowCpusHoldABlockOfWeights) {
  const ir::Program p =
      *ir::parse("program matvec(w: q8_0[rows, cols], x: f32[cols])\n  store y: f32[rows] = fold dot(w, x)\n");
  for (const char* name : {"cpu-sse", "cpu-neon", "cpu-avx2", "cpu-avx512"})
    for (const std::int64_t cols : {32, 64, 256, 2048, 4096, 32768}) {
      Request r;
      r.cols = cols;
      const auto plan = choose(p, target_of(name), r);
      EXPECT_TRUE(plan.ok()) << name << ' ' << cols;
    }
}

TEST(Choose, CpuOrdersFreeAndSerial) {
  const target::Target t = target_of("cpu-avx2");
  Request r;
  r.rows = 100;
  r.cols = 100000;
  r.order = ir::Order::free;
  const auto free = choose(rms_norm_program(), t, r);
  ASSERT_TRUE(free.ok());
  EXPECT_EQ(free->width, (WidthClass{std::int64_t{1} << free->layout.bits.size(), 1, kWidestRow, false}));
  EXPECT_EQ(count_bits(free->layout, Owner::pass), 0u);
  r.order = ir::Order::serial;
  const auto serial = choose(rms_norm_program(), t, r);
  ASSERT_TRUE(serial.ok()) << serial.error().text();
  EXPECT_TRUE(serial->layout.bits.empty());
  EXPECT_EQ(serial->layout.rows_per_simd_group, 8u);
  EXPECT_EQ(serial->rows_per_threadgroup, 8u);
  EXPECT_TRUE(check(*serial, rms_norm_program(), t, 7).ok());
}

TEST(Choose, BlocksFitAStepUnderFree) {
  Request r;
  r.rows = 2;
  r.cols = 64;
  r.order = ir::Order::free;
  for (const char* name : {"cpu-sse", "cpu-avx2", "metal-m1max"}) {
    const auto plan = choose(rms_norm_q8_program(), target_of(name), r);
    ASSERT_TRUE(plan.ok()) << plan.error().text();
    EXPECT_TRUE(bank_span(plan->layout) >= 32 || sweeps_along_row(*plan));
  }
  r.cols = 48;
  EXPECT_EQ(refusal(choose(rms_norm_q8_program(), target_of("cpu-avx2"), r)), Code::columns_not_whole_blocks);
}

TEST(Choose, SimdTrafficPlansEveryWidthAndOrder) {
  for (const char* name :
       {"generic-4", "generic-8", "generic-16", "generic-32", "generic-64", "metal-m1max", "cuda-sm90"}) {
    const target::Target t = target_of(name);
    for (const ir::Program& p : {softmax_program(), rms_norm_program(), sum_program()}) {
      for (const ir::Order order : {ir::Order::canonical, ir::Order::free, ir::Order::serial}) {
        for (const std::int64_t rows : {0, 1, 17, 4096}) {
          for (const std::int64_t cols : {1, 33, 1000, 4096, 33000, 131072}) {
            Request r;
            r.rows = rows;
            r.cols = cols;
            r.order = order;
            const auto plan = choose(p, t, r);
            ASSERT_TRUE(plan.ok()) << plan.error().text();
            const Status good = check(*plan, p, t, cols);
            EXPECT_TRUE(good.ok()) << good.error().text() << to_json(*plan);
          }
        }
      }
    }
  }
}

TEST(Choose, CudaTrafficSpreadsFewWideRowsAndPacksManyShortOnes) {
  const target::Target t = target_of("cuda-sm90");
  Request r;
  r.rows = 1;
  r.cols = 2560;
  const auto one = choose(rms_norm_program(), t, r);
  ASSERT_TRUE(one.ok());
  EXPECT_GE(one->simd_groups_per_row, 4u);
  EXPECT_EQ(one->stripe, Stripe::registers);
  r.rows = 1 << 20;
  r.cols = 16;
  const auto many = choose(rms_norm_program(), t, r);
  ASSERT_TRUE(many.ok());
  EXPECT_GE(many->layout.rows_per_simd_group, 4u);
  EXPECT_GE(many->threads, 64u);
  EXPECT_EQ(many->simd_groups_per_row, 1u);
}

TEST(Choose, ForcedLayouts) {
  const ir::Program p = softmax_program();
  const target::Target t = target_of("generic-8");
  Request r;
  r.rows = 5;
  r.cols = 500;  // 128 virtual lanes
  r.layout = make_layout({.component = 1, .lane = 3, .reg = 1, .pass = 1, .simd_group = 1});
  const auto plan = choose(p, t, r);
  ASSERT_TRUE(plan.ok()) << plan.error().text();
  EXPECT_EQ(plan->layout, *r.layout);
  EXPECT_EQ(plan->simd_groups_per_row, 2u);
  r.layout = make_layout({.component = 2, .lane = 1, .reg = 2, .pass = 2}, 4);
  const auto packed = choose(p, t, r);
  ASSERT_TRUE(packed.ok()) << packed.error().text();
  EXPECT_EQ(packed->rows_per_threadgroup, 4u);
  const auto refused = [&](Layout layout) {
    r.layout = std::move(layout);
    EXPECT_EQ(refusal(choose(p, t, r)), Code::plan_layout_invalid);
  };
  refused(make_layout({.lane = 3, .pass = 3}));                      // 64 virtual lanes
  refused(make_layout({.lane = 2, .pass = 5}));                      // half a SIMD group
  refused(make_layout({.lane = 2, .pass = 4, .simd_group = 1}, 2));  // packed and spread
  refused(Layout{std::vector<Owner>(200, Owner::pass), 8});
  Layout swapped = make_layout({.component = 1, .lane = 3, .pass = 3});
  std::swap(swapped.bits.front(), swapped.bits.back());
  refused(swapped);
  // Threadgroups share a row only where it stays in registers, and where the target has clusters.
  r.layout = make_layout({.lane = 3, .reg = 3, .cluster = 1});
  r.stripe = Stripe::reload;
  EXPECT_EQ(refusal(choose(p, t, r)), Code::cluster_layout_unsupported);
  r.stripe = Stripe::registers;
  EXPECT_EQ(refusal(choose(p, t, r)), Code::cluster_too_large);
}

TEST(Choose, WidthClassesArePlannedOnce) {
  for (const char* name : {"cpu-avx512", "cpu-sse", "metal-m1max"}) {
    std::set<std::int64_t> classes;
    for (std::int64_t cols = 1000; cols <= 1100; ++cols) {
      Request r;
      r.cols = cols;
      const auto plan = choose(softmax_program(), target_of(name), r);
      ASSERT_TRUE(plan.ok());
      EXPECT_GE(cols, plan->width.min_cols);
      EXPECT_LE(cols, plan->width.max_cols);
      classes.insert(plan->width.min_cols);
    }
    EXPECT_LE(classes.size(), 2u);
  }
}

TEST(Choose, CanonicalWidthClassesCoverAllColumnsOnce) {
  std::int64_t next = 1;
  while (next <= kWidestRow) {
    const WidthClass w = canonical_width_class(next);
    EXPECT_EQ(w.min_cols, next);
    EXPECT_EQ(w, canonical_width_class(w.max_cols));
    EXPECT_EQ(w.virtual_lanes, ir::CanonicalOrder::virtual_lanes(w.max_cols));
    EXPECT_EQ(w.segmented, ir::CanonicalOrder::segments(w.min_cols) > 1);
    next = w.max_cols + 1;
  }
}

TEST(Choose, FreeWidthClassBoundsTheStripe) {
  const auto plan = choose(softmax_program(), target_of("metal-m1max"), metal_request(1, 127));
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->width, (WidthClass{64, 65, 128, false}));
}

TEST(Choose, LegalPlansAreTheCandidatesThatWereNotRejected) {
  const ir::Program program = softmax_program();
  for (const char* name : {"cpu-avx2", "cuda-sm90"}) {
    Request request;
    request.rows = 64;
    request.cols = 4096;
    request.alignment = 16;
    const Plan chosen = choose(program, target_of(name), request).value();
    const std::vector<Plan> legal = legal_plans(program, target_of(name), request).value();
    const auto kept = std::count_if(chosen.candidates.begin(), chosen.candidates.end(),
                                    [](const Candidate& c) { return !c.rejected; });
    EXPECT_EQ(legal.size(), static_cast<std::size_t>(kept)) << name;
    Plan bare = chosen;
    bare.candidates.clear();
    EXPECT_EQ(to_json(legal.front()), to_json(bare)) << name;
    for (std::size_t i = 0; i < legal.size(); ++i) {
      EXPECT_TRUE(check(legal[i], program, target_of(name), request.cols)) << name;
      EXPECT_GE(legal[i].cost, legal[i == 0 ? 0 : i - 1].cost) << name;
    }
  }
  Request nothing;
  nothing.cols = 0;
  EXPECT_EQ(legal_plans(program, target_of("cpu-avx2"), nothing).error().code, Code::no_columns);
}

}  // namespace
}  // namespace lanefold::plan
