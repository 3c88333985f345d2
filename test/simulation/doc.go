// Package simulation runs the operations of package ops, the very code that
// the command line and the operator run, over random worlds with random faults,
// in virtual time, and checks after every effect what must never happen.
//
// Two worlds of the same wishes, one of which comes true by commands and the
// other by the operator's reconciler, have to see the same steps and the same
// end; with an operator that dies and storms, the same end.
//
// Modelled, of Kubernetes: volumes, workloads, pods that take their time to
// come and go, image and provisioning problems, lost and emptied volumes, an
// API that is slow, fails before or after its effect and is read object by
// object, leases that expire. Of etcd: static bootstrap and joins with their
// member identities, learners, the strict reconfiguration checks, elections
// among members whose log is long enough, replication that lags, cluster and
// storage versions, old binaries that refuse new data, members that refuse to
// start on data or words that don't fit, joiners that hang, authorities and
// certificates that members and clients read at different times. Of people:
// processes that die at any call, freeze past their lease, race each other,
// pause a cluster, take backups while others change it, and come back with the same or another request.
//
// Of a primary with replicas (package agreed): agents that agree on who is a
// member, who votes and who is the primary, and fail over by themselves; a
// witness for a pair, spare members, timelines that fork and are rewound, a
// synchronous set, replicas that lag, volumes that come back from earlier or
// empty, a former primary that goes on to believe in itself and to serve,
// members that somebody else takes from the list, backups without a proof.
//
// Not modelled: the content of logs (an index means it, so an uncommitted
// tail never diverges), alarms but for want of space, connections that outlive
// their certificates, certificates that run out, disk space, pod placement, clock skew between
// processes, caches that lag behind the API server.
package simulation
