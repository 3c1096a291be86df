/* A program that only a C compiler sees: null handles to every function, and a
   product on the program's own threads. With --abi, what compiled programs rely
   on (abi_test.cmake compares it with abi.txt). */
#include <stdio.h>
#include <string.h>

#include "ruy_like/c/ruy_like.h"

#define STRUCT(type) printf("%-28s size %3zu\n", #type, sizeof(type))
#define FIELD(type, field) \
  printf("%-28s at   %3zu\n", #type "." #field, offsetof(type, field))

static void print_abi(void) {
  STRUCT(rl_matrix);
  FIELD(rl_matrix, size);
  FIELD(rl_matrix, data);
  FIELD(rl_matrix, type);
  FIELD(rl_matrix, order);
  FIELD(rl_matrix, rows);
  FIELD(rl_matrix, cols);
  FIELD(rl_matrix, stride);
  FIELD(rl_matrix, zero_point);
  FIELD(rl_matrix, cache_policy);
  FIELD(rl_matrix, value_range);
  FIELD(rl_matrix, packed);
  STRUCT(rl_params);
  FIELD(rl_params, size);
  FIELD(rl_params, accum_type);
  FIELD(rl_params, channel_dim);
  FIELD(rl_params, bias);
  FIELD(rl_params, multiplier_fixedpoint);
  FIELD(rl_params, multiplier_exponent);
  FIELD(rl_params, multiplier_per_channel);
  FIELD(rl_params, has_clamp);
  FIELD(rl_params, clamp_min);
  FIELD(rl_params, clamp_max);
  FIELD(rl_params, beta);
  FIELD(rl_params, lhs_scale);
  FIELD(rl_params, rhs_scale);
  FIELD(rl_params, lhs_scale_per_row);
  FIELD(rl_params, rhs_scale_per_col);
  FIELD(rl_params, float_sums);
  FIELD(rl_params, max_num_threads);
  FIELD(rl_params, activation_zero_points);
  FIELD(rl_params, activation_scales);
  FIELD(rl_params, multiplier_rounding);
  FIELD(rl_params, post_ops);
  STRUCT(rl_post_ops);
  FIELD(rl_post_ops, size);
  FIELD(rl_post_ops, activation);
  FIELD(rl_post_ops, slope);
  FIELD(rl_post_ops, slope_per_channel);
  FIELD(rl_post_ops, factor);
  FIELD(rl_post_ops, factor_per_channel);
  FIELD(rl_post_ops, residual);
  FIELD(rl_post_ops, residual_per_channel);
  FIELD(rl_post_ops, lhs_zero_points);
  FIELD(rl_post_ops, rhs_zero_points);
  FIELD(rl_post_ops, table);
  STRUCT(rl_pack_options);
  FIELD(rl_pack_options, size);
  FIELD(rl_pack_options, side);
  FIELD(rl_pack_options, dst_order);
  FIELD(rl_pack_options, pack_for);
  FIELD(rl_pack_options, buffer);
  FIELD(rl_pack_options, buffer_bytes);
  STRUCT(rl_group_weights);
  FIELD(rl_group_weights, size);
  FIELD(rl_group_weights, rows);
  FIELD(rl_group_weights, depth);
  FIELD(rl_group_weights, bits);
  FIELD(rl_group_weights, scale_type);
  FIELD(rl_group_weights, group_size);
  FIELD(rl_group_weights, levels);
  FIELD(rl_group_weights, row_stride_bytes);
  FIELD(rl_group_weights, scales);
  FIELD(rl_group_weights, scale_stride);
  FIELD(rl_group_weights, zero_points);
  FIELD(rl_group_weights, zero_point);
  FIELD(rl_group_weights, table);
  FIELD(rl_group_weights, depth_order);
  STRUCT(rl_batch);
  FIELD(rl_batch, size);
  FIELD(rl_batch, count);
  FIELD(rl_batch, lhs_stride);
  FIELD(rl_batch, rhs_stride);
  FIELD(rl_batch, dst_stride);
  FIELD(rl_batch, bias_stride);
  FIELD(rl_batch, outer_count);
  FIELD(rl_batch, lhs_outer_stride);
  FIELD(rl_batch, rhs_outer_stride);
  FIELD(rl_batch, dst_outer_stride);
  FIELD(rl_batch, bias_outer_stride);
  FIELD(rl_batch, factor_stride);
  FIELD(rl_batch, residual_stride);
  FIELD(rl_batch, factor_outer_stride);
  FIELD(rl_batch, residual_outer_stride);
  STRUCT(rl_product);
  FIELD(rl_product, size);
  FIELD(rl_product, lhs);
  FIELD(rl_product, rhs);
  FIELD(rl_product, params);
  FIELD(rl_product, dst);
  STRUCT(rl_executor);
  FIELD(rl_executor, size);
  FIELD(rl_executor, user);
  FIELD(rl_executor, max_concurrency);
  FIELD(rl_executor, parallel_for);
  STRUCT(rl_info);
  FIELD(rl_info, size);
  FIELD(rl_info, features);
  FIELD(rl_info, compiled_paths);
  FIELD(rl_info, paths);
  FIELD(rl_info, l1d_bytes);
  FIELD(rl_info, l2_bytes);
  FIELD(rl_info, l3_bytes);
  FIELD(rl_info, default_threads);
}

static int failures = 0;
static void expect(int is_right, const char* what) {
  if (is_right) return;
  printf("wrong: %s (last error: %s)\n", what, rl_last_error());
  ++failures;
}
#define EXPECT(condition) expect(condition, #condition)
#define REFUSED(call) EXPECT((call) == RL_INVALID_ARGUMENT)

static void check_nulls(rl_context* context) {
  rl_matrix m = {0};
  rl_packed* packed = NULL;
  const void* data;
  size_t bytes;
  ptrdiff_t rows;
  int32_t threads;
  int64_t value;
  rl_context* made = NULL;
  rl_batch batch = {0};
  rl_plan* plan = NULL;
  m.size = sizeof m;
  batch.size = sizeof batch;
  EXPECT(rl_plan_create(&plan) == RL_OK);

  REFUSED(rl_get_info(NULL));
  REFUSED(rl_context_create(NULL));
  REFUSED(rl_context_create_sharing(NULL, &made));
  REFUSED(rl_context_create_sharing(context, NULL));
  REFUSED(rl_context_set(NULL, RL_MAX_THREADS, 1));
  REFUSED(rl_context_get(NULL, RL_MAX_THREADS, &value));
  REFUSED(rl_context_get(context, RL_MAX_THREADS, NULL));
  REFUSED(rl_context_parallel_for(NULL, 0, NULL, NULL));
  REFUSED(rl_context_parallel_for(context, 1, NULL, NULL));
  REFUSED(rl_context_set_threads(NULL, 1));
  REFUSED(rl_context_set_paths(NULL, "avx2"));
  REFUSED(rl_context_set_executor(NULL, NULL));
  REFUSED(rl_context_clear_cache(NULL));
  EXPECT(strcmp(rl_context_last_path(NULL), "") == 0);
  EXPECT(strcmp(rl_context_last_kernel(NULL), "") == 0);
  REFUSED(rl_pack(NULL, NULL, context, &packed));
  REFUSED(rl_pack(&m, NULL, NULL, &packed));
  REFUSED(rl_pack(&m, NULL, context, NULL));
  REFUSED(rl_packed_size(NULL, NULL, context, &bytes));
  REFUSED(rl_packed_size(&m, NULL, NULL, &bytes));
  REFUSED(rl_packed_size(&m, NULL, context, NULL));
  REFUSED(rl_pack_groups(NULL, context, &packed));
  REFUSED(rl_pack_groups(NULL, NULL, &packed));
  REFUSED(rl_pack_groups(NULL, context, NULL));
  REFUSED(rl_packed_shape(NULL, &rows, &rows));
  REFUSED(rl_packed_to_bytes(NULL, &data, &bytes));
  REFUSED(rl_packed_from_bytes(NULL, 64, RL_INT8, 1, &packed));
  REFUSED(rl_packed_from_bytes(NULL, 64, RL_GROUP_WEIGHTS, 1, &packed));
  REFUSED(rl_packed_from_bytes(&m, 64, RL_INT8, 1, NULL));
  REFUSED(rl_mul(NULL, NULL, NULL, NULL, NULL));
  REFUSED(rl_mul(NULL, &m, NULL, context, &m));
  REFUSED(rl_mul(&m, NULL, NULL, context, &m));
  REFUSED(rl_mul(&m, &m, NULL, context, NULL));
  REFUSED(rl_mul_batch(NULL, NULL, NULL, &batch, context, NULL));
  REFUSED(rl_mul_batch(&m, &m, NULL, NULL, context, &m));
  REFUSED(rl_mul_batch(&m, &m, NULL, &batch, NULL, &m));
  REFUSED(rl_mul_group(NULL, 1, 0, context));
  REFUSED(rl_mul_group(NULL, 0, 0, NULL));
  REFUSED(rl_plan_create(NULL));
  REFUSED(rl_plan_prepare(NULL, &m, &m, NULL, NULL, 1, context, &m));
  REFUSED(rl_plan_prepare(plan, &m, &m, NULL, NULL, 1, NULL, &m));
  REFUSED(rl_plan_prepare(plan, NULL, NULL, NULL, NULL, 1, context, NULL));
  REFUSED(rl_plan_num_threads(NULL, &threads));
  REFUSED(rl_plan_num_threads(plan, NULL));
  REFUSED(rl_plan_repeat(NULL));
  REFUSED(rl_plan_run(NULL, 0));
  REFUSED(rl_plan_finish(NULL));
  EXPECT(rl_plan_finish(plan) == RL_FAILED_PRECONDITION);
  EXPECT(packed == NULL && made == NULL);
  rl_context_destroy(NULL);
  rl_packed_destroy(NULL);
  rl_plan_destroy(NULL);
  rl_plan_destroy(plan);
}

static int concurrency(void* user) {
  (void)user;
  return 2;
}
static void call_each(void* user, int count,
                      void (*function)(void* argument, int i), void* argument) {
  int i;
  ++*(int*)user;
  for (i = 0; i < count; ++i) function(argument, i);
}

static void check_executor(rl_context* context) {
  static float a[256 * 256], b[256 * 256], c[256 * 256];
  int i, calls = 0;
  rl_matrix lhs = {0}, rhs, dst;
  rl_executor executor = {0};
  executor.size = sizeof executor;
  executor.user = &calls;
  executor.max_concurrency = &concurrency;
  executor.parallel_for = &call_each;
  for (i = 0; i < 256 * 256; ++i) a[i] = b[i] = 1;
  lhs.size = sizeof lhs;
  lhs.type = RL_FLOAT32;
  lhs.rows = lhs.cols = 256;
  rhs = dst = lhs;
  lhs.data = a;
  rhs.data = b;
  dst.data = c;
  EXPECT(rl_context_set_executor(context, &executor) == RL_OK);
  memset(&executor, 0, sizeof executor);  // it was copied
  EXPECT(rl_mul(&lhs, &rhs, NULL, context, &dst) == RL_OK);
  EXPECT(calls > 0);
  EXPECT(c[256 * 256 - 1] == 256);
}

int main(int argc, char** argv) {
  rl_context* context = NULL;
  if (argc == 2 && strcmp(argv[1], "--abi") == 0) {
    print_abi();
    return 0;
  }
  EXPECT(strcmp(rl_last_error(), "") == 0);
  EXPECT(rl_context_create(&context) == RL_OK);
  check_nulls(context);
  check_executor(context);
  rl_context_destroy(context);
  printf("ruy_like %s: %d failures\n", rl_version(), failures);
  return failures != 0;
}
