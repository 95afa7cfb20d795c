/* A libnvidia-ml.so.1 that behaves as it is told: by the file that $FAKE_NVML names, read at each call.
 *
 *   devices N            how many there are; their addresses are 00000000:65:00.0, 66, 67, ...
 *   code CALL NUMBER     that call answers NUMBER; codeof CALL I NUMBER for device I only
 *   hang CALL            it never returns; crash CALL ends the process
 *   stride BYTES         of a process record: 16, 24 or 32
 *   process I PID BYTES  runs on device I
 *   used I BYTES         memory used
 *   mig I N              device I is split into N parts, with holes between them
 *   uint CALL NUMBER     what a call gives: all ones, 200000, ...
 *   action I NUMBER      recovery action
 *   pending I            remapped rows wait for a reset
 *   event I NUMBER       an Xid of device I, told once for each text of the file
 *   driver TEXT          the driver's version
 *
 * A handle is the device's number plus one, a part's is 1000 * (device + 1) + part. Built with OLD it lacks what
 * drivers before 2021 lack. */

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef void *device;
typedef struct { unsigned gpu, memory; } utilization;
typedef struct { uint64_t total, free, used; } memory_v1;
typedef struct { unsigned version; uint64_t total, reserved, free, used; } memory_v2;
typedef struct { char legacy[16]; unsigned domain, bus, slot, id, subsystem; char address[32]; } pci_info;
typedef struct { unsigned id, scope; int64_t timestamp, latency; unsigned type; int result; uint64_t value; } field;
typedef struct { unsigned version, sensor; int celsius; } temperature_v1;
typedef struct { unsigned counts[8]; uint64_t memory_mib; } attributes;

static int line_of(const char *key, const char *call, int number, char *rest, size_t size) {
  FILE *file = fopen(getenv("FAKE_NVML") ? getenv("FAKE_NVML") : "/nonexistent", "r");
  char line[512], word[64], name[128];
  int found = 0, at = 0;
  if (!file)
    return 0;
  while (!found && fgets(line, sizeof line, file)) {
    at = 0;
    if (sscanf(line, "%63s %n", word, &at) < 1 || strcmp(word, key) != 0)
      continue;
    char *left = line + at;
    if (call) {
      int more = 0;
      if (sscanf(left, "%127s %n", name, &more) < 1 || strcmp(name, call) != 0)
        continue;
      left += more;
    }
    if (number >= 0) {
      int which = -1, more = 0;
      if (sscanf(left, "%d %n", &which, &more) < 1 || which != number)
        continue;
      left += more;
    }
    snprintf(rest, size, "%s", left);
    rest[strcspn(rest, "\n")] = '\0';
    found = 1;
  }
  fclose(file);
  return found;
}

static int number_of(device d) { return (int)(intptr_t)d >= 1000 ? (int)(intptr_t)d / 1000 - 1 : (int)(intptr_t)d - 1; }
static int part_of(device d) { return (int)(intptr_t)d >= 1000 ? (int)(intptr_t)d % 1000 : -1; }

/* What a call answers; it may not answer at all. */
static int code_of(const char *call, device d) {
  char rest[256];
  if (line_of("hang", call, -1, rest, sizeof rest))
    for (;;)
      pause();
  if (line_of("crash", call, -1, rest, sizeof rest))
    raise(SIGSEGV);
  if (line_of("code", call, -1, rest, sizeof rest))
    return atoi(rest);
  if (d && line_of("codeof", call, number_of(d), rest, sizeof rest))
    return atoi(rest);
  return 0;
}

static uint64_t given(const char *call, uint64_t otherwise) {
  char rest[64];
  return line_of("uint", call, -1, rest, sizeof rest) ? strtoull(rest, NULL, 10) : otherwise;
}

int nvmlInit_v2(void) { return code_of("Init", NULL); }
int nvmlShutdown(void) { return 0; }

const char *nvmlErrorString(int code) {
  switch (code) {
  case 3: return "Not Supported";
  case 4: return "Insufficient Permissions";
  case 15: return "GPU is lost";
  case 16: return "GPU requires reset";
  case 17: return "Blocked by the operating system";
  case 18: return "Driver/library version mismatch";
  default: return "Unknown Error";
  }
}

int nvmlSystemGetDriverVersion(char *to, unsigned size) {
  char rest[64] = "550.1.2";
  line_of("driver", NULL, -1, rest, sizeof rest);
  snprintf(to, size, "%s", rest);
  return 0;
}
int nvmlSystemGetNVMLVersion(char *to, unsigned size) { snprintf(to, size, "12.550.1"); return 0; }
int nvmlSystemGetCudaDriverVersion_v2(int *to) { *to = 12040; return 0; }

int nvmlDeviceGetCount_v2(unsigned *to) {
  char rest[64] = "1";
  line_of("devices", NULL, -1, rest, sizeof rest);
  *to = (unsigned)atoi(rest);
  return code_of("Count", NULL);
}
int nvmlDeviceGetHandleByIndex_v2(unsigned i, device *to) {
  *to = (device)(intptr_t)(i + 1);
  return code_of("Handle", *to);
}
int nvmlDeviceGetPciInfo_v3(device d, pci_info *to) {
  memset(to, 0, sizeof *to);
  snprintf(to->address, sizeof to->address, "00000000:%02X:00.0", 0x65 + number_of(d));
  return code_of("PciInfo", d);
}
int nvmlDeviceGetUUID(device d, char *to, unsigned size) {
  if (part_of(d) >= 0)
    snprintf(to, size, "MIG-%08x-0000-0000-0000-%012x", number_of(d) + 1, part_of(d));
  else
    snprintf(to, size, "GPU-%08x-0000-0000-0000-000000000000", number_of(d) + 1);
  return code_of("UUID", d);
}
int nvmlDeviceGetName(device d, char *to, unsigned size) {
  char rest[64] = "NVIDIA H100";
  line_of("name", NULL, number_of(d), rest, sizeof rest);
  snprintf(to, size, "%s", rest);
  return 0;
}
int nvmlDeviceGetUtilizationRates(device d, utilization *to) {
  to->gpu = (unsigned)given("UtilizationRates", 37);
  to->memory = 12;
  return code_of("UtilizationRates", d);
}
static uint64_t used_of(device d) {
  char rest[64] = "0";
  line_of("used", NULL, number_of(d), rest, sizeof rest);
  return strtoull(rest, NULL, 10);
}
#ifndef OLD
int nvmlDeviceGetMemoryInfo_v2(device d, memory_v2 *to) {
  if (to->version != 0x02000028)
    return 25;
  to->total = 80ull << 30;
  to->reserved = 1ull << 29;
  to->used = used_of(d);
  to->free = to->total - to->used - to->reserved;
  return code_of("MemoryInfo_v2", d);
}
int nvmlDeviceGetTemperatureV(device d, temperature_v1 *to) {
  if (to->version != 0x0100000c)
    return 25;
  to->celsius = 41;
  return code_of("TemperatureV", d);
}
int nvmlDeviceGetCurrentClocksEventReasons(device d, unsigned long long *to) { *to = 4; return code_of("ClocksEventReasons", d); }
#endif
int nvmlDeviceGetMemoryInfo(device d, memory_v1 *to) {
  to->total = 80ull << 30;
  to->used = used_of(d) + (1ull << 29);
  to->free = to->total - to->used;
  return code_of("MemoryInfo", d);
}
int nvmlDeviceGetTemperature(device d, unsigned sensor, unsigned *to) { (void)sensor; *to = 42; return code_of("Temperature", d); }
int nvmlDeviceGetCurrentClocksThrottleReasons(device d, unsigned long long *to) { *to = 8; return code_of("ThrottleReasons", d); }
int nvmlDeviceGetPowerUsage(device d, unsigned *to) { *to = (unsigned)given("PowerUsage", 350000); return code_of("PowerUsage", d); }
int nvmlDeviceGetEnforcedPowerLimit(device d, unsigned *to) { *to = 700000; return code_of("PowerLimit", d); }
int nvmlDeviceGetTotalEnergyConsumption(device d, unsigned long long *to) {
  *to = given("TotalEnergyConsumption", 123456789012ull);
  return code_of("TotalEnergyConsumption", d);
}
int nvmlDeviceGetClockInfo(device d, unsigned type, unsigned *to) { *to = 1000 + type; return code_of("ClockInfo", d); }
int nvmlDeviceGetTotalEccErrors(device d, unsigned type, unsigned span, unsigned long long *to) {
  *to = type * 10 + span;
  return code_of("TotalEccErrors", d);
}
int nvmlDeviceGetRemappedRows(device d, unsigned *corrected, unsigned *uncorrected, unsigned *pending, unsigned *failure) {
  char rest[64];
  *corrected = 1;
  *uncorrected = 2;
  *pending = (unsigned)line_of("pending", NULL, number_of(d), rest, sizeof rest);
  *failure = 0;
  return code_of("RemappedRows", d);
}
int nvmlDeviceGetFieldValues(device d, int count, field *of) {
  char rest[64] = "0";
  for (int i = 0; i < count; ++i) {
    of[i].type = 1;
    of[i].result = code_of("Field", d);
    of[i].value = of[i].id;
    if (of[i].id == 230) {
      line_of("action", NULL, number_of(d), rest, sizeof rest);
      of[i].value = strtoull(rest, NULL, 10);
    }
  }
  return code_of("FieldValues", d);
}

static int write_processes(device d, unsigned *count, void *to, size_t otherwise) {
  char rest[64];
  size_t stride = line_of("stride", NULL, -1, rest, sizeof rest) ? (size_t)atoi(rest) : otherwise;
  FILE *file = fopen(getenv("FAKE_NVML"), "r");
  char line[256];
  unsigned found = 0, room = *count;
  while (file && fgets(line, sizeof line, file)) {
    int which = 0;
    unsigned pid = 0;
    unsigned long long bytes = 0;
    if (sscanf(line, "process %d %u %llu", &which, &pid, &bytes) != 3 || which != number_of(d))
      continue;
    if (found < room) {
      unsigned char *at = (unsigned char *)to + found * stride;
      memcpy(at, &pid, sizeof pid);
      memcpy(at + 8, &bytes, sizeof bytes);
      if (stride > 16)
        memset(at + 16, 0xff, stride - 16);
    }
    ++found;
  }
  if (file)
    fclose(file);
  *count = found;
  int code = code_of("Processes", d);
  return code ? code : found > room ? 7 : 0;
}
#ifndef OLD
int nvmlDeviceGetComputeRunningProcesses_v3(device d, unsigned *count, void *to) { return write_processes(d, count, to, 24); }
#endif
int nvmlDeviceGetComputeRunningProcesses(device d, unsigned *count, void *to) { return write_processes(d, count, to, 16); }

#ifndef OLD
static int parts_of(int number) {
  char rest[64] = "0";
  return line_of("mig", NULL, number, rest, sizeof rest) ? atoi(rest) : 0;
}
int nvmlDeviceGetMigMode(device d, unsigned *current, unsigned *pending) {
  *current = *pending = parts_of(number_of(d)) > 0;
  return code_of("MigMode", d);
}
int nvmlDeviceGetMaxMigDeviceCount(device d, unsigned *to) { (void)d; *to = 7; return 0; }
int nvmlDeviceGetMigDeviceHandleByIndex(device d, unsigned i, device *to) {
  if (i % 2 == 1 || (int)i / 2 >= parts_of(number_of(d)))
    return 6;
  *to = (device)(intptr_t)(1000 * (number_of(d) + 1) + (int)i / 2);
  return 0;
}
int nvmlDeviceGetAttributes_v2(device d, attributes *to) {
  (void)d;
  memset(to, 0, sizeof *to);
  to->memory_mib = 10240;
  return 0;
}
#endif

typedef struct { device of; uint64_t type, data; unsigned instance, compute; } event_data;
static unsigned long long listens; /* A bit for each device. */

int nvmlEventSetCreate(void **to) { *to = &listens; return code_of("EventSetCreate", NULL); }
int nvmlDeviceRegisterEvents(device d, unsigned long long types, void *set) {
  (void)set;
  if (types & 8)
    listens |= 1ull << number_of(d);
  return code_of("RegisterEvents", d);
}
int nvmlEventSetWait_v2(void *set, event_data *to, unsigned timeout) {
  static int told[64];
  (void)set;
  (void)timeout;
  for (int i = 0; i < 64; ++i) {
    char rest[64];
    int code = line_of("event", NULL, i, rest, sizeof rest) ? atoi(rest) : 0;
    if (code == told[i] || !(listens & 1ull << i))
      continue;
    told[i] = code;
    if (code == 0)
      continue;
    memset(to, 0, sizeof *to);
    to->of = (device)(intptr_t)(i + 1);
    to->type = 8;
    to->data = (uint64_t)code;
    return 0;
  }
  return 10;
}
