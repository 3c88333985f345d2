//go:build linux

// Package valkey runs the Valkey or Redis server beside an agent: the jobs of the protocol, and what it observes. It
// decides nothing about who is the primary.
//
// A volume holds data/db, where the server keeps its append-only files; data/copy.json, what identifies this copy of
// the data and the timelines that it followed; floor, the lowest generation whose primary it may follow; and conf,
// the files of settings.
//
// The server replaces all of its data when its primary asks it to, and it forgets its replication ID when it ends. So
// the driver lets a replica go on from where it is, or makes a copy aside and renames it once it is whole and on disk.
// A full synchronisation never reaches a directory that holds data: the agent reads the answer of the primary first.
package valkey
