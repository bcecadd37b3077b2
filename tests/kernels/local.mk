# tests/kernels: every op of every backend against its definition, for all cases of ops_cases.def.
# Enter at t_ops.c; ops_list.c calls the ops, ops_run.c compares; t_ops_grad.c checks gradients by finite differences.
# May use: kernels, share.
test_sources += \
	%D%/t_activate.c %D%/t_cuda_decode.c %D%/t_cuda_model.c %D%/t_cuda_product.c %D%/t_ops.c %D%/t_ops_grad.c %D%/t_product_rates.c \
	%D%/t_team.c %D%/ops_cases.def %D%/ops_list.c %D%/ops_list.h %D%/ops_run.c %D%/ops_run.h
