#include "bench/results/fit.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "bench/results/ratios.h"
#include "bench/stats/statistics.h"

namespace lanefold::bench {
namespace {

struct Point {
  double bytes, us;
  std::string id;
};

/// Least squares of (launch + slope · bytes) / us − 1, with neither coefficient below zero.
std::pair<double, double> fit(const std::vector<Point>& points) {
  double s11 = 0, s1b = 0, sbb = 0, t1 = 0, tb = 0;
  for (const Point& p : points) {
    const double one = 1 / p.us, bytes = p.bytes / p.us;
    s11 += one * one;
    s1b += one * bytes;
    sbb += bytes * bytes;
    t1 += one;
    tb += bytes;
  }
  const double determinant = s11 * sbb - s1b * s1b;
  if (determinant > 1e-12 * s11 * sbb) {
    const double launch = (t1 * sbb - tb * s1b) / determinant, slope = (s11 * tb - s1b * t1) / determinant;
    if (launch >= 0 && slope >= 0) return {launch, slope};
    if (launch < 0) return {0, tb / sbb};
  }
  return {t1 / s11, 0};
}

}  // namespace

std::vector<FitRecord> fit_growth(const std::vector<CaseRecord>& cases) {
  // A sweep of columns is told from a sweep of rows by which size stays: a shape that is in both sweeps counts in both.
  std::vector<FitRecord> fits;
  for (const bool columns : {true, false}) {
    std::map<std::tuple<std::string, std::string, std::int64_t>, std::vector<Point>> sweeps;
    for (const CaseRecord& c : cases) {
      const ArmRecord* subject = c.arm("subject");
      if (c.suite != "growth" || !c.ok() || subject == nullptr || subject->wall_us.empty()) continue;
      sweeps[{c.kernel, c.dtype, columns ? c.rows : c.cols}].push_back(
          {static_cast<double>(c.bytes_read + c.bytes_written), median(judged_us(*subject)), c.id});
    }
    for (auto& [key, points] : sweeps) {
      if (points.size() < 3) continue;
      const auto [launch, slope] = fit(points);
      FitRecord record;
      std::tie(record.kernel, record.dtype, record.fixed) = key;
      record.grows = columns ? "cols" : "rows";
      record.launch_us = launch;
      // µs per byte to 10^9 bytes per second.
      record.gb_per_s = slope > 0 ? 1e-3 / slope : 0;
      for (const Point& p : points) {
        record.worst = std::max(record.worst, std::abs((launch + slope * p.bytes) / p.us - 1));
        record.cases.push_back(p.id);
      }
      fits.push_back(std::move(record));
    }
  }
  return fits;
}

}  // namespace lanefold::bench
