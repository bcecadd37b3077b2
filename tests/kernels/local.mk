# tests/kernels: every op of every backend against its definition, from one list of cases (ops_cases.def).
# ops_list.c makes the cases, ops_run.c compares; gradients are checked by finite differences.
# May use: kernels, share.
test_sources += \
	%D%/t_cuda_decode.c %D%/t_cuda_model.c %D%/t_dropout.c %D%/t_ops.c %D%/t_ops_grad.c \
	%D%/t_team.c %D%/ops_cases.def %D%/ops_list.c %D%/ops_list.h %D%/ops_run.c %D%/ops_run.h
