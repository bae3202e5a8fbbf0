#include "ir/monoid_part.h"

namespace lanefold::ir {

std::string_view part_name(MonoidPart part) {
  switch (part) {
    case MonoidPart::lift: return "lift";
    case MonoidPart::step: return "step";
    case MonoidPart::merge: return "merge";
    case MonoidPart::finish: return "finish";
  }
  internal_error("a monoid's part outside its enumeration");
}

const Body& part_body(const Monoid& monoid, MonoidPart part) {
  switch (part) {
    case MonoidPart::lift: return monoid.lift;
    case MonoidPart::step: return monoid.step;
    case MonoidPart::merge: return monoid.merge;
    case MonoidPart::finish: return monoid.finish;
  }
  internal_error("a monoid's part outside its enumeration");
}

Body& part_body(Monoid& monoid, MonoidPart part) {
  return const_cast<Body&>(part_body(static_cast<const Monoid&>(monoid), part));
}

std::vector<Field> part_parameters(const Monoid& monoid, MonoidPart part) {
  std::vector<Field> fields = part == MonoidPart::lift ? monoid.element : monoid.state;
  if (part == MonoidPart::step) fields.insert(fields.end(), monoid.element.begin(), monoid.element.end());
  if (part == MonoidPart::merge) {
    for (const Field& field : monoid.state) fields.push_back({field.name + "'", field.type});
  }
  return fields;
}

}  // namespace lanefold::ir
