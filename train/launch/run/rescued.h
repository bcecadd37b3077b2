/*
 * rescued.h - checkpoints that ranks saved on hosts which do not see the run's folder.
 *
 * When the first rank is lost with its host, a rank on another host saves the state (rescue.h). Without a shared
 * file system it saves into its own host's runs/NAME/rescued-ID/checkpoints/STEP, ID being the lease of the
 * supervisor then. Before the next attempt, the supervisor asks its hosts for such a folder of its own lease
 * or of the one before, takes the newest checkpoint if it is newer than its own, and has the folders removed.
 * The trainer checks it by its SHA256SUMS, like every checkpoint.
 */
#ifndef WERKBANK_TRAIN_LAUNCH_RUN_RESCUED_H
#define WERKBANK_TRAIN_LAUNCH_RUN_RESCUED_H

#include "share/conf/conf.h"
#include "train/launch/remote/hosts.h"
#include "train/launch/run/rundir.h"

/*
 * Collect from these hosts. news: a sentence about what was found, or why it could not be copied; "": nothing. A
 * host that does not answer within deadline_s has nothing. ERR_…: of this side.
 */
int rescued_collect(const struct rundir *dir, const struct conf *c, const struct hosts *hosts,
		    double deadline_s, char news[400], struct err *e);

#endif
