//go:build linux

// Package postgres runs the PostgreSQL server beside an agent: the jobs of the protocol, and what it observes. It
// decides nothing about who is the primary.
//
// A volume holds data/pgdata, the data directory; data/copy.json, what identifies this copy of the data and the
// timelines that it followed; floor, the lowest generation whose primary it may follow; and conf, the files of
// settings. A copy is made aside and renamed. Replicas stream through the agents (package stream), so that their
// settings never change.
package postgres
