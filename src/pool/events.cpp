#include "src/pool/events.hpp"

namespace assay::pool {

digest launch_digest(const launch& l) {
  hasher h{"assay.launch.1"};
  h.add_field(l.implementation.value).add_field(l.model.value).add_field(l.artifact.value);
  h.add_field(l.manifest).add_field(l.profile.value).add_field(l.profile_digest);
  h.add_field(std::uint64_t{l.devices}).add_field(std::uint64_t{l.slots});
  h.add_field(l.memory_bytes);
  h.add_field(std::uint64_t{l.limits.context_tokens});
  h.add_field(std::uint64_t{l.limits.input_tokens});
  h.add_field(std::uint64_t{l.limits.output_tokens}).add_field(l.limits.body_bytes);
  h.add_field(static_cast<std::uint64_t>(l.args.size()));
  for (const auto& [slot, value] : l.args)
    h.add_field(slot).add_field(value);
  if (l.plaintext) // Not told apart by those who came before the word did anything.
    h.add_field(std::string_view{"plaintext"});
  return h.finish();
}

std::string_view name(ticket_refusal r) {
  switch (r) {
  case ticket_refusal::queue_full:
    return "queue_full";
  case ticket_refusal::waited_too_long:
    return "waited_too_long";
  case ticket_refusal::no_replica:
    return "no_replica";
  }
  return "queue_full";
}

} // namespace assay::pool
