package workload

import "time"

// LongestStream is the ceiling for what moves the data of a database: a backup, a restore, a verification, a load. It
// only ends what nobody waits for any more, and what hangs unseen: bytes that stand still are found by who moves them
// (repository.StandstillAfter). Kubernetes knows no progress, so a Job and a pod need such a total; a day is 8 TiB at
// 100 MiB a second.
const LongestStream = 24 * time.Hour
