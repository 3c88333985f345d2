//go:build linux

package postgres

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/disk"
)

// walLevel is the setting of how much the log tells. People may choose between what replicas need and what logical
// replication needs; the server takes it at its start.
const (
	walLevel     = "wal_level"
	levelReplica = "replica"
	levelLogical = "logical"
)

// checkLevel refuses a log that replicas can't read.
func checkLevel(values map[string]string) error {
	if level, set := values[walLevel]; set && level != levelReplica && level != levelLogical {
		return api.Refused{Why: fmt.Sprintf("%s is %q: choose %s or %s", walLevel, level, levelReplica, levelLogical)}
	}
	return nil
}

// level is the one that the server's files have. A server that has a logical slot does not start with a lower one.
func (s *Server) level(values map[string]string) string {
	if values[walLevel] == levelLogical {
		return levelLogical
	}
	if slots, err := s.logicalSlots(); err == nil && len(slots) > 0 {
		s.Report(fmt.Sprintf("%s stays %s as long as there are logical slots: %q", walLevel, levelLogical, slots))
		return levelLogical
	}
	return levelReplica
}

// The state of a slot on disk begins with four numbers and its name; then comes the OID of its database, which is 0 for
// a physical slot (ReplicationSlotOnDisk in PostgreSQL's slot.c).
const slotDatabase = 4*4 + 64

// logicalSlots names those in the data directory.
func (s *Server) logicalSlots() (names []string, err error) {
	found, err := filepath.Glob(filepath.Join(s.pgdata(), "pg_replslot", "*", "state"))
	if err != nil {
		return nil, err
	}
	for _, path := range found {
		raw, err := os.ReadFile(path) //nolint:gosec // the path is ours
		if err != nil {
			return nil, fmt.Errorf("read the slots of the server: %w", err)
		}
		if len(raw) >= slotDatabase+4 && binary.NativeEndian.Uint32(raw[slotDatabase:]) != 0 {
			names = append(names, filepath.Base(filepath.Dir(path)))
		}
	}
	return names, nil
}

// dropLogicalSlots removes those of a former primary: nobody reads them at a replica, and they would keep its log.
func (s *Server) dropLogicalSlots(ctx context.Context) error {
	slots, err := s.logicalSlots()
	if err != nil || len(slots) == 0 {
		return err
	}
	s.Report(fmt.Sprintf("the logical slots of this member go, which is no primary any more: %q", slots))
	if s.running() != nil {
		_, err := s.Once(ctx, "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots "+
			"WHERE database IS NOT NULL AND NOT active")
		return err
	}
	var failed error
	for _, name := range slots {
		failed = errors.Join(failed, os.RemoveAll(filepath.Join(s.pgdata(), "pg_replslot", name)))
	}
	return errors.Join(failed, disk.Sync(filepath.Join(s.pgdata(), "pg_replslot")))
}
