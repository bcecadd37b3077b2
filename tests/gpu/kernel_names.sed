# kernel_names.sed - short names of GPU kernels from those of c++filt, for tests/gpu/sass.sh and tests/cudasim/gpu_table.sh.
s/^void //
s/(anonymous namespace):://
s/_INTERNAL[^:]*:://
s/(access)0/f32/
s/(access)1/bf16/
s/(access)2/mixed/
s/(access)3/any/
s/(dtype)2/f32/
s/(dtype)3/bf16/
s/(dtype)4/int8/
s/(wire_format)0/fp32/
s/(wire_format)1/bf16/
s/(wire_format)2/2bit/
s/(wire_format)3/1bit/
s/(wire_format)4/int8/
s/(activation)0/relu/
s/(activation)1/gelu/
s/(activation)2/gelu_tanh/
s/(activation)3/gelu_sigmoid/
s/(activation)4/silu/
s/(position_kind)0/sinusoid/
s/(position_kind)1/table/
s/(position_kind)2/none/
s/(int)//g
s/(bool)//g
s/(.*//
