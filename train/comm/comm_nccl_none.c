/* comm_nccl_none.c - replaces comm_nccl.c in builds without NCCL; see comm_nccl.h */
#include <stdio.h>

#include "train/comm/comm_nccl.h"

bool comm_nccl_find(char *text, size_t room)
{
	snprintf(text, room, "this Werkbank was built without NCCL");
	return false;
}

int comm_nccl_open(struct comm *c, struct err *e)
{
	(void)c;
	return err_set(e, ERR_UNAVAILABLE, "this Werkbank was built without NCCL");
}
