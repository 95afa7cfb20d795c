#include "src/wire/export_codec.hpp"

#include "schema/ledger.capnp.h"
#include "src/base/limits.hpp"
#include "src/wire/canonical.hpp"

namespace assay::wire {

namespace {

std::string length_of(std::size_t size) {
  std::string text;
  for (unsigned i = 0; i < frame_length_bytes; ++i)
    text += static_cast<char>(size >> (8 * i));
  return text;
}

} // namespace

std::size_t frame_length(std::string_view bytes) {
  std::size_t size = 0;
  for (unsigned i = 0; i < frame_length_bytes; ++i)
    size |= std::size_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return size;
}

std::string encode_frame(const ledger::export_frame& f) {
  auto frame = walk::encode_as<schema::ExportFrame>(f);
  return length_of(frame.size()) + frame;
}

result<std::optional<ledger::export_frame>, malformed> take_frame(std::string_view& bytes) {
  if (bytes.empty())
    return std::optional<ledger::export_frame>{};
  if (bytes.size() < frame_length_bytes)
    return unexpected{malformed{"the file ends within a frame's length"}};
  auto size = frame_length(bytes);
  if (size > bytes.size() - frame_length_bytes)
    return unexpected{malformed{
      "the file ends within a frame: " + std::to_string(size) + " bytes announced, "
      + std::to_string(bytes.size() - frame_length_bytes) + " left"}};
  auto frame = walk::decode_as<schema::ExportFrame, ledger::export_frame>(
    bytes.substr(frame_length_bytes, size), limits::export_frame_bytes
  );
  if (!frame)
    return unexpected{frame.error()};
  bytes.remove_prefix(frame_length_bytes + size);
  return std::optional{*std::move(frame)};
}

audit_report audit_report_of(std::string_view bytes) {
  ledger::auditor auditor{read_record};
  auto report = [&](std::optional<ledger::finding> f) {
    const auto& head = auditor.state().head;
    return audit_report{std::move(f), head.seq, auditor.batches(), head.chain};
  };
  for (;;) {
    auto frame = take_frame(bytes);
    if (!frame)
      return report(ledger::finding{auditor.state().head.seq + 1, frame.error().text});
    if (!*frame)
      return report(auditor.finish());
    if (auto wrong = auditor.feed(**frame))
      return report(std::move(wrong));
  }
}

std::optional<ledger::finding> audit(std::string_view bytes) {
  return audit_report_of(bytes).finding;
}

} // namespace assay::wire
