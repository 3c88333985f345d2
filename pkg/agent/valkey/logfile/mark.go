package logfile

import (
	"strconv"
	"strings"
	"time"
)

// The agent of the primary has its server write a mark into the stream each second: a message on a channel that nobody
// listens to. It changes no data, and is not in append-only files. The server executes commands one after the other, so
// all that is before a mark was executed before its time, and all after it later.
const (
	markChannel = "dbop:log"
	markCut     = " cut"
	markScript  = "local t = redis.call('TIME') " +
		"return redis.call('SPUBLISH', KEYS[1], t[1] .. ' ' .. t[2] .. ARGV[1])"
)

// Mark is a moment in the stream.
type Mark struct {
	Time time.Time
	// Cut ends a file behind the mark. All members read the same stream, and so have the same files.
	Cut bool
}

// MarkCommand has a server write a mark.
func MarkCommand(cut bool) []string {
	text := ""
	if cut {
		text = markCut
	}
	return []string{"EVAL", markScript, "1", markChannel, text}
}

// Mark returns the mark that the last command is, if it is one.
func (s *Scanner) Mark() (m Mark, ok bool) {
	if !strings.EqualFold(s.Argument(0), "SPUBLISH") || s.Argument(1) != markChannel {
		return m, false
	}
	text, cut := strings.CutSuffix(s.Argument(2), markCut)
	seconds, micros, _ := strings.Cut(text, " ")
	at, err := strconv.ParseInt(seconds, 10, 40)
	part, err2 := strconv.ParseInt(micros, 10, 32)
	if err != nil || err2 != nil || at < 0 || part < 0 {
		return m, false
	}
	return Mark{Time: time.Unix(at, part*int64(time.Microsecond)).UTC(), Cut: cut}, true
}
