#include "bench/page/page_sections.h"

#include <fmt/format.h>

#include <algorithm>

#include "bench/page/page_charts.h"
#include "bench/page/page_figures.h"
#include "bench/page/page_html.h"
#include "bench/stats/statistics.h"

namespace lanefold::bench {
namespace {

constexpr std::string_view kNone = "–";

std::string spread(double low, double high) {
  return fmt::format("<small>{} to {}</small>", number(low), number(high));
}

/// Coloured where the whole spread lies on one side of 1.
/// A word of a command as a shell wants it.
std::string shell_word(const std::string& word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

Cell ratio_cell(const RatioSpread& ratio) {
  std::string classes = "n";
  if (ratio.median < 1 && ratio.high < 1) classes += " good";
  if (ratio.median > 1 && ratio.low > 1) classes += " bad";
  return {number(ratio.median) + spread(ratio.low, ratio.high), classes};
}

Cell rival_cell(const CaseRecord& record, const std::string& name) {
  for (const ArmRecord* rival : rivals(record)) {
    if (rival->name != name) continue;
    if (rival->failure) return {"failed", "n bad"};
    if (!rival->declined.empty()) return {"declined", "n quiet"};
    const ArmRecord* subject = record.arm("subject");
    const auto ratio = subject == nullptr ? std::nullopt : time_ratio(*subject, *rival);
    if (!ratio) continue;
    Cell cell = ratio_cell(*ratio);
    if (!rival->own_tolerance.empty()) cell.html += "<small>own tolerance</small>";
    return cell;
  }
  return {std::string(kNone), "n quiet"};
}

Cell quantile_cell(const std::vector<double>& us, double q) {
  if (us.empty()) return {std::string(kNone), "n quiet"};
  return number_cell(quantile(us, q));
}

std::string error_text(const OutputCheck& output, const Check& check) {
  std::string text = number(output.max_error);
  if (output.wrong > 0) text += fmt::format(", {} of {} wrong", output.wrong, output.elements);
  if (check.code > 0) return fmt::format("{} (allowed: {} codes)", text, check.code);
  return fmt::format("{} (allowed: {} + {}·|r|)", text, setting(check.absolute), setting(check.relative));
}

Cell error_cell(const CaseRecord& record) {
  if (!record.check) return {std::string(kNone), "n quiet"};
  double greatest = 0;
  for (const OutputCheck& output : record.check->outputs) greatest = std::max(greatest, output.max_error);
  const Check& check = *record.check;
  const std::string allowed = check.code > 0
                                  ? fmt::format("{} codes", check.code)
                                  : fmt::format("{} + {}·|r|", setting(check.absolute), setting(check.relative));
  return {fmt::format("{}<small>{}</small>", number(greatest), allowed), check.ok() ? "n" : "n bad"};
}

std::string definition(std::string_view term, const std::string& description_html) {
  return fmt::format("<dt>{}</dt><dd>{}</dd>\n", escape(term), description_html);
}

std::string check_list(const std::optional<Check>& check, const std::string& whose) {
  if (!check) return "";
  std::string list;
  for (const OutputCheck& output : check->outputs) {
    list += definition(fmt::format("error of {}{}", whose, output.output), escape(error_text(output, *check)));
  }
  return list;
}

/// Plan, checks, phases and sources of a case.
std::string provenance(const CaseRecord& record) {
  std::string list;
  if (record.failure) {
    const Failure& f = *record.failure;
    list += definition("failed", escape(fmt::format("{}: {} {}. {}", f.stage, f.code, f.message, f.hint)));
  }
  if (!record.made_for.empty()) list += definition("made for", escape(record.made_for));
  list += definition("threads", fmt::format("{}", record.threads));
  if (record.launches != 1) list += definition("launches of a call", fmt::format("{}", record.launches));
  if (record.bytes_read + record.bytes_written > 0) {
    list += definition("moves", fmt::format("{} read, {} written", bytes(static_cast<double>(record.bytes_read)),
                                            bytes(static_cast<double>(record.bytes_written))));
  }
  list += check_list(record.check, "");
  for (const PhaseRecord& phase : record.phases) list += definition(phase.phase, number(phase.us) + " µs");
  for (const SourceRecord& source : record.sources) {
    list += definition(source.stage, fmt::format("{} {}", escape(source.file), code(source.sha256)));
  }
  if (!record.plan_line.empty()) list += definition("plan", code(record.plan_line));
  std::string html = fmt::format("<dl>{}</dl>\n", list);
  if (!record.plan.empty()) html += details("plan as JSON", fmt::format("<p>{}</p>", code(record.plan)));
  return html;
}

std::string arms_list(const CaseRecord& record) {
  Table table({"arm", "#p10, µs", "#p50, µs", "#p90, µs", "#calls", "#samples", "about it"});
  for (const ArmRecord& arm : record.arms) {
    std::string about = arm.version;
    for (const std::string& part :
         {arm.output_policy, arm.declined.empty() ? "" : "declined: " + arm.declined,
          arm.own_tolerance.empty() ? "" : "checked within a tolerance of its own: " + arm.own_tolerance,
          arm.failure ? fmt::format("failed ({}): {} {}. {}", arm.failure->stage, arm.failure->code,
                                    arm.failure->message, arm.failure->hint)
                      : ""}) {
      if (!part.empty()) about += (about.empty() ? "" : "; ") + part;
    }
    table.row({text_cell(arm.name),
               quantile_cell(arm.wall_us, 0.1),
               quantile_cell(arm.wall_us, 0.5),
               quantile_cell(arm.wall_us, 0.9),
               {fmt::format("{}", arm.calls), "n"},
               {fmt::format("{}", arm.wall_us.size()), "n"},
               {escape(about), "wide"}});
  }
  return table.empty() ? "" : table.html();
}

std::string case_details(const CaseRecord& record, const std::string& id) {
  std::string body = provenance(record) + arms_list(record);
  if (!record.single_us.empty()) {
    body +=
        fmt::format("<p class=\"note\">Calls timed one by one ({}): p50 {} µs, p90 {} µs.</p>\n",
                    record.single_us.size(), number(median(record.single_us)), number(quantile(record.single_us, 0.9)));
  }
  body += figure(sample_chart(record), "", "Every sample of every arm.");
  for (const ArmRecord* rival : rivals(record)) {
    const std::string whose = rival->name + (rival->own_tolerance.empty() ? "'s " : "'s, by its own tolerance, ");
    const std::string checks = check_list(rival->check, whose);
    if (!checks.empty()) body += fmt::format("<dl>{}</dl>\n", checks);
  }
  return details(record.id, body, id);
}

std::string case_table(const Results& results, const std::string& anchor) {
  const std::vector<std::string> names = rival_names(results.cases);
  const bool by_device = std::any_of(results.cases.begin(), results.cases.end(), [](const CaseRecord& c) {
    return c.arm("subject") != nullptr && !c.arm("subject")->device_us.empty();
  });
  std::vector<std::string> heads = {"case", "#p50, µs", "#p90, µs"};
  if (by_device) heads.insert(heads.end(), {"#device p50, µs"});
  for (const std::string& name : names) heads.push_back("#over " + name);
  heads.insert(heads.end(), {"#GB/s", "#of a copy", "#max error", "plan"});
  Table table(heads, "cases");
  for (std::size_t i = 0; i < results.cases.size(); ++i) {
    const CaseRecord& record = results.cases[i];
    const ArmRecord* subject = record.arm("subject");
    const std::vector<double> none;
    const std::vector<double>& us = subject == nullptr ? none : subject->wall_us;
    std::vector<Cell> cells = {{fmt::format("<a href=\"#{}c{}\">{}</a>", anchor, i, escape(record.id)), ""}};
    cells.push_back(record.failure ? Cell{"failed", "n bad"} : quantile_cell(us, 0.5));
    cells.push_back(quantile_cell(us, 0.9));
    if (by_device) cells.push_back(quantile_cell(subject == nullptr ? none : subject->device_us, 0.5));
    for (const std::string& name : names) cells.push_back(rival_cell(record, name));
    const auto gb_per_s = subject_gb_per_s(record), share = record.share_of_ceiling();
    cells.push_back(gb_per_s ? number_cell(*gb_per_s) : Cell{std::string(kNone), "n quiet"});
    cells.push_back(share ? Cell{percent(*share), "n"} : Cell{std::string(kNone), "n quiet"});
    cells.push_back(error_cell(record));
    cells.push_back({record.plan_line.empty() ? std::string(kNone) : code(record.plan_line), "wide"});
    table.row(cells);
  }
  return table.html();
}

std::string growth_figures(const Results& results) {
  std::string figures;
  Table fits({"kernel", "type", "grows", "#launch, µs", "#GB/s", "#worst", "#sizes"});
  for (const Growth& growth : growths(results)) {
    const std::string title = fmt::format("{} {}, {} {}", growth.kernel, growth.dtype, growth.fixed,
                                          growth.grows == "rows" ? "columns" : "rows");
    std::string caption = fmt::format("{} sizes.", growth.cases.size());
    if (growth.fit != nullptr) {
      const FitRecord& fit = *growth.fit;
      caption += fmt::format(" Fitted: {} µs + bytes / {} GB/s, off by at most {}.", number(fit.launch_us),
                             number(fit.gb_per_s), percent(fit.worst));
    }
    figures += figure(growth_chart(growth), title, caption);
  }
  for (const FitRecord& fit : results.fits) {
    fits.row({text_cell(fit.kernel),
              text_cell(fit.dtype),
              text_cell(fmt::format("{}, {} {}", fit.grows, fit.fixed, fit.grows == "rows" ? "columns" : "rows")),
              number_cell(fit.launch_us),
              number_cell(fit.gb_per_s),
              {percent(fit.worst), "n"},
              {fmt::format("{}", fit.cases.size()), "n"}});
  }
  if (figures.empty() && fits.empty()) return "";
  std::string html =
      "<h3>Growth with the size</h3>\n<p class=\"note\">Dots are medians, bars reach from p10 to p90; "
      "\"fitted\" is time = launch + bytes / bandwidth, \"copy\" a copy of as many bytes.</p>\n";
  if (!fits.empty()) html += fits.html();
  return html + fmt::format("<div class=\"grid\">{}</div>\n", figures);
}

}  // namespace

std::string figure(const nlohmann::json& spec, std::string_view title, std::string_view caption) {
  if (spec.is_null()) return "";
  const std::string bold = title.empty() ? "" : fmt::format("<b>{}</b>", escape(title));
  return fmt::format(
      "<figure class=\"chart\"><figcaption>{}{}</figcaption><div class=\"plot\" style=\"min-height:{}px\"></div>"
      "<script type=\"application/json\">{}</script></figure>\n",
      bold, escape(caption), spec.value("height", 0), script_json(spec));
}

std::string environment_section(const Results& results) {
  const Environment& e = results.environment;
  const auto hash = [](const HashedFile& file) {
    return fmt::format("{} <code title=\"{}\">{}</code>", escape(file.name), escape(file.sha256),
                       escape(file.sha256.substr(0, 12)));
  };
  const auto load = [](const std::vector<double>& means) {
    std::string text;
    for (const double mean : means) text += (text.empty() ? "" : " ") + number(mean);
    return text.empty() ? std::string("unknown") : text;
  };
  std::string list = definition("device", escape(fmt::format("{} ({})", e.device_name, e.device)));
  list += definition("target", escape(e.target));
  if (!e.driver.empty()) list += definition("driver", escape(e.driver));
  list += definition("kernels by", escape(e.compiler));
  list += definition("built with", escape(e.built_with));
  list += definition("system", escape(e.system));
  list += definition("processors",
                     fmt::format("{}, {} of memory", e.processors, bytes(static_cast<double>(e.memory_bytes))));
  list += definition("lanefold", escape(e.version));
  list +=
      definition("revision", fmt::format("{}{}", e.revision.empty() ? "unknown" : code(e.revision),
                                         !e.dirty ? ", unknown whether changed"
                                                  : (*e.dirty ? ", <b>with uncommitted changes</b>" : ", unchanged")));
  list += definition("binary", hash(e.binary));
  list += definition("load", fmt::format("{} before, {} after", load(e.load_begin), load(e.load_end)));
  list += definition("stolen", e.stolen ? percent(*e.stolen) + " of processor time" : "unknown");
  std::string protocol;
  for (const auto& [name, value] : results.protocol) {
    protocol += fmt::format("{}{} {}", protocol.empty() ? "" : ", ", escape(name), setting(value));
  }
  list += definition("protocol", protocol.empty() ? std::string(kNone) : protocol);
  std::string libraries;
  for (const HashedFile& library : e.libraries) libraries += hash(library) + "<br>";
  if (!libraries.empty()) list += definition("libraries", libraries);
  std::string command;
  for (const std::string& word : results.command) command += (command.empty() ? "" : " ") + shell_word(word);
  return fmt::format("<p>{}</p>\n", code(command)) +
         details(fmt::format("Measured on {}, {}", e.device_name, e.target), fmt::format("<dl>{}</dl>\n", list));
}

std::string bench_section(const Results& results, const std::string& anchor) {
  if (results.cases.empty()) return "<p>No case.</p>\n";
  std::string html = fmt::format(
      "<p class=\"note\"><a href=\"#{0}charts\">Charts</a> · <a href=\"#{0}each\">each case</a></p>\n<h3>Cases</h3>\n",
      anchor);
  html += case_table(results, anchor);
  html +=
      "<p class=\"note\">Times are µs per call by the host's clock. \"Over\" a peer is the median ratio of the "
      "subject's "
      "time to the peer's in the same round, below it the 10 to 90 % range; below 1 the subject is faster, and the "
      "figure is coloured where the whole range lies on one side of 1. \"Of a copy\" is bandwidth over that of a "
      "copy of as many bytes. Every element was compared with an FP64 oracle.</p>\n";
  html += fmt::format("<h3 id=\"{}charts\">Charts</h3>\n", anchor);
  html += figure(ratio_chart(results.cases), "Ratio to peers",
                 "Dots are medians and bars the 10 to 90 % range of ratios within the same round.");
  html += figure(bandwidth_chart(results.cases), "Bandwidth against the ceiling",
                 "Bytes that the operator has to read and write, over its time, beside a copy of as many bytes.");
  html += growth_figures(results);
  std::string each;
  for (std::size_t i = 0; i < results.cases.size(); ++i) {
    each += case_details(results.cases[i], fmt::format("{}c{}", anchor, i));
  }
  return html + fmt::format("<h3 id=\"{}each\">Each case</h3>\n{}", anchor, each);
}

}  // namespace lanefold::bench
