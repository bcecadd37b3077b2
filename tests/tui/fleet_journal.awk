# fleet_journal.awk - prints the journal of a made-up run on several hosts: one host is hot and late in the second half, one host
# retransmits, one loss is NaN, the run restarts once. usage: awk -f fleet_journal.awk -v hosts=4
# -v gpus=4 -v steps=3000
function share(x) { return (sin(x * 12.9898 + 4.1414) + 1) / 2 }
function rank_line(t, step, r, host, late,    compute, wait) {
	compute = late ? 0.164 + 0.004 * share(r + step) : 0.110 + 0.006 * share(r * 3 + step)
	wait = late ? 0.001 : 0.168 - compute
	if (late && compute > slowest) { slowest = compute; slowest_rank = r }
	if (!late) { others += compute; n_others++ }
	printf "{\"v\":1,\"kind\":\"rank\",\"t\":%d,\"step\":%d,\"rank\":%d,\"host\":\"node%d\",", t, step, r, host
	printf "\"step_s\":0.2,\"input_s\":0.001,\"compute_s\":%.4f,\"exposed_s\":%.4f,", compute, wait + 0.012
	printf "\"wait_s\":%.4f,\"update_s\":0.008,\"sent_bytes\":426000000}\n", wait
}
function gpu(step, h, g, late) {
	printf "{\"index\":%d,\"name\":\"NVIDIA H100 80GB HBM3\",\"util\":%.2f,", g, 0.97 + 0.02 * share(g + step)
	printf "\"memory_used\":%.0f,\"memory_total\":85520809984,", 52000000000 + 1000000000 * g
	printf "\"power_w\":%.1f,\"temperature_c\":%d,", late ? 655 + g : 430 + 20 * share(h + g + step), late ? 84 + g : 58 + g
	printf "\"throttle\":\"%s\",\"power_limit_w\":700,\"sm_mhz\":%d,\"sm_max_mhz\":1980}", late ? "hot" : "none", late ? 1245 : 1965
}
function host_line(t, step, h, late,    g) {
	printf "{\"v\":1,\"kind\":\"host\",\"t\":%d,\"step\":%d,\"host\":\"node%d\",\"ranks\":%d,", t, step, h, gpus
	printf "\"cpu\":%.3f,\"load\":%.2f,\"memory_used\":%.0f,\"memory_total\":540000000000,", 0.11 + 0.05 * share(h + step), 9 + h, 91000000000 + h * 3000000000
	printf "\"interface\":\"eth0\",\"rx_bytes_s\":%.0f,\"tx_bytes_s\":%.0f,", 1900000000 + 200000000 * share(step + h), 1900000000 + 200000000 * share(step * 2 + h)
	printf "\"link_bytes_s\":3125000000,\"link_from\":\"driver\",\"retransmits_s\":%.3f", h == 2 ? 31.5 : 0.1 * h
	if (gpus > 0) {
		printf ",\"gpus\":["
		for (g = 0; g < gpus; g++) { if (g) printf ","; gpu(step, h, g, late) }
		printf "]"
	}
	print "}"
}
function round(t, step,    h, r, n, late) {
	late = step >= steps / 2 ? 3 : 0
	n = gpus > 0 ? gpus : 1
	slowest = others = n_others = 0
	for (h = 1; h <= hosts; h++)
		for (r = 0; r < n; r++)
			rank_line(t, step, (h - 1) * n + r, h, h == late)
	for (h = 1; h <= hosts; h++)
		host_line(t, step, h, h == late)
	if (!slowest) return
	printf "{\"v\":1,\"kind\":\"verdict\",\"t\":%d,\"step\":%d,\"network\":\"straggler\",", t, step
	printf "\"text\":\"rank %d on node3 computes %.2f times as long as the others, which wait for it\",", slowest_rank, slowest * n_others / others
	printf "\"exposed_share\":0.34,\"predicted_bytes\":420000000,\"observed_bytes\":426000000,"
	printf "\"busbw_bytes_s\":2600000000,\"link_bytes_s\":3125000000,\"late_rank\":%d,\"late_host\":\"node3\"}\n", slowest_rank
}
function train(t, step,    loss, dip) {
	loss = 1.4 + 8 / sqrt(1 + step / 40) + 0.25 * share(step)
	printf "{\"v\":1,\"kind\":\"train\",\"t\":%d,\"step\":%d,", t, step
	if (step == 1550) printf "\"loss\":null,\"nll\":null,\"nonfinite\":\"loss\","
	else printf "\"loss\":%.4f,\"nll\":%.4f,", loss, loss - 0.9
	printf "\"lr\":%.7f,\"grad_norm\":%.3f,", step < 400 ? step * 0.0000025 : 0.02 / sqrt(step), 0.7 + share(step * 3) * (step == 1500 ? 40 : 0.6)
	dip = step > 1800 && step < 2000 ? 0.6 : 1
	printf "\"source_tps\":%d,\"target_tps\":%d,\"step_s\":0.2,\"epoch\":%.3f,", dip * (610000 + 9000 * share(step)), dip * (655000 + 9000 * share(step)), step / 900
	printf "\"input_s\":0.001,\"compute_s\":%.4f,\"exposed_s\":%.4f,\"wait_s\":%.4f,\"update_s\":0.008}\n", 0.112 + 0.004 * share(step), 0.072, 0.058 - 0.01 * share(step)
}
function start(t, attempt) {
	printf "{\"v\":1,\"kind\":\"start\",\"t\":%d,\"run\":\"fleet\",\"attempt\":%d,", t, attempt
	if (attempt > 1) printf "\"step\":1200,"
	printf "\"host\":\"node1\",\"pid\":7,\"ranks\":%d,\"hosts\":%d,\"parameters\":60880896,", hosts * (gpus > 0 ? gpus : 1), hosts
	printf "\"precision\":\"bf16\",\"backend\":\"cuda\",\"options\":{\"steps\":\"5000\"}}\n"
}
BEGIN {
	t = 1750000000
	start(t, 1)
	for (step = 50; step <= steps; step += 50) {
		t += 10
		if (step == 1250) { t += 600; start(t, 2) }
		train(t, step)
		round(t, step)
		if (step % 500 == 0)
			printf "{\"v\":1,\"kind\":\"eval\",\"t\":%d,\"step\":%d,\"bleu\":%.2f,\"dev_nll\":%.4f,\"train_nll\":%.4f,\"seconds\":21.5,\"best\":true}\n", t + 1, step, 31 * (1 - exp(-step / 1100)), 1.1 + 5 / sqrt(1 + step / 40), 1.0 + 5 / sqrt(1 + step / 40)
		if (step == 800)
			printf "{\"v\":1,\"kind\":\"event\",\"t\":%d,\"step\":800,\"level\":\"info\",\"text\":\"learning rate halved by hand\"}\n", t + 1
		if (step == 1500)
			printf "{\"v\":1,\"kind\":\"event\",\"t\":%d,\"step\":1500,\"level\":\"warning\",\"text\":\"gradient norm 31 is far above its usual 1.0\"}\n", t + 1
	}
}
