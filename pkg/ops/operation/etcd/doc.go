// Package etcd holds what can be asked of an etcd cluster alone: compaction, defragmentation, alarms and downgrades
// that are announced. The engine's capabilities say whether they exist.
package etcd

// notEvery is what a person can do with any cluster instead.
const notEvery = "kubectl dbop diagnose examines a cluster of any engine"
