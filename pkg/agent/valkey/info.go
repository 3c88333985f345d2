package valkey

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/volume"
)

// answer is what a server says of itself.
type answer struct {
	primary bool
	// id is the replication ID, offset counts the bytes of its stream.
	id     string
	offset int64
	// linked says that a replica receives from its primary, loading that the server reads its files.
	linked, loading bool
	// whole says that all data is in the append-only files: none of them is being written again.
	whole bool
	// pending says that a flush of the append-only file was asked for and is not done yet.
	pending bool
	// saving says that all data is being written to a file, saved that the last time succeeded.
	saving, saved bool
	// counting says that the server counts what it would send to replicas.
	counting bool
	standbys []protocol.Streaming
	// first and held are the bytes of the stream that the server still has: the number of the first, and how many.
	first, held int64
	// recorded says that the agent reads the stream.
	recorded bool
}

// infoFields reads what INFO answers.
func infoFields(text string) map[string]string {
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ":"); ok {
			fields[key] = value
		}
	}
	return fields
}

// parseInfo reads the sections replication and persistence of INFO. Offsets are those of the server.
func parseInfo(text string) (answer, error) {
	fields := infoFields(text)
	a := answer{
		primary: fields["role"] == "master", id: fields["master_replid"],
		linked:  fields["master_link_status"] == "up" && fields["master_sync_in_progress"] == "0",
		loading: fields["loading"] != "0",
		whole: fields["aof_enabled"] == "1" && fields["aof_rewrite_in_progress"] == "0" &&
			fields["aof_rewrite_scheduled"] == "0" && fields["aof_last_bgrewrite_status"] == "ok",
		saving: fields["rdb_bgsave_in_progress"] != "0", saved: fields["rdb_last_bgsave_status"] == "ok",
		counting: fields["repl_backlog_active"] == "1",
		pending:  fields["aof_pending_bio_fsync"] != "" && fields["aof_pending_bio_fsync"] != "0",
	}
	var err error
	if a.offset, err = strconv.ParseInt(fields["master_repl_offset"], 10, 64); err != nil || fields["role"] == "" {
		return a, fmt.Errorf("read the offset of the server in %q", text)
	}
	a.first, _ = strconv.ParseInt(fields["repl_backlog_first_byte_offset"], 10, 64) // 0 without any
	a.held, _ = strconv.ParseInt(fields["repl_backlog_histlen"], 10, 64)
	for i := range len(fields) {
		replica, there := fields["slave"+strconv.Itoa(i)]
		if !there {
			break
		}
		if s, ok := parseReplica(replica); ok {
			a.standbys = append(a.standbys, s)
		}
		a.recorded = a.recorded || strings.HasPrefix(replica, "ip="+recorderName+",")
	}
	return a, nil
}

// parseReplica reads "ip=m2.0a1b2c3d,port=6379,state=online,offset=123,lag=0".
func parseReplica(text string) (protocol.Streaming, bool) {
	fields := map[string]string{}
	for part := range strings.SplitSeq(text, ",") {
		key, value, _ := strings.Cut(part, "=")
		fields[key] = value
	}
	standby, ok := volume.ParseCopyName(fields["ip"])
	at, err := strconv.ParseUint(fields["offset"], 10, 64)
	return protocol.Streaming{Standby: standby, Flushed: at}, ok && err == nil && fields["state"] == "online"
}
