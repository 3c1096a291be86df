/* A plugin of qemu's user-mode emulator that prints on standard error how many
 * instructions a program has executed so far, "instructions <number>", whenever
 * it calls getppid(). With the argument symbols=on before that a line
 * "symbol <number> <name>" for each function of the program; "?" are those of
 * its libraries.
 *
 * The prototypes are those of version 1 of qemu's plugin interface, written
 * here since distributions do not package its header. */
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef void (*tb_trans_fn)(qemu_plugin_id_t id, struct qemu_plugin_tb* tb);
typedef void (*syscall_fn)(qemu_plugin_id_t id, unsigned int vcpu,
                           int64_t number, uint64_t a1, uint64_t a2,
                           uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6,
                           uint64_t a7, uint64_t a8);

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
                                           tb_trans_fn callback);
void qemu_plugin_register_vcpu_syscall_cb(qemu_plugin_id_t id,
                                          syscall_fn callback);
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb* tb,
                                              int operation, void* data,
                                              uint64_t amount);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb* tb);
struct qemu_plugin_insn* qemu_plugin_tb_get_insn(
    const struct qemu_plugin_tb* tb, size_t index);
const char* qemu_plugin_insn_symbol(const struct qemu_plugin_insn* insn);

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

/* The counters of all functions seen, as a list; without names only one. */
struct counter {
  char* name;
  uint64_t instructions;
  struct counter* next;
};
static struct counter* counters;
static int by_symbol;
static int64_t getppid_number;

static struct counter* counter_of(const char* name) {
  struct counter* found = counters;
  while (found != NULL && strcmp(found->name, name) != 0) found = found->next;
  if (found == NULL) {
    found = calloc(1, sizeof(*found));
    if (found == NULL || (found->name = strdup(name)) == NULL) abort();
    found->next = counters;
    counters = found;
  }
  return found;
}

static void at_translation(qemu_plugin_id_t id, struct qemu_plugin_tb* tb) {
  const int add = 0;
  const char* name = NULL;
  (void)id;
  if (by_symbol) name = qemu_plugin_insn_symbol(qemu_plugin_tb_get_insn(tb, 0));
  qemu_plugin_register_vcpu_tb_exec_inline(
      tb, add, &counter_of(name == NULL ? "?" : name)->instructions,
      qemu_plugin_tb_n_insns(tb));
}

static void at_syscall(qemu_plugin_id_t id, unsigned int vcpu, int64_t number,
                       uint64_t a1, uint64_t a2, uint64_t a3, uint64_t a4,
                       uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8) {
  uint64_t instructions = 0;
  const struct counter* counter;
  (void)id, (void)vcpu;
  (void)a1, (void)a2, (void)a3, (void)a4, (void)a5, (void)a6, (void)a7;
  (void)a8;
  if (number != getppid_number) return;
  for (counter = counters; counter != NULL; counter = counter->next) {
    instructions += counter->instructions;
    if (by_symbol) {
      fprintf(stderr, "symbol %" PRIu64 " %s\n", counter->instructions,
              counter->name);
    }
  }
  fprintf(stderr, "instructions %" PRIu64 "\n", instructions);
}

__attribute__((visibility("default"))) int qemu_plugin_install(
    qemu_plugin_id_t id, const void* info, int argc, char** argv) {
  /* Begins with the name of the processor that is emulated. */
  const char* target = *(const char* const*)info;
  getppid_number = strcmp(target, "arm") == 0 ? 64 : 173;
  by_symbol = argc == 1 && strcmp(argv[0], "symbols=on") == 0;
  qemu_plugin_register_vcpu_tb_trans_cb(id, at_translation);
  qemu_plugin_register_vcpu_syscall_cb(id, at_syscall);
  return 0;
}
