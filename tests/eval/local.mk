# tests/eval: scores, decoding, constraints, reports, imports and exports.
# eval.sh and interop.sh run the program on a tiny trained model and on foreign files.
# import.sh compares imported models with translations of transformers, Marian, fairseq and the formulas of OpenSeq2Seq, which are in tests/golden/import.
# import_opennmt.sh does that with OpenNMT-py and eole.
# export.sh exports models to all formats and imports them again.
# serve_http.sh speaks to "werkbank serve" with curl and with raw_client, which sends any bytes.
# score.sh compares the log-probabilities of "werkbank score" with those of transformers and Marian.
# search_options.sh checks repetition, lengths and minimum Bayes risk.
# documents.sh translates lines with mark-up and documents of each kind.
# report_runs.sh compares the verdicts of the report with tests/runs/expected.tsv.
# May use: eval, train, kernels, data, share.
test_sources += \
	%D%/t_architectures.c %D%/t_attention.c %D%/t_constraints.c %D%/t_decode.c %D%/t_document.c %D%/t_export.c %D%/t_first_token.c %D%/t_import.c %D%/t_import_pickle.c %D%/t_markup.c %D%/t_penalties.c %D%/t_report.c %D%/t_report_page.c %D%/t_report_tuning.c \
	%D%/t_resample.c %D%/t_score.c %D%/t_sentence_stream.c %D%/t_server.c %D%/t_server_files.c %D%/t_signs.c %D%/t_suggest.c %D%/t_ter.c
EXTRA_DIST += %D%/document_archives.def %D%/document_cases.def %D%/document_refused.def %D%/markup_cases.def
dist_check_SCRIPTS += %D%/documents.sh %D%/eval.sh %D%/export.sh %D%/import.sh %D%/import_opennmt.sh %D%/interop.sh %D%/pairs.sh %D%/report_runs.sh %D%/score.sh %D%/search_options.sh %D%/serve.sh %D%/serve_files.sh %D%/serve_http.sh
TESTS += %D%/documents.sh %D%/eval.sh %D%/export.sh %D%/import.sh %D%/import_opennmt.sh %D%/interop.sh %D%/pairs.sh %D%/report_runs.sh %D%/score.sh %D%/search_options.sh %D%/serve.sh %D%/serve_files.sh %D%/serve_http.sh
check_PROGRAMS += tests/raw_client
tests_raw_client_SOURCES = %D%/raw_client.c
EXTRA_DIST += tests/runs
