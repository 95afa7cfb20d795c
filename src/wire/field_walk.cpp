#include "src/wire/field_walk.hpp"

#include "src/wire/canonical_read.hpp"

namespace assay::wire::walk {

namespace {

std::size_t width_of(const capnp::Type& type) {
  using capnp::schema::Type;
  switch (type.which()) {
  case Type::BOOL:
    return 0;
  case Type::INT8:
  case Type::UINT8:
    return 1;
  case Type::INT16:
  case Type::UINT16:
  case Type::ENUM:
    return 2;
  case Type::INT32:
  case Type::UINT32:
    return 4;
  case Type::INT64:
  case Type::UINT64:
    return 8;
  default:
    return SIZE_MAX;
  }
}

} // namespace

std::string schema_name(std::string_view member, std::string_view unit) {
  std::string name;
  bool capital = false;
  for (auto part : {member, unit})
    for (auto c : part) {
      if (c == '_' || c == '-') {
        capital = true;
        continue;
      }
      name += capital && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
      capital = false;
    }
  return name;
}

place place_of(const capnp::StructSchema& schema, const std::string& name) {
  auto field = schema.getFieldByName(name.c_str());
  auto proto = field.getProto();
  check(proto.isSlot() && !proto.getSlot().getHadExplicitDefault(), "no groups and no defaults");
  place out;
  out.at = proto.getSlot().getOffset();
  out.tag = proto.getDiscriminantValue();
  out.type = field.getType();
  out.is_pointer = width_of(out.type) == SIZE_MAX;
  if (out.type.isList())
    out.type = out.type.asList().getElementType();
  out.is_data = out.type.isData();
  if (out.type.isEnum())
    out.enumerants = static_cast<std::uint16_t>(out.type.asEnum().getEnumerants().size());
  return out;
}

void check_width(const place& where, std::size_t bytes, const std::string& name) {
  check(width_of(where.type) == bytes, "the schema's field is as wide as its member: " + name);
}

layout layout_of(const capnp::StructSchema& schema, std::vector<place> members) {
  auto proto = schema.getProto().getStruct();
  check(proto.getDataWordCount() <= data_words_max, "a struct's bits fit the writer");
  layout out;
  out.tag_at = proto.getDiscriminantOffset();
  std::uint32_t next = 0;
  for (const auto& p : members) {
    if (!p.is_pointer)
      continue;
    out.ascends = out.ascends && p.at >= next;
    next = p.at + 1;
  }
  out.members = std::move(members);
  return out;
}

void get_map(capnp::AnyPointer::Reader from, text_map& values, complaint& wrong) {
  for (auto element : structs_of(from)) {
    const struct_reader entry{element};
    std::string key;
    std::string value;
    get_blob(entry.pointer(0).getAs<capnp::Text>(), key, wrong);
    get_blob(entry.pointer(1).getAs<capnp::Text>(), value, wrong);
    values.insert_or_assign(std::move(key), std::move(value));
  }
}

} // namespace assay::wire::walk
