/* t_tensorboard.c - event files for TensorBoard. */
#include "tests/test.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "share/base/buf.h"
#include "share/base/crc32c.h"
#include "share/base/file.h"
#include "train/record/tensorboard.h"

/* The same records as written by TensorBoard's own event_pb2 and record writer. */
static const char version_hex[] =
	"1800000000000000a37f4b220900000040fc54d9411a0d627261696e2e4576656e743a32eced8f9d";
static const char scalar_hex[] =
	"200000000000000029eda9500900004040fc54d94110642a130a110a0a747261696e2f6c6f7373150000c03f"
	"e66672d7";

/* The one event file of a folder, in hexadecimal, from this byte on. */
static void read_hex(const char *folder, size_t from, struct buf *hex)
{
	struct buf bytes = { 0 };
	struct dirent *entry;
	struct err e;
	char *path = NULL;
	DIR *d = opendir(folder);

	while (d && (entry = readdir(d)) != NULL)
		if (strstr(entry->d_name, "tfevents"))
			path = file_path(&e, "%s/%s", folder, entry->d_name);
	if (d)
		closedir(d);
	if (check(path != NULL) && check_int(file_read_all(path, 1 << 20, &bytes, &e), 0))
		for (size_t i = from; i < bytes.len; i++)
			buf_printf(hex, "%02x", (unsigned char)bytes.data[i]);
	free(path);
	buf_free(&bytes);
}

static void record(struct tensorboard *t, const char *text)
{
	struct err e = { 0 };
	struct json *root = json_parse(text, strlen(text), &e);

	if (check(root != NULL))
		check_int(tensorboard_record(t, root, &e), 0);
	json_free(root);
}

TEST(tensorboard_checksum)
{
	check(crc32c_bytes("123456789", 9) == 0xE3069283u); /* RFC 3720's check value */
	check(crc32c_bytes("", 0) == 0);
}

TEST(tensorboard_bytes)
{
	struct err e = { 0 };
	struct buf hex = { 0 };
	struct tensorboard *t = tensorboard_open(test_folder(), 0, 1700000000, &e);
	size_t begun;

	if (!check(t != NULL))
		return;
	read_hex(test_folder(), 0, &hex);
	check(strstr(hex.data, version_hex) == hex.data);
	begun = hex.len;
	record(t, "{\"v\":1,\"kind\":\"train\",\"t\":1700000001,\"step\":100,\"loss\":1.5,"
		  "\"nll\":null,\"unknown\":3}");
	record(t, "{\"v\":1,\"kind\":\"event\",\"t\":1700000001,\"step\":100,\"text\":\"x\"}");
	record(t, "[]");
	buf_clear(&hex);
	read_hex(test_folder(), begun / 2, &hex);
	check_str(buf_text(&hex), scalar_hex); /* and no other record */
	tensorboard_free(t);
	buf_free(&hex);
}

TEST(tensorboard_refuses_a_bad_place)
{
	struct err e = { 0 };

	check(tensorboard_open("/dev/null/x", 0, 1700000000, &e) == NULL);
	check(e.code && strstr(e.text, "/dev/null"));
	tensorboard_free(NULL);
}

/* Names and texts of any length and kind go through; tests/peers/tensorboard_read.py reads all. */
TEST(tensorboard_hostile_texts)
{
	struct err e = { 0 };
	struct buf text = { 0 };
	struct tensorboard *t = tensorboard_open(test_folder(), 7, 1700000000, &e);

	if (!check(t != NULL))
		return;
	buf_add_str(&text, "{\"kind\":\"host\",\"t\":1,\"step\":8,\"host\":\"");
	for (int i = 0; i < 3000; i++)
		buf_add_char(&text, 'h');
	buf_add_str(&text, "\",\"cpu\":0.5,\"gpus\":[{\"index\":3,\"util\":1e40},7,null]}");
	record(t, text.data);
	record(t, "{\"kind\":\"sample\",\"t\":1,\"step\":8,\"id\":2,\"source\":\"a | b\\n`c`\","
		  "\"hypothesis\":7}");
	record(t, "{\"kind\":\"start\",\"t\":1,\"step\":8,\"options\":{\"size\":\"tiny\","
		  "\"steps\":\"100\",\"odd\":{}}}");
	record(t, "{\"kind\":\"stop\",\"t\":1,\"step\":8,\"reason\":\"failed\"}");
	tensorboard_free(t);
	buf_free(&text);
}
