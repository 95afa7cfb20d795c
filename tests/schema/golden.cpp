#include "tests/schema/golden.hpp"

#include "src/wire/export_codec.hpp"
#include "src/wire/fabric_codec.hpp"
#include "src/wire/peer_codec.hpp"
#include "src/wire/row_codec.hpp"
#include "tests/schema/filled.hpp"
#include "tests/schema/value_text.hpp"
#include "tests/support/fabric_samples.hpp"
#include "tests/support/peer_samples.hpp"

#include <fstream>
#include <span>

namespace assay::test {

namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span{text});
}

std::string from_hex(std::string_view text) {
  auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::string bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2)
    bytes += static_cast<char>(digit(text[i]) * 16 + digit(text[i + 1]));
  return bytes;
}

// -- the ledger -------------------------------------------------------------------------------

ledger::record around(ledger::payload p) {
  auto r = filler{}.make<ledger::record>();
  r.payload = std::move(p);
  return r;
}

std::vector<golden_line> ledger_today() {
  std::vector<golden_line> all;
  auto add = [&](std::string name, std::string bytes, const auto& value) {
    all.push_back({std::move(name), std::move(bytes), value_text::of(value)});
  };
  each_filled<ledger::payload>([&](std::string_view name, ledger::payload p) {
    auto r = around(std::move(p));
    add("record " + std::string{name}, wire::encode(r), r);
  });
  each_filled<catalog::declaration>([&](std::string_view name, catalog::declaration d) {
    auto r = around(ledger::declared{std::move(d)});
    add("declared " + std::string{name}, wire::encode(r), r);
  });
  each_filled<ledger::state_entry>([&](std::string_view name, const ledger::state_entry& s) {
    add("state " + std::string{name}, wire::encode(s), s);
  });
  each_filled<ledger::row>([&](std::string_view name, const ledger::row& r) {
    add("row " + std::string{name}, wire::encode_row(r), r);
  });
  each_filled<ledger::export_frame>([&](std::string_view name, const ledger::export_frame& f) {
    add("frame " + std::string{name}, wire::encode_frame(f), f);
  });
  return all;
}

std::optional<golden_line> ledger_read(const golden_line& line) {
  auto said = [&](const auto& value, std::string bytes) {
    return golden_line{line.name, std::move(bytes), value_text::of(value)};
  };
  if (line.name.starts_with("state ")) {
    auto s = wire::decode_state(line.bytes);
    return s ? std::optional{said(*s, wire::encode(*s))} : std::nullopt;
  }
  if (line.name.starts_with("row ")) {
    auto r = wire::decode_row(line.bytes);
    return r ? std::optional{said(*r, wire::encode_row(*r))} : std::nullopt;
  }
  if (line.name.starts_with("frame ")) {
    std::string_view rest = line.bytes;
    auto f = wire::take_frame(rest);
    return f && *f ? std::optional{said(**f, wire::encode_frame(**f))} : std::nullopt;
  }
  auto r = wire::decode_record(line.bytes);
  return r ? std::optional{said(*r, wire::encode(*r))} : std::nullopt;
}

// -- messages ---------------------------------------------------------------------------------

std::vector<golden_line> peers_today() {
  std::vector<golden_line> all;
  for (const auto& [name, message] : peers::test::samples())
    all.push_back({"peer " + name, *wire::encode(message), {}});
  return all;
}

std::vector<golden_line> fabric_today() {
  std::vector<golden_line> all;
  for (const auto& [name, message] : fabric::test::agent_samples())
    all.push_back({"agent " + name, wire::encode(message), {}});
  for (const auto& [name, message] : fabric::test::coordinator_samples())
    all.push_back({"coordinator " + name, wire::encode(message), {}});
  return all;
}

/// Read, and written as this version writes it: equal messages have equal bytes then.
std::optional<golden_line> message_read(const golden_line& line) {
  if (line.name.starts_with("peer ")) {
    auto m = wire::decode_peer_message(bytes_of(line.bytes));
    return m ? std::optional{golden_line{line.name, *wire::encode(*m), {}}} : std::nullopt;
  }
  if (line.name.starts_with("agent ")) {
    auto m = wire::decode_agent_message(bytes_of(line.bytes));
    return m ? std::optional{golden_line{line.name, wire::encode(*m), {}}} : std::nullopt;
  }
  auto m = wire::decode_coordinator_message(bytes_of(line.bytes));
  return m ? std::optional{golden_line{line.name, wire::encode(*m), {}}} : std::nullopt;
}

} // namespace

std::string golden_path(const std::string& format) {
  return ASSAY_SOURCE_DIR "/tests/schema/golden/" + format + "-1.golden";
}

std::vector<golden_line> read_golden(const std::string& format) {
  std::vector<golden_line> all;
  std::ifstream file{golden_path(format)};
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("  ")) {
      all.back().value = line.substr(2);
      continue;
    }
    auto space = line.rfind(' ');
    all.push_back({line.substr(0, space), from_hex(std::string_view{line}.substr(space + 1)), {}});
  }
  return all;
}

const golden_line* newest(const std::vector<golden_line>& lines, const std::string& name) {
  const golden_line* found = nullptr;
  for (const auto& line : lines)
    if (line.name == name)
      found = &line;
  return found;
}

std::vector<golden_line> missing_from_golden(const std::string& format) {
  auto lines = read_golden(format);
  std::vector<golden_line> missing;
  for (auto& today : written_today(format)) {
    auto* known = newest(lines, today.name);
    if (!known || known->bytes != today.bytes)
      missing.push_back(std::move(today));
  }
  return missing;
}

std::vector<golden_line> written_today(const std::string& format) {
  if (format == "ledger")
    return ledger_today();
  return format == "peers" ? peers_today() : fabric_today();
}

std::optional<golden_line> read_today(const std::string& format, const golden_line& line) {
  return format == "ledger" ? ledger_read(line) : message_read(line);
}

} // namespace assay::test
