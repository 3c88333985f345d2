//go:build linux

package postgres

import (
	"regexp"
	"strings"
)

// logGone says that the primary no longer has what this copy needs next.
const logGone = "the primary no longer has the log that this copy needs next: make the copy again, on request"

// The words of the process that receives the log (PostgreSQL, src/backend/replication/walreceiver.c and walsender.c).
// The primary prints the second half alone, as an ERROR, when it can't serve a replica.
var (
	noSegment = regexp.MustCompile(`^could not receive data from WAL stream: ERROR:  ` +
		`requested WAL segment [0-9A-F]{24} has already been removed$`)
	// beginning is that of the text of a line: a level, and a code with log_error_verbosity = verbose (send_message_to_
	// server_log in PostgreSQL's elog.c). What a client sends comes after it, and its further lines begin with a tab.
	beginning = regexp.MustCompile(`([A-Z][A-Z0-9]+):  (?:[0-9A-Z]{5}: )?`)
)

// said returns the level and the text of a line of the server's log, and nothing of one that goes on with a text.
func said(line string) (level, text string) {
	at := beginning.FindStringSubmatchIndex(line)
	if at == nil || strings.HasPrefix(line, "\t") {
		return "", ""
	}
	return line[at[2]:at[3]], line[at[1]:]
}

// removed says whether a line of the server's log is that of a copy that can't follow any more.
func removed(line string) bool {
	level, text := said(line)
	return level == "FATAL" && noSegment.MatchString(text)
}

// judge notes what the server says in its log about a copy that can't follow any more. It may follow again: another
// primary may still have the log.
func (s *Server) judge(line string) {
	if !removed(line) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.promoted == 0 {
		s.unfit, s.gone = logGone, s.position
	}
}

// moved ends that judgement once this copy received more, under the lock.
func (s *Server) moved() {
	if s.unfit == logGone && s.position != s.gone {
		s.unfit = ""
	}
}
