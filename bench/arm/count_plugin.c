/* A plugin of qemu's user-mode emulator that prints how many instructions a
 * program executed: "instructions <number>" on standard error, at its end.
 *
 * The prototypes are those of version 1 of qemu's plugin interface, written
 * here since distributions do not package its header. */
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
typedef void (*tb_trans_fn)(qemu_plugin_id_t id, struct qemu_plugin_tb* tb);
typedef void (*exit_fn)(qemu_plugin_id_t id, void* data);

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
                                           tb_trans_fn callback);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, exit_fn callback,
                                    void* data);
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb* tb,
                                              int operation, void* data,
                                              uint64_t amount);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb* tb);

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

static uint64_t instructions;

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb* tb) {
  const int add = 0;
  (void)id;
  qemu_plugin_register_vcpu_tb_exec_inline(tb, add, &instructions,
                                           qemu_plugin_tb_n_insns(tb));
}

static void on_exit(qemu_plugin_id_t id, void* data) {
  (void)id;
  (void)data;
  fprintf(stderr, "instructions %" PRIu64 "\n", instructions);
}

__attribute__((visibility("default"))) int qemu_plugin_install(
    qemu_plugin_id_t id, const void* info, int argc, char** argv) {
  (void)info;
  (void)argc;
  (void)argv;
  qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
  qemu_plugin_register_atexit_cb(id, on_exit, NULL);
  return 0;
}
