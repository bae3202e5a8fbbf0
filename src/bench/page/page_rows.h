// A chart with one row for each thing. Its name stands on top of its marks, so that long names take no width from the
// plot of a phone.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <nlohmann/json.hpp>

namespace lanefold::bench {

inline constexpr std::string_view kSubjectColour = "#2f7fd0";
inline constexpr std::string_view kQuietColour = "#8a93a1";
/// Colours that people with any colour vision tell apart, on light and on dark paper.
std::string_view series_colour(std::size_t index);

/// Width of its container, no outer frame.
nlohmann::json chart_frame(const std::string& description, int height_px);
/// A layer over its own data.
nlohmann::json chart_layer(const nlohmann::json& values, const nlohmann::json& mark, const nlohmann::json& encoding);
/// One colour for each name, with a legend above the plot.
nlohmann::json colours(std::string_view field, const std::vector<std::string>& names,
                       const std::vector<std::string_view>& range);
/// What a pointer is told: fields and their titles.
nlohmann::json tooltip(const std::vector<std::pair<std::string, std::string>>& fields);
/// {"field": name}
nlohmann::json field(std::string_view name);
nlohmann::json bar_mark(double opacity);
nlohmann::json dot_mark(double size_px2);
nlohmann::json tick_mark(double height_px, double opacity);
/// Ends of a logarithmic axis of ratios that holds 1 and all values, which are positive.
std::pair<double, double> ratio_domain(const std::vector<double>& values);
/// Few round values within it: 1, 2, 5 and their tenfold; powers of ten where it is long, even steps where it
/// is short.
std::vector<double> log_ticks(double low, double high);

class RowChart {
 public:
  /// `x` is the encoding of the common axis, without its field.
  RowChart(std::string description, int row_px, nlohmann::json x);
  /// A logarithmic axis of ratios over these values, with a rule at 1.
  static RowChart of_ratios(std::string description, int row_px, const std::string& title,
                            const std::vector<double>& values);

  /// Begins a row. Further lines stand under the first.
  void row(const std::vector<std::string>& lines);
  int rows() const { return rows_; }
  /// Where so many pixels below the top of the current row are.
  double at(double pixels) const { return rows_ - 1 + pixels / row_px_; }

  nlohmann::json x(std::string_view field) const;
  /// Layers in the order of drawing; `encoding` gets "y" (and "y2") of the fields "y" and "y2".
  void layer(const nlohmann::json& values, const nlohmann::json& mark, nlohmann::json encoding);
  nlohmann::json spec() const;

 private:
  nlohmann::json y() const;
  std::string description_;
  int row_px_;
  nlohmann::json x_;
  bool rule_at_one_ = false;
  int rows_ = 0;
  nlohmann::json labels_ = nlohmann::json::array(), layers_ = nlohmann::json::array();
};

}  // namespace lanefold::bench
